import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { ClusterSyncSpec, ClusterSyncStatus } from '../api/clustersync.ts';
import { findCondition, isConditionTrue } from '../kube/conditions.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import type { Decision, World } from './decision.ts';
import type { SyncerCommand } from './syncer-client.ts';
import {
  answers,
  decideOn,
  progress,
  refused,
  reversed,
  shardedWorld,
  type InstanceScene,
} from './testing/worlds.ts';

const { idle, changes, paused, committing, committed } = answers;
const handover = progress({ state: 'RUNNING', canCommit: false, info: 'handover' });
const back = { changes: reversed(changes), committed: reversed(committed) };
const away = {
  answer: committed,
  unreachable: { sinceMs: nowMs - 60_000, description: 'refused' },
};

const reverse = { reversible: true, direction: 'Reverse', state: 'Running' } as const;

type Three = readonly [InstanceScene, InstanceScene, InstanceScene];

/** The status of a sync of three shards that was committed in its original direction. */
function committedForward(): ClusterSyncStatus {
  const { status } = decideOn(shardedWorld([committed, committed, committed]), {
    reversible: true,
    state: 'Committed',
  });
  assert.equal(status.phase, 'Committed');
  return status;
}

function reversing(world: World, spec: Partial<ClusterSyncSpec> = {}): Decision {
  return decideOn(world, { ...reverse, ...spec }, committedForward());
}

