import assert from 'node:assert/strict';
import type { ClusterSyncSpec, ClusterSyncStatus } from '../api/clustersync.ts';
import { findCondition } from '../kube/conditions.ts';
import { nowMs, runningProcess } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import type { Decision, World } from './decision.ts';
import { wantedDigest } from './identity.ts';
import { resetFinalizer } from './on-record.ts';
import { startBody } from './resources.ts';
import { isSettled, type CheckResult, type CheckView } from './start-checks.ts';
import {
  answers,
  changed,
  clusterSync,
  failure,
  phaseAndReadiness,
  refused,
  runningPod,
  runningWorld,
  shardedWorld,
  threeShards,
} from './testing/worlds.ts';

type Findings = Extract<CheckResult, { kind: 'found' }>['findings'];

const dry = { dryRun: true } as const;
const unknown = { kind: 'unknown' } as const;
const blocked: Findings = [
  { severity: 'Blocker', name: 'DestinationNotEmpty', message: 'shop.items has documents' },
  { severity: 'Blocker', name: 'SourceNotSupported', message: 'it is old' },
  { severity: 'Advice', name: 'UsersNotCopied', message: '2 users', action: 'Create them.' },
];
const warned: Findings = [{ severity: 'Warning', name: 'OplogTooShort', message: 'one hour' }];

/** The world after the question of a decision was answered. */
function answered(world: World, { check }: Decision, result: CheckResult, ageMs = 0): World {
  assert.ok(check, 'nothing is asked');
  const { inputsHash, target } = check;
  const view = { ...result, inputsHash, process: target.process, askedMs: nowMs - ageMs };
  return { ...world, check: view };
}

function found(findings: Findings): CheckResult {
  const canStart = findings.every(({ severity }) => severity !== 'Blocker');
  return { kind: 'found', canStart, findings, omitted: 0 };
}

/** What is decided once the check has been answered. */
function after(
  result: CheckResult,
  {
    spec = dry,
    world = runningWorld(answers.idle),
  }: { spec?: Partial<ClusterSyncSpec>; world?: World } = {},
): Decision {
  const asking = { ...world, check: unknown };
  const sync = clusterSync(spec);
  return decide(sync, answered(world, decide(sync, asking), result));
}

function canStartOf({ conditions }: ClusterSyncStatus): string {
  const { status, reason } = findCondition(conditions, 'CanStart') ?? {};
  return status === undefined ? 'absent' : `${status} ${reason ?? ''}`;
}

const argumentsOf = ({ objects }: Decision): readonly string[] =>
  objects?.statefulSet.spec?.template?.spec?.containers?.[0]?.args ?? [];

/** A StatefulSet of pods that continue no sync. */
function heldBack(world: World): World {
  const { objects } = decide(clusterSync(dry), {
    ...world,
    statefulSet: undefined,
    observations: new Map(),
  });
  assert.ok(objects);
  return { ...world, statefulSet: objects.statefulSet as World['statefulSet'] };
}

