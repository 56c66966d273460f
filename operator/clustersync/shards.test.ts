import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ClusterSyncSpec } from '../api/clustersync.ts';
import { findCondition } from '../kube/conditions.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import type { SyncerCommand } from './syncer-client.ts';
import {
  answers,
  changed,
  commandsToShards,
  decideOn,
  emptyWorld,
  failure,
  observationOf,
  phaseAndReadiness,
  readyMessage,
  refused,
  reversed,
  runningPod,
  shardedWorld,
  type InstanceScene,
} from './testing/worlds.ts';

const { idle, copy, changes, paused, committing, committed } = answers;
const away = { answer: changes, unreachable: { sinceMs: nowMs - 60_000, description: 'refused' } };

describe('the commands to several instances', () => {
  type Case = readonly [
    string,
    readonly [InstanceScene, InstanceScene, InstanceScene],
    ClusterSyncSpec['state'],
    readonly string[],
  ];
  const cases: readonly Case[] = [
    ['start all', [idle, idle, idle], 'Running', ['start 0', 'start 1', 'start 2']],
    ['wait with the start for one without a pod', [idle, 'no pod', idle], 'Running', []],
    ['wait with the start for one that has not answered', [idle, undefined, idle], 'Running', []],
    [
      'wait with the start for one that does not answer any more',
      [idle, away, idle],
      'Running',
      [],
    ],
    [
      'wait with the start for one that reports an error',
      [idle, idle, failure('ClusterUnreachable', false)],
      'Running',
      [],
    ],
    ['start those that have not had it', [copy, idle, changes], 'Running', ['start 1']],
    [
      'do not repeat at once what one has refused, and send it to the others',
      [idle, { answer: idle, command: refused('start', 'ClusterUnreachable') }, idle],
      'Running',
      ['start 0', 'start 2'],
    ],
    ['pause those that run', [copy, paused, changes], 'Paused', ['pause 0', 'pause 2']],
    ['pause those that answer', [copy, away, 'no pod'], 'Paused', ['pause 0']],
    ['start nothing that is to be paused', [paused, idle, copy], 'Paused', ['pause 2']],
    [
      'resume those that are paused',
      [paused, changes, paused],
      'Running',
      ['resume 0', 'resume 2'],
    ],
    ['commit all', [changes, changes, changes], 'Committed', ['commit 0', 'commit 1', 'commit 2']],
    ['do not commit before all can', [changes, copy, changes], 'Committed', []],
    [
      'do not commit before all can, though they apply changes',
      [changes, changed(changes, { canCommit: false }), changes],
      'Committed',
      [],
    ],
    ['do not begin a commit without one of them', [changes, changes, away], 'Committed', []],
    [
      'commit those that have not had it',
      [committing, changes, committed],
      'Committed',
      ['commit 1'],
    ],
    [
      'commit one that was away, though it has to catch up first',
      [committing, changed(changes, { canCommit: false }), committing],
      'Committed',
      ['commit 1'],
    ],
    [
      'complete a commit that nobody asks for any more',
      [committing, changes, paused],
      'Paused',
      ['resume 2', 'commit 1'],
    ],
    [
      'continue a commit without the one that is away',
      [committing, changes, away],
      'Committed',
      ['commit 1'],
    ],
  ];
  for (const [what, scenes, state, expected] of cases) {
    it(what, () => {
      assert.deepEqual(commandsToShards(shardedWorld(scenes), { state }), expected);
    });
  }

  it('are decided on again when one that was refused may be repeated', () => {
    const command = { ...refused('start', 'ClusterUnreachable', false), retryAtMs: nowMs + 800 };
    const world = shardedWorld([idle, { answer: idle, command }, idle]);
    assert.equal(decideOn(world).requeueAfterMs, 800);
    const later = decideOn({ ...world, nowMs: nowMs + 800 });
    assert.ok(later.commands.some(({ id }) => id === 'shard-1'));
    assert.ok(later.requeueAfterMs > 0);
  });

  it('have the same body for all', () => {
    for (const [world, state] of [
      [shardedWorld([idle, idle, idle]), 'Running'],
      [shardedWorld([changes, changes, changes]), 'Committed'],
    ] as const) {
      const { commands } = decideOn(world, { state });
      assert.equal(commands.length, 3);
      for (const { command } of commands) assert.deepEqual(command, commands[0]?.command);
    }
  });

  it('bring every mixture of states to what is asked for, even if some are away or refuse meanwhile', () => {
    const state = fc.constantFrom(idle, copy, changes, paused, committing);
    const mood = fc.constantFrom('well', 'away', 'gone', 'refusing');
    const wanted = fc.constantFrom<ClusterSyncSpec['state']>('Running', 'Paused', 'Committed');
    const three = <T>(each: fc.Arbitrary<T>) => fc.tuple(each, each, each);
    const well = ['well', 'well', 'well'] as const;
    fc.assert(
      fc.property(
        three(state),
        fc.array(three(mood), { maxLength: 8 }),
        wanted,
        (start, moods, spec) => {
          let states: Triple = start;
          for (const now of [...moods, ...Array.from({ length: 10 }, () => well)]) {
            const scene = (index: 0 | 1 | 2): InstanceScene => {
              if (now[index] === 'gone') return 'no pod';
              return now[index] === 'away' ? { ...away, answer: states[index] } : states[index];
            };
            const world = shardedWorld([scene(0), scene(1), scene(2)]);
            const { commands } = decideOn(world, { state: spec });
            const taken = new Map(commands.map(({ id, command }) => [id, command.name]));
            if (commands.some(({ command }) => command.name === 'commit')) {
              const isBegun = states.some((each) => each === committing || each === committed);
              assert.ok(isBegun || states.every((each) => each === changes));
            }
            const next = (index: 0 | 1 | 2) => {
              const command = now[index] === 'refusing' ? undefined : taken.get(`shard-${index}`);
              return after(states, states[index], command);
            };
            states = [next(0), next(1), next(2)];
          }
          const { status } = decideOn(shardedWorld(states), { state: spec });
          const isCommitted = start.includes(committing) || spec === 'Committed';
          const end = spec === 'Paused' ? 'Paused' : 'InSync';
          const reason = findCondition(status.conditions, 'Ready')?.reason;
          assert.equal(reason, isCommitted ? 'Committed' : end, phaseAndReadiness(status));
        },
      ),
    );
  });
});

