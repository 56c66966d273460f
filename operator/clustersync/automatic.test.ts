import assert from 'node:assert/strict';
import { secondTime } from '../kube/micro-time.ts';
import type { ClusterSyncSpec } from '../api/clustersync.ts';
import { hashOfOptions } from '../commit/hold.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import type { World } from './decision.ts';
import {
  automatic,
  commandsIn,
  decideIn,
  holdOf,
  views,
  web,
  withWeb,
} from './testing/automatic-commits.ts';
import {
  answers,
  changed,
  clusterSync,
  failure,
  phaseAndReadiness,
  readyMessage,
  refused,
  reversed,
  runningWorld,
  shardedWorld,
  threeShards,
} from './testing/worlds.ts';

const { idle, copy, changes, paused, committing, committed } = answers;

describe('a ClusterSync that is committed automatically', () => {
  const laggard = changed(changes, { lagTimeSeconds: 11 });
  const early = { commit: { ...automatic, notBefore: secondTime(nowMs + 1_000) } };
  const over = { commit: { ...automatic, notAfter: secondTime(nowMs) } };
  const afterRefusal = (retryAtMs: number): World => {
    const command = { ...refused('commit', 'CannotCommitYet', false), retryAtMs };
    return runningWorld(changes, { observation: { command } });
  };
  const cases: readonly (readonly [
    what: string,
    world: World,
    spec: Partial<ClusterSyncSpec>,
    commands: readonly string[],
    readiness: string,
  ])[] = [
    ['starts', runningWorld(idle), {}, ['start old'], 'Starting: False Starting'],
    ['waits for the copy', runningWorld(copy), {}, [], 'InitialCopy: False InitialCopy'],
    [
      'is committed',
      runningWorld(changes),
      {},
      ['commit old'],
      'ChangeApplication: False Committing',
    ],
    [
      'is committed when it is to be',
      runningWorld(changes),
      { state: 'Committed' },
      ['commit old'],
      'ChangeApplication: False Committing',
    ],
    ['waits for its lag', runningWorld(laggard), {}, [], 'ChangeApplication: False WaitingForLag'],
    ['waits for its window', runningWorld(changes), early, [], 'ChangeApplication: True InSync'],
    [
      'is committed again, once it may be repeated after a refusal',
      afterRefusal(nowMs),
      {},
      ['commit old'],
      'ChangeApplication: False CannotCommitYet',
    ],
    [
      'does not even look at its workloads before',
      afterRefusal(nowMs + 1_000),
      { commit: withWeb },
      [],
      'ChangeApplication: False CannotCommitYet',
    ],
    [
      'is not committed again before',
      afterRefusal(nowMs + 1_000),
      {},
      [],
      'ChangeApplication: False CannotCommitYet',
    ],
    [
      'is told to, and waits for its window',
      runningWorld(changes),
      { ...early, state: 'Committed' },
      [],
      'ChangeApplication: False WaitingForWindow',
    ],
    ['has missed its window', runningWorld(changes), over, [], 'Stalled: False CommitWindowMissed'],
    ['copies after its window', runningWorld(copy), over, [], 'InitialCopy: False InitialCopy'],
    [
      'continues after its window',
      runningWorld(committing),
      over,
      [],
      'Committing: False Committing',
    ],
    [
      'waits for its lag, also when it is to be committed',
      runningWorld(laggard),
      { state: 'Committed' },
      [],
      'ChangeApplication: False WaitingForLag',
    ],
    [
      'is paused',
      runningWorld(changes),
      { state: 'Paused' },
      ['pause old'],
      'ChangeApplication: False Pausing',
    ],
    ['is resumed first', runningWorld(paused), {}, ['resume old'], 'Paused: False Resuming'],
    [
      'is left alone while suspended',
      runningWorld(changes),
      { suspend: true },
      [],
      'ChangeApplication: True InSync',
    ],
    [
      'waits for its verification',
      runningWorld(changes),
      { commit: { ...automatic, verificationRef: { name: 'check' } } },
      [],
      'ChangeApplication: False WaitingForVerification',
    ],
    [
      'looks at its workloads',
      runningWorld(changes),
      { commit: withWeb },
      [],
      'ChangeApplication: True InSync',
    ],
    ['continues', runningWorld(committing), {}, [], 'Committing: False Committing'],
    ['is over', runningWorld(committed), {}, [], 'Committed: True Committed'],
    [
      'says what is wrong',
      runningWorld(failure('AuthenticationFailed')),
      {},
      [],
      'Stalled: False AuthenticationFailed',
    ],
    [
      'waits for what does not answer',
      runningWorld(changes, {
        observation: { unreachable: { sinceMs: nowMs - 60_000, description: '' } },
      }),
      {},
      [],
      'ChangeApplication: False SyncerUnreachable',
    ],
  ];
  for (const [what, world, spec, commands, expected] of cases) {
    it(what, () => {
      const decision = decideIn(world, { commit: automatic, ...spec });
      assert.deepEqual(commandsIn(decision), commands);
      assert.equal(phaseAndReadiness(decision.status), expected);
    });
  }

  it('says when its window opens, and looks again by then', () => {
    const decision = decideIn(runningWorld(changes), early);
    const text = `the automatic commit waits until ${secondTime(nowMs + 1_000)} (spec.commit.notBefore)`;
    assert.equal(
      readyMessage(decision.status),
      `changes from the source are being applied; ${text}`,
    );
    assert.ok(decision.requeueAfterMs <= 1_000);
    assert.ok(decideIn(runningWorld(changes), {}).requeueAfterMs > 1_000);
    assert.deepEqual(decision.commit, { kind: 'none' });
  });

  it('is committed by all instances at once, and by none before all can', () => {
    const spec = { commit: automatic };
    const all = decideIn(shardedWorld([changes, changes, changes]), spec, {}, threeShards);
    assert.deepEqual(commandsIn(all), ['commit shard-0', 'commit shard-1', 'commit shard-2']);
    for (const last of [copy, laggard, paused, 'no pod'] as const) {
      const some = decideIn(shardedWorld([changes, changes, last]), spec, {}, threeShards);
      assert.ok(!commandsIn(some).some((each) => each.startsWith('commit')));
    }
  });

  it('is sent a commit to every instance when one has taken it, whatever the deadline', () => {
    const spec = { commit: withWeb, state: 'Paused' } as const;
    const world = shardedWorld([committing, changes, changes]);
    const hold = holdOf(withWeb, { sinceMs: 0 });
    const decision = decideIn(world, spec, { hold, workloads: views(0) }, threeShards);
    assert.deepEqual(commandsIn(decision), ['commit shard-1', 'commit shard-2']);
    assert.deepEqual(decision.commit, { kind: 'none' });
  });

  it('is committed in the other direction, too, where it is reversed', () => {
    const status = decideIn(runningWorld(committed), { reversible: true }).status;
    const spec = { commit: automatic, reversible: true, direction: 'Reverse' } as const;
    const decision = decideIn(runningWorld(reversed(changes)), spec, {}, status);
    assert.deepEqual(commandsIn(decision), ['commit old']);
  });

  it('takes its workloads down, and is committed when their pods are gone', () => {
    const spec = { commit: withWeb };
    const world = runningWorld(changes);
    const looked = decideIn(world, spec);
    assert.deepEqual(looked.commit, { kind: 'look' });
    const begun = decideIn(world, spec, { workloads: views(3) });
    assert.ok(begun.commit.kind === 'record');
    assert.deepEqual(begun.commit.hold, holdOf(withWeb, { sinceMs: nowMs }));
    const { hold } = begun.commit;

    const scaled = decideIn(world, spec, { hold, workloads: views(3) });
    assert.equal(scaled.commit.kind, 'scale');
    assert.deepEqual(scaled.status.commit, {
      heldSince: '2026-01-01T12:00:00Z',
      deadline: '2026-01-01T12:05:00Z',
      workloads: [{ ...web, replicas: 3 }],
    });
    assert.deepEqual(
      scaled.events.map(({ reason }) => reason).filter((reason) => reason === 'StoppingWorkloads'),
      ['StoppingWorkloads'],
    );
    const waiting = decideIn(world, spec, { hold, workloads: views(0, 2) });
    assert.equal(phaseAndReadiness(waiting.status), 'ChangeApplication: False StoppingWorkloads');
    assert.match(readyMessage(waiting.status), /Deployment web still has pods/);
    assert.ok(waiting.requeueAfterMs <= 1_000);
    const ready = decideIn(world, spec, { hold, workloads: views(0) });
    assert.ok(ready.commit.kind === 'record');
    assert.deepEqual(commandsIn(ready), []);
    const sent = decideIn(world, spec, { hold: ready.commit.hold, workloads: views(0) });
    assert.deepEqual(commandsIn(sent), ['commit old']);

    const done = decideIn(runningWorld(committed), spec, { hold, workloads: views(0) });
    assert.ok(done.commit.kind === 'record');
    assert.equal(done.commit.hold.afterCommit, 'StayAtZero');
    const suspended = decideIn(runningWorld(committed), { ...spec, suspend: true }, { hold });
    assert.deepEqual(suspended.commit, done.commit, 'though it does nothing else');
    const held = { hold: done.commit.hold, workloads: views(0) };
    const known = decideIn(runningWorld(committed), spec, held);
    assert.deepEqual(known.commit, { kind: 'none' }, 'that it is committed has to be on record');
    const over = decideIn(runningWorld(committed), spec, held, known.status);
    assert.deepEqual(over.commit, { kind: 'drop' });
    const end = decideIn(runningWorld(committed), spec, {}, over.status);
    assert.equal(end.status.commit, undefined);
    assert.equal(phaseAndReadiness(end.status), 'Committed: True Committed');
  });

  it('gives them back at the deadline, is stalled, and remembers it', () => {
    const spec = { commit: withWeb };
    const world = runningWorld(laggard);
    const late = holdOf(withWeb, { sinceMs: nowMs - 300_000 });
    const given = decideIn(world, spec, { hold: late, workloads: views(0) });
    assert.ok(given.commit.kind === 'record');
    const { hold } = given.commit;
    const back = decideIn(world, spec, { hold, workloads: views(0) });
    assert.equal(back.commit.kind, 'scale');
    assert.equal(phaseAndReadiness(back.status), 'Stalled: False CommitDeadlineMissed');
    assert.deepEqual(
      back.events.map(({ reason }) => reason).includes('CommitDeadlineMissed'),
      true,
    );
    const dropped = decideIn(world, spec, { hold, workloads: views(3) }, back.status);
    assert.deepEqual(dropped.commit, { kind: 'drop' });
    const later = decideIn(runningWorld(changes), spec, { workloads: views(3) }, dropped.status);
    assert.deepEqual(later.commit, { kind: 'none' });
    assert.deepEqual(later.status.commit, { missedOptions: hashOfOptions(withWeb) });
    assert.equal(phaseAndReadiness(later.status), 'Stalled: False CommitDeadlineMissed');
    const again = { commit: { ...withWeb, attempt: '2' } };
    const next = decideIn(runningWorld(changes), again, { workloads: views(3) }, later.status);
    assert.equal(next.commit.kind, 'record');
  });

  it('remembers a missed deadline while it is suspended, and begins nothing afterwards', () => {
    const world = runningWorld(changes);
    const missed = {
      source: { kind: 'ReplicaSet', shards: ['rs'] },
      commit: { missedOptions: hashOfOptions(withWeb) },
    } as const;
    const spec = { commit: withWeb, suspend: true };
    const suspended = decideIn(world, spec, { workloads: views(3) }, missed);
    assert.deepEqual(suspended.status.commit, missed.commit);
    const later = decideIn(world, { commit: withWeb }, { workloads: views(3) }, suspended.status);
    assert.deepEqual(later.commit, { kind: 'none' });
    assert.equal(phaseAndReadiness(later.status), 'Stalled: False CommitDeadlineMissed');
  });

  const unanswered = {
    error: { name: 'SyncerUnreachable', description: 'no answer', isLasting: false },
    attempts: 1,
    endedMs: nowMs - 500,
    retryAtMs: nowMs + 1_000,
  } as const;

  it('gives nothing back while it cannot be known whether the commit was taken', () => {
    const spec = { commit: withWeb };
    const hold = holdOf(withWeb, {
      sinceMs: 0,
      ending: 'DeadlineMissed',
      commitSentMs: nowMs - 60_000,
    });
    const doubtful = [
      { answer: changes, unreachable: { sinceMs: nowMs - 1_000, description: '' } },
      { answer: changes, command: { name: 'commit', kind: 'sending' } },
      { answer: changes, command: { name: 'commit', kind: 'taken', endedMs: nowMs } },
      { answer: changes, askedMs: nowMs - 55_000 },
      // Asked before the request failed, but answered since.
      {
        answer: changes,
        askedMs: nowMs - 600,
        command: { name: 'commit', kind: 'refused', ...unanswered },
      },
      { answer: undefined },
      { answer: changed(changes, { commitUnderWay: true }) },
      { answer: changed(changes, { commitUnderWay: null }) },
      { answer: changed(changes, { commitUnderWay: true, canCommit: false }) },
      { answer: changed(changes, { canCommit: false }) },
      { answer: idle },
      'no pod',
    ] as const;
    for (const scene of doubtful) {
      const world = shardedWorld([changes, changes, scene]);
      const { commit } = decideIn(world, spec, { hold, workloads: views(0) }, threeShards);
      assert.deepEqual(commit, { kind: 'none' }, JSON.stringify(scene));
    }
    const proving = [
      changes,
      changed(changes, { commitUnderWay: false, canCommit: false }),
      paused,
      // A failed request proves nothing; what the instance reports afterwards does.
      { answer: changes, command: { name: 'commit', kind: 'refused', ...unanswered } },
    ] as const;
    for (const scene of proving) {
      const world = shardedWorld([changes, changes, scene]);
      const { commit } = decideIn(world, spec, { hold, workloads: views(0) }, threeShards);
      assert.ok(
        commit.kind === 'record' && commit.hold.ending === 'DeadlineMissed',
        JSON.stringify(scene),
      );
    }
  });

  it('stops nothing, and gives back what it has stopped, while it is being deleted', () => {
    const one = clusterSync({ commit: withWeb });
    // Something else than the operator keeps it: its pods are deleted before.
    const metadata = {
      ...one.metadata,
      ...{ deletionTimestamp: secondTime(nowMs), finalizers: ['foregroundDeletion'] },
    };
    const decided = (commit: Partial<World['commit']>) => {
      const world = runningWorld(changes);
      return decide({ ...one, metadata }, { ...world, commit: { ...world.commit, ...commit } });
    };
    assert.equal(decided({ workloads: views(3) }).commit.kind, 'none');
    const { commit } = decided({ hold: holdOf(withWeb), workloads: views(0) });
    assert.ok(commit.kind === 'record' && commit.hold.ending === 'NotAskedFor');
  });

  it("gives them back where the destination is another ClusterSync's", () => {
    const claim = {
      kind: 'taken',
      host: 'a:1',
      holder: { namespace: 'a', name: 'b', uid: 'c' },
    } as const;
    const world = runningWorld(changes, { claim });
    const held = { hold: holdOf(withWeb), workloads: views(0) };
    const { commit } = decideIn(world, { commit: withWeb }, held);
    assert.ok(commit.kind === 'record' && commit.hold.ending === 'NotAskedFor');
  });
});