describe('a dry run', () => {
  it('asks the syncer what the start would send, and starts nothing', () => {
    const sync = clusterSync(dry);
    const decision = decide(sync, runningWorld(answers.idle, { check: unknown }));
    assert.deepEqual(decision.check?.body, startBody(sync));
    assert.equal(decision.check.target.process, runningProcess);
    assert.deepEqual(decision.commands, []);
    assert.equal(phaseAndReadiness(decision.status), 'DryRun: False Checking');
    assert.equal(canStartOf(decision.status), 'Unknown Checking');
    assert.deepEqual(decision.events, []);
  });

  it('makes pods that continue no sync that they find', () => {
    const world = runningWorld(undefined, { statefulSet: undefined, check: unknown });
    assert.ok(argumentsOf(decide(clusterSync(dry), world)).includes('--continues=none'));
    assert.ok(!argumentsOf(decide(clusterSync(), world)).includes('--continues=none'));
  });

  it('does not replace pods that run already', () => {
    const args = argumentsOf(decide(clusterSync(dry), runningWorld(answers.idle)));
    assert.ok(args.length > 0 && !args.includes('--continues=none'));
  });

  const results: readonly (readonly [string, CheckResult, readonly string[]])[] = [
    ['finds nothing', found([]), ['DryRun: True Checked', 'True Checked', 'Normal Checked']],
    ['finds a warning', found(warned), ['DryRun: True Checked', 'True Checked', 'Normal Checked']],
    [
      'finds a blocker',
      found(blocked),
      ['Stalled: False PreconditionFailed', 'False PreconditionFailed', 'Warning StartBlocked'],
    ],
    [
      'is not possible with the image',
      { kind: 'unsupported' },
      [
        'Stalled: False CheckNotSupported',
        'Unknown CheckNotSupported',
        'Warning CheckNotSupported',
      ],
    ],
    [
      'fails',
      {
        kind: 'failed',
        error: { name: 'SyncerUnreachable', description: 'no answer', isLasting: false },
      },
      ['DryRun: False SyncerUnreachable', 'Unknown SyncerUnreachable', 'Warning SyncerUnreachable'],
    ],
  ];
  for (const [what, result, [readiness, canStart, event]] of results) {
    it(`says by its phase, its conditions and an event that the check ${what}`, () => {
      const { status, events, commands } = after(result);
      assert.equal(phaseAndReadiness(status), readiness);
      assert.equal(canStartOf(status), canStart);
      assert.deepEqual(
        events.map(({ type, reason }) => `${type} ${reason}`),
        [event],
      );
      assert.deepEqual(commands, []);
    });
  }

  it('has all findings in its status, and names the first blocker', () => {
    const { status } = after(found(blocked));
    assert.deepEqual(status.preflight, blocked);
    assert.equal(status.canStart, false);
    assert.equal(status.preflightCheck?.time, '2026-01-01T12:00:00Z');
    assert.equal(
      findCondition(status.conditions, 'Stalled')?.message,
      'a start would be refused with DestinationNotEmpty: shop.items has documents; 1 more blocker in status.preflight',
    );
  });

  it('names the image that cannot check', () => {
    const syncer = { resources: {}, logLevel: 'info', image: 'example.dev/other:1' } as const;
    const { status } = after({ kind: 'unsupported' }, { spec: { ...dry, syncer } });
    assert.match(
      findCondition(status.conditions, 'Ready')?.message ?? '',
      /^the image example\.dev\/other:1 cannot check a start/,
    );
    assert.equal(status.preflight, undefined);
  });

  it('says nothing again while nothing is news, and keeps what a former operator has found', () => {
    const first = after(found(blocked));
    const sync = clusterSync(dry, first.status);
    const next = decide(sync, runningWorld(answers.idle, { check: unknown }));
    assert.deepEqual(next.status, first.status);
    assert.deepEqual(next.events, []);
    assert.ok(next.check && !isSettled(unknown, next.check), 'it is checked again');
  });

  const ages: readonly (readonly [string, CheckResult, number, boolean])[] = [
    ['has passed, after nine minutes', found(warned), 540_000, false],
    ['has passed, after ten minutes', found(warned), 600_000, true],
    ['is blocked, after half a minute', found(blocked), 30_000, false],
    ['is blocked, after a minute', found(blocked), 60_000, true],
    ['is not possible, after a day', { kind: 'unsupported' }, 86_400_000, false],
  ];
  for (const [what, result, ageMs, isRepeated] of ages) {
    it(`is ${isRepeated ? '' : 'not '}repeated where it ${what}`, () => {
      const world = runningWorld(answers.idle, { check: unknown });
      const sync = clusterSync(dry);
      const old = answered(world, decide(sync, world), result, ageMs);
      const decision = decide(sync, old);
      assert.ok(decision.check);
      assert.equal(isSettled(old.check, decision.check), !isRepeated);
      assert.notEqual(canStartOf(decision.status), 'Unknown Checking');
    });
  }

  it('is repeated when somebody asks for it, and by another process', () => {
    const world = runningWorld(answers.idle, { check: unknown });
    const first = decide(clusterSync(dry), world);
    const { check } = answered(world, first, found(warned));
    const isAnswered = (spec: Partial<ClusterSyncSpec>, next: World): boolean => {
      const { check: request } = decide(clusterSync(spec), { ...next, check });
      assert.ok(request);
      return isSettled(check, request);
    };
    assert.ok(isAnswered(dry, world));
    assert.ok(!isAnswered({ ...dry, checkAgain: 'now' }, world));
    const pod = runningPod();
    const other = { ...pod, metadata: { ...pod.metadata, uid: 'other-uid' } };
    const restarted = runningWorld(answers.idle, {
      pods: new Map([[pod.metadata.name, other]]),
      observation: { process: 'other-uid/containerd://1' },
    });
    assert.ok(!isAnswered(dry, restarted));
  });

  describe('whose question has changed', () => {
    const world = runningWorld(answers.idle, { check: unknown });
    const { status } = after(found([]));
    const silent = { sinceMs: nowMs - 60_000, description: 'refused' };
    const { check } = answered(world, decide(clusterSync(dry), world), found([]));
    const canStartWith = (
      spec: Partial<ClusterSyncSpec>,
      parts: Parameters<typeof runningWorld>[1],
    ) =>
      canStartOf(
        decide(clusterSync({ ...dry, ...spec }, status), runningWorld(answers.idle, parts)).status,
      );

    it('does not show the answer to the former one', () => {
      assert.equal(canStartWith({ checkAgain: 'now' }, { check }), 'Unknown Checking');
      assert.equal(canStartWith({ checkAgain: 'now' }, { check: unknown }), 'Unknown Checking');
    });

    it('does not show it while nobody can be asked, either', () => {
      const observation = { unreachable: silent };
      assert.equal(canStartWith({}, { check, observation }), 'True Checked');
      assert.equal(canStartWith({}, { check: unknown, observation }), 'True Checked');
      for (const known of [check, unknown])
        assert.equal(canStartWith({ checkAgain: 'now' }, { check: known, observation }), 'absent');
    });
  });

  it('asks the first of several syncers that answers', () => {
    const world = shardedWorld(['no pod', answers.idle, answers.idle], { check: unknown });
    const sync = clusterSync(dry, threeShards);
    const decision = decide(sync, world);
    const { check, commands } = decision;
    assert.ok(check);
    assert.deepEqual(commands, []);
    const answer = answered(world, decision, found(warned)).check;
    // The first of them, which is another process than theirs, answers by now.
    const first = { answer: answers.idle, process: 'first-uid/containerd://1' };
    const all = shardedWorld([first, answers.idle, answers.idle], { check: answer });
    const [pod, ...others] = [...all.pods.values()];
    assert.ok(pod);
    const pods = [{ ...pod, metadata: { ...pod.metadata, uid: 'first-uid' } }, ...others];
    const later = { ...all, pods: new Map(pods.map((each) => [each.metadata.name, each])) };
    assert.equal(decide(sync, later).check?.inputsHash, check.inputsHash);
    const fresh = decide(sync, { ...later, check: unknown }).check;
    assert.equal(fresh?.target.process, first.process);
  });

  it('asks and starts nothing while suspended, paused or deleted, or with a destination of another one', () => {
    const world = runningWorld(answers.idle, { check: unknown });
    assert.equal(decide(clusterSync({ ...dry, suspend: true }), world).check, undefined);
    const holder = { namespace: 'other', name: 'a', uid: 'b' };
    const taken = { ...world, claim: { kind: 'taken', host: 'db', holder } } as const;
    const { check, status } = decide(clusterSync(dry), taken);
    assert.equal(check, undefined);
    assert.equal(phaseAndReadiness(status).split(' ')[2], 'DestinationInUse');
    const paused = decide(clusterSync({ ...dry, state: 'Paused' }), world);
    assert.ok(paused.check);
    assert.equal(phaseAndReadiness(paused.status), 'DryRun: False Checking');
  });

  it('has no reason in a start that was refused before', () => {
    const world = runningWorld(answers.idle, {
      observation: { command: refused('start', 'DestinationNotEmpty') },
    });
    assert.equal(phaseAndReadiness(after(found([]), { world }).status), 'DryRun: True Checked');
  });

  it('starts the sync when it is false again', () => {
    const { status } = after(found(warned));
    const { commands } = decide(clusterSync({}, status), runningWorld(answers.idle));
    assert.deepEqual(
      commands.map(({ command }) => command.name),
      ['start'],
    );
  });

  it('of another destination than that of its sync says so', () => {
    const other = changed(answers.changes, { optionsDigest: 'other' });
    const { status, commands, check } = decide(clusterSync(dry), runningWorld(other));
    assert.equal(phaseAndReadiness(status), 'Stalled: False DifferentSync');
    assert.deepEqual(commands, []);
    assert.equal(check, undefined);
    assert.equal(canStartOf(status), 'absent');
  });
});