type Triple = readonly [typeof idle, typeof idle, typeof idle];

/** What happens to an instance until the next pass: none is committed before all have been told to. */
function after(all: Triple, answer: typeof idle, command: SyncerCommand | undefined): typeof idle {
  if (command !== undefined) {
    const after = { start: copy, pause: paused, resume: changes, commit: committing, reset: idle };
    if (command === 'repair') return copy;
    if (command === 'limits') return answer;
    return command === 'reverse' ? reversed(changes) : after[command];
  }
  if (answer === copy) return changes;
  const isCommitted = all.every((each) => each === committing || each === committed);
  return isCommitted && answer === committing ? committed : answer;
}

describe('the status of several instances', () => {
  type Case = readonly [
    string,
    readonly [InstanceScene, InstanceScene, InstanceScene],
    string,
    ClusterSyncSpec['state']?,
  ];
  const cases: readonly Case[] = [
    ['pods that are missing', ['no pod', idle, idle], 'Pending: False PodPending'],
    ['some that are started', [copy, idle, copy], 'Starting: False Starting'],
    ['some that still copy', [changes, copy, changes], 'InitialCopy: False InitialCopy'],
    ['all in sync', [changes, changes, changes], 'ChangeApplication: True InSync'],
    [
      'some that are paused',
      [changes, paused, changes],
      'ChangeApplication: False Pausing',
      'Paused',
    ],
    ['all paused', [paused, paused, paused], 'Paused: True Paused', 'Paused'],
    ['paused before all were started', [paused, idle, paused], 'Paused: True Paused', 'Paused'],
    [
      'one that runs while it is to be paused',
      [copy, idle, idle],
      'Starting: False Pausing',
      'Paused',
    ],
    ['some that have resumed', [changes, paused, changes], 'ChangeApplication: False Resuming'],
    [
      'one that cannot commit yet',
      [changes, changed(changes, { canCommit: false }), changes],
      'ChangeApplication: False WaitingForCanCommit',
      'Committed',
    ],
    [
      'some that commit',
      [committing, changes, committed],
      'ChangeApplication: False Committing',
      'Committed',
    ],
    [
      'some that commit, unasked',
      [committing, changes, changes],
      'ChangeApplication: False Committing',
    ],
    [
      'some that are committed',
      [committed, committing, committed],
      'Committing: False Committing',
      'Committed',
    ],
    ['all committed', [committed, committed, committed], 'Committed: True Committed', 'Committed'],
    [
      'one that does not answer',
      [changes, changes, away],
      'ChangeApplication: False SyncerUnreachable',
    ],
    [
      'one that has failed',
      [changes, failure('OplogRolledOver'), changes],
      'Stalled: False OplogRolledOver',
    ],
  ];
  for (const [what, scenes, expected, state = 'Running'] of cases) {
    it(`tells of ${what}`, () => {
      assert.equal(phaseAndReadiness(decideOn(shardedWorld(scenes), { state }).status), expected);
    });
  }

  it('adds up what was copied, takes the total once and the largest lag', () => {
    const reporting = (lagTimeSeconds: number, estimatedCopiedBytes: number) =>
      changed(changes, {
        lagTimeSeconds,
        collectionCopy: { estimatedTotalBytes: 1_000, estimatedCopiedBytes },
      });
    const { status } = decideOn(
      shardedWorld([reporting(3, 100), reporting(12, 200), reporting(0, 650)]),
    );
    assert.deepEqual(status.totals, {
      estimatedTotalBytes: 1_000,
      estimatedCopiedBytes: 950,
      percent: 100,
    });
    assert.equal(status.lagTimeSeconds, 12);
    assert.equal(status.readyInstances, '3/3');
  });

  it('knows no lag where one instance does not know its own', () => {
    const reporting = (lagTimeSeconds: number | null) => changed(changes, { lagTimeSeconds });
    const { status } = decideOn(shardedWorld([reporting(3), reporting(null), reporting(0)]));
    assert.equal(status.lagTimeSeconds, undefined);
    assert.match(phaseAndReadiness(status), /True CatchingUp$/);
    assert.match(readyMessage(status), /the lag is unknown/);
  });

  it('counts what an instance had copied that is being replaced', () => {
    const copied = (estimatedCopiedBytes: number) =>
      changed(copy, { collectionCopy: { estimatedTotalBytes: 1_000, estimatedCopiedBytes } });
    const former = decideOn(shardedWorld([copied(100), copied(200), copied(300)])).status;
    assert.equal(former.totals?.percent, 60);
    const { status } = decideOn(shardedWorld([copied(150), 'no pod', copied(300)]), {}, former);
    assert.equal(status.totals?.estimatedCopiedBytes, 650);
    assert.equal(status.readyInstances, '2/3');
    assert.equal(status.instances?.[1]?.error, 'there is no pod');
  });

  it('names those that are behind', () => {
    const { status } = decideOn(shardedWorld([changes, copy, copy]));
    assert.match(readyMessage(status), /waiting for shard-1, shard-2$/);
    assert.match(
      readyMessage(decideOn(shardedWorld([idle, 'no pod', idle])).status),
      /orders-syncer-1/,
    );
    assert.doesNotMatch(
      readyMessage(decideOn(shardedWorld([copy, copy, copy])).status),
      /waiting for/,
    );
  });

  it('shows the coordinator: who says so of itself, before those that have not heard of it', () => {
    const naming = (coordinatorID: string | null) => changed(changes, { coordinatorID });
    const coordinator = (...ids: [InstanceScene, InstanceScene, InstanceScene]) =>
      decideOn(shardedWorld(ids)).status.coordinatorID;
    assert.equal(coordinator(naming('shard-0'), naming('shard-0'), naming(null)), 'shard-0');
    assert.equal(coordinator(naming('shard-0'), naming('shard-1'), naming(null)), 'shard-0');
    assert.equal(
      coordinator({ ...away, answer: naming('shard-0') }, naming('shard-1'), naming('shard-0')),
      'shard-1',
    );
    assert.equal(coordinator(naming(null), naming(null), naming(null)), undefined);
  });

  it('has room for what all instances report', () => {
    const warnings = Array.from(
      { length: 2_500 },
      (_, index) => `warning ${index}: ${'x'.repeat(80)}`,
    );
    const long = changed(changes, { warnings });
    const ids = Array.from({ length: 256 }, (_, index) => `shard-${index}`);
    const { instances = [], ...rest } = decideOn(
      emptyWorld({
        token: 'token',
        pods: new Map(
          ids.map((_, index) => [
            `orders-syncer-${index}`,
            runningPod(`orders-syncer-${index}`, ids),
          ]),
        ),
        observations: new Map(ids.map((id) => [id, observationOf(long)])),
      }),
      {},
      { source: { kind: 'Sharded', shards: ids } },
    ).status;
    assert.equal(instances.length, 256);
    assert.ok(Buffer.byteLength(JSON.stringify({ instances, ...rest })) < 1.2 * 1024 * 1024);
    const shown = instances[0]?.progress?.['warnings'] as string[];
    assert.match(shown.at(-1) ?? '', /^and 24\d\d more$/);
    assert.equal(instances[0]?.progress?.['lagTimeSeconds'], 2);
    const few = decideOn(shardedWorld([long, changes, changes])).status;
    const most = few.instances?.[0]?.progress?.['warnings'] as string[];
    assert.ok(most.length > shown.length);
    assert.match(most.at(-1) ?? '', /^and 24\d\d more$/);
  });

  it('can commit only when all can', () => {
    const canCommit = (...scenes: [InstanceScene, InstanceScene, InstanceScene]) =>
      decideOn(shardedWorld(scenes)).status.canCommit;
    assert.equal(canCommit(changes, changes, changes), true);
    assert.equal(canCommit(changes, copy, changes), false);
    assert.equal(canCommit(changes, changes, away), false);
  });
});