describe('a committed sync that is to be reversed', () => {
  const all = ['reverse 0', 'reverse 1', 'reverse 2'];
  const cases: readonly (readonly [string, Three, Partial<ClusterSyncSpec>, readonly string[]])[] =
    [
      ['is reversed', [committed, committed, committed], {}, all],
      [
        'is reversed when it is to be committed',
        [committed, committed, committed],
        { state: 'Committed' },
        all,
      ],
      [
        'stays while it is to be paused',
        [committed, committed, committed],
        { state: 'Paused' },
        [],
      ],
      ['stays while it is suspended', [committed, committed, committed], { suspend: true }, []],
      ['waits for one that does not answer', [committed, away, committed], {}, []],
      ['waits for one without a pod', [committed, 'no pod', committed], {}, []],
      [
        'waits before a refused command is repeated',
        [
          { answer: committed, command: refused('reverse', 'WritesNotBlocked') },
          back.changes,
          back.changes,
        ],
        {},
        [],
      ],
      [
        'is told to those that have not had it',
        [back.changes, committed, handover],
        {},
        ['reverse 1'],
      ],
      [
        'is not committed before all are reversed',
        [back.changes, back.changes, handover],
        { state: 'Committed' },
        [],
      ],
      [
        'is committed then',
        [back.changes, back.changes, back.changes],
        { state: 'Committed' },
        ['commit 0', 'commit 1', 'commit 2'],
      ],
      ['is not committed unasked', [back.changes, back.changes, back.changes], {}, []],
      [
        'is paused',
        [back.changes, back.changes, handover],
        { state: 'Paused' },
        ['pause 0', 'pause 1', 'pause 2'],
      ],
      ['continues', [reversed(paused), back.changes, paused], {}, ['resume 0', 'resume 2']],
      ['is over', [back.committed, back.committed, back.committed], { state: 'Committed' }, []],
      ['is not begun where there is nothing', [idle, idle, idle], {}, []],
    ];
  for (const [what, scenes, spec, expected] of cases) {
    it(what, () => {
      const { commands } = reversing(shardedWorld(scenes), spec);
      const sent = commands.map(({ id, command }) => `${command.name} ${id.replace('shard-', '')}`);
      assert.deepEqual(sent, expected);
    });
  }

  it('is reversed again', () => {
    const { status } = reversing(shardedWorld([back.committed, back.committed, back.committed]), {
      state: 'Committed',
    });
    assert.equal(status.direction, 'Reverse');
    const again = decideOn(
      shardedWorld([back.committed, back.committed, back.committed]),
      { reversible: true },
      status,
    );
    assert.deepEqual(
      again.commands.map(({ command }) => command.name),
      ['reverse', 'reverse', 'reverse'],
    );
    assert.equal(again.status.phase, 'Reversing');
  });

  it('is not committed any more, and copied all the same', () => {
    const former = committedForward();
    assert.ok(former.committedAt !== undefined && former.direction === 'Forward');
    for (const scenes of [
      [committed, committed, committed],
      [handover, handover, back.changes],
    ] as const) {
      const { status, events } = reversing(shardedWorld(scenes));
      assert.deepEqual([status.phase, status.direction], ['Reversing', 'Forward']);
      assert.equal(findCondition(status.conditions, 'Ready')?.reason, 'Reversing');
      assert.ok(isConditionTrue(status.conditions, 'InitialCopyDone'));
      assert.equal(isConditionTrue(status.conditions, 'Committed'), false);
      assert.equal(status.committedAt, former.committedAt);
      assert.equal(status.startedAt, former.startedAt);
      assert.deepEqual(
        events.map(({ reason }) => reason),
        ['Reversing'],
      );
    }
  });

  it('says which way it goes once all do', () => {
    const { status, events } = reversing(shardedWorld([back.changes, back.changes, back.changes]));
    assert.deepEqual(
      [status.phase, status.direction, status.canCommit],
      ['ChangeApplication', 'Reverse', true],
    );
    assert.equal(findCondition(status.conditions, 'Ready')?.reason, 'InSync');
    assert.deepEqual(
      events.map(({ reason }) => reason),
      ['Reversed'],
    );
  });

  it('tells why it is refused', () => {
    const command = refused('reverse', 'WritesNotBlocked');
    const { status } = reversing(
      shardedWorld([{ answer: committed, command }, committed, committed]),
    );
    assert.equal(status.phase, 'Stalled');
    assert.match(
      findCondition(status.conditions, 'Stalled')?.message ?? '',
      /shard-0 refuses reverse with WritesNotBlocked/,
    );
  });

  it('is stalled where there is nothing to be reversed', () => {
    const { status, commands } = decideOn(shardedWorld([idle, idle, idle]), reverse);
    assert.deepEqual(commands, []);
    assert.equal(findCondition(status.conditions, 'Stalled')?.reason, 'NothingToReverse');
  });

  it('is never restarted by a syncer that has lost its state, whichever way it goes', () => {
    const isIdle = shardedWorld([idle, idle, idle]);
    const forward = { reversible: true, state: 'Running' } as const;
    const turned = reversing(shardedWorld([committed, committed, committed])).status;
    const gone = reversing(shardedWorld([back.committed, back.committed, back.committed])).status;
    for (const [spec, former] of [
      [reverse, committedForward()],
      [reverse, turned],
      [forward, turned],
      [forward, gone],
    ] as const) {
      const { commands, status } = decideOn(isIdle, spec, former);
      assert.deepEqual(commands, []);
      assert.equal(findCondition(status.conditions, 'Stalled')?.reason, 'NothingToReverse');
    }
  });

  it('gets there in the end, even if some are away or refuse meanwhile', () => {
    const mood = fc.constantFrom('well', 'away', 'gone', 'refusing');
    const three = fc.tuple(mood, mood, mood);
    const well = ['well', 'well', 'well'] as const;
    fc.assert(
      fc.property(
        fc.array(three, { maxLength: 8 }),
        fc.constantFrom('Running', 'Committed'),
        (moods, state) => {
          let status = committedForward();
          let states: Answers = [committed, committed, committed];
          for (const now of [...moods, ...Array.from({ length: 10 }, () => well)]) {
            const scene = (index: 0 | 1 | 2): InstanceScene => {
              if (now[index] === 'gone') return 'no pod';
              return now[index] === 'away' ? { ...away, answer: states[index] } : states[index];
            };
            const decision = decideOn(
              shardedWorld([scene(0), scene(1), scene(2)]),
              { ...reverse, state },
              status,
            );
            ({ status } = decision);
            const taken = new Map(decision.commands.map(({ id, command }) => [id, command.name]));
            const isCommit = [...taken.values()].includes('commit');
            assert.ok(!isCommit || states.every((each) => each !== committed && each !== handover));
            const next = (index: 0 | 1 | 2) => {
              const command = now[index] === 'refusing' ? undefined : taken.get(`shard-${index}`);
              return after(states, states[index], command);
            };
            states = [next(0), next(1), next(2)];
          }
          const end = state === 'Running' ? 'InSync' : 'Committed';
          assert.equal(findCondition(status.conditions, 'Ready')?.reason, end);
          assert.equal(status.direction, 'Reverse');
        },
      ),
    );
  });
});

type Answers = readonly [typeof idle, typeof idle, typeof idle];

const backCommitting = reversed(committing);

/** What happens to an instance until the next pass: none is reversed, or committed, before all have been told to. */
function after(all: Answers, answer: typeof idle, command: SyncerCommand | undefined): typeof idle {
  if (command === 'reverse') return handover;
  if (command === 'commit') return backCommitting;
  assert.equal(command, undefined);
  if (answer === handover && all.every((each) => each !== committed)) return back.changes;
  const isCommitted = all.every((each) => each === backCommitting || each === back.committed);
  return isCommitted && answer === backCommitting ? back.committed : answer;
}