describe('a dry run of a sync that has begun', () => {
  const begun: ClusterSyncStatus = {
    ...clusterSync().status,
    startedAt: '2026-01-01T11:00:00Z',
  };
  const running = changed(answers.changes, { optionsDigest: wantedDigest(clusterSync()) });

  for (const [what, answer, spec] of [
    ['in its copy', answers.copy, {}],
    ['in its changes', running, { state: 'Committed' }],
    ['in its pause', answers.paused, {}],
    ['that has failed', failure('AuthenticationFailed'), {}],
  ] as const) {
    it(`changes nothing: ${what}`, () => {
      const world = runningWorld(answer);
      const without = decide(clusterSync(spec, begun), world);
      const { status, ...decision } = decide(clusterSync({ ...spec, ...dry }, begun), world);
      assert.deepEqual(decision.commands, without.commands);
      assert.deepEqual(decision.objects, without.objects);
      assert.equal(decision.check, undefined);
      assert.equal(phaseAndReadiness(status), phaseAndReadiness(without.status));
      assert.equal(canStartOf(status), 'False AlreadyStarted');
      assert.deepEqual(
        decision.events.filter(({ reason }) => reason === 'DryRunIgnored').length,
        1,
      );
    });
  }

  it('starts the instances that were not started, although the status is lost', () => {
    const world = shardedWorld([running, answers.idle, running]);
    const { commands, status } = decide(clusterSync(dry, threeShards), world);
    assert.deepEqual(
      commands.map(({ id, command }) => `${command.name} ${id}`),
      ['start shard-1'],
    );
    assert.equal(canStartOf(status), 'False AlreadyStarted');
  });

  it('does not start it over before it is false', () => {
    const startOver = { token: 'again', destination: 'Clean' } as const;
    const world = runningWorld(running);
    const { status, commands } = decide(clusterSync({ ...dry, startOver }, begun), world);
    assert.deepEqual(commands, []);
    assert.equal(status.startOver, undefined);
    assert.match(findCondition(status.conditions, 'CanStart')?.message ?? '', /startOver waits/);
    const { status: next } = decide(clusterSync({ startOver }, begun), world);
    assert.equal(next.startOver?.state, 'Resetting');
  });

  it('does not continue one that it finds on the destination, and does not end it', () => {
    const world = heldBack(runningWorld(running));
    const { status, commands, objects } = decide(clusterSync(dry), world);
    assert.equal(phaseAndReadiness(status), 'Stalled: False AlreadyStarted');
    assert.equal(status.startedAt, undefined);
    assert.deepEqual(commands, []);
    assert.ok(argumentsOf({ objects } as Decision).includes('--continues=none'));
    const sync = clusterSync({ ...dry, onDelete: 'Clean' });
    const deletionTimestamp = '2026-01-01T12:00:00Z';
    const metadata = { ...sync.metadata, finalizers: [resetFinalizer], deletionTimestamp };
    const deleted = decide({ ...sync, metadata }, world);
    assert.deepEqual(deleted.commands, []);
    assert.deepEqual(deleted.finalizers, []);
    // It is continued once it is no dry run.
    assert.ok(!argumentsOf(decide(clusterSync(), world)).includes('--continues=none'));
  });
});

describe('a start', () => {
  const names = ({ commands }: Decision): string[] => commands.map(({ command }) => command.name);

  it('waits for the check before it, whatever that finds', () => {
    const asking = decide(clusterSync(), runningWorld(answers.idle, { check: unknown }));
    assert.ok(asking.check);
    assert.deepEqual(names(asking), []);
    const results: readonly CheckResult[] = [
      found([]),
      found(blocked),
      { kind: 'unsupported' },
      { kind: 'failed', error: { name: 'X', description: 'y', isLasting: false } },
    ];
    for (const result of results) assert.deepEqual(names(after(result, { spec: {} })), ['start']);
  });

  it('is not ready by a check alone, and is not stalled by one', () => {
    assert.equal(
      phaseAndReadiness(after(found(blocked), { spec: {} }).status),
      'Starting: False Starting',
    );
    assert.equal(
      phaseAndReadiness(after(found([]), { spec: {} }).status),
      'Starting: False Starting',
    );
  });

  it('that is refused has all reasons in the status, and is checked again when it is repeated', () => {
    const command = refused('start', 'DestinationNotEmpty');
    const world = runningWorld(answers.idle, { observation: { command } });
    const first = after(found(blocked), { spec: {} });
    const waiting = decide(clusterSync({}, first.status), { ...world, check: unknown });
    assert.equal(phaseAndReadiness(waiting.status), 'Stalled: False PreconditionFailed');
    assert.deepEqual(waiting.status.preflight, blocked);
    assert.equal(waiting.check, undefined);
    assert.ok(command.kind === 'refused');
    const due = { ...world, nowMs: command.retryAtMs };
    const { check: request } = decide(clusterSync({}, first.status), { ...due, check: unknown });
    assert.ok(request);
    const view: CheckView = {
      ...found(blocked),
      ...{ process: runningProcess, inputsHash: request.inputsHash },
      askedMs: command.endedMs - 1,
    };
    const repeated = decide(clusterSync({}, first.status), { ...due, check: view });
    assert.ok(repeated.check);
    assert.deepEqual(names(repeated), []);
    const fresh = { ...due, check: { ...view, askedMs: command.endedMs } };
    assert.deepEqual(names(decide(clusterSync({}, first.status), fresh)), ['start']);
  });

  it('keeps what was found when the sync has begun, but not that it can start', () => {
    const { status } = after(found(warned), { spec: {} });
    assert.equal(status.canStart, true);
    const running = decide(clusterSync({}, status), runningWorld(answers.copy)).status;
    assert.deepEqual(running.preflight, warned);
    assert.equal(running.canStart, undefined);
    assert.equal(canStartOf(running), 'absent');
  });

  it('is not checked before it is called for', () => {
    const world = runningWorld(answers.idle, { check: unknown });
    assert.equal(decide(clusterSync({ state: 'Paused' }), world).check, undefined);
    assert.equal(decide(clusterSync({ suspend: true }), world).check, undefined);
    const running = runningWorld(answers.copy, { check: unknown });
    assert.equal(decide(clusterSync(), running).check, undefined);
  });
});
