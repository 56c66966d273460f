import assert from 'node:assert/strict';
import type { ClusterSync, ClusterSyncSpec, ClusterSyncStatus } from '../api/clustersync.ts';
import { findCondition } from '../kube/conditions.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { decide } from './decide.ts';
import type { Decision, World } from './decision.ts';
import { optionsDigestHeader } from '../../sync-api/headers.ts';
import { wantedDigest } from './identity.ts';
import { resetFinalizer } from './on-record.ts';
import {
  answers,
  changed,
  clusterSync,
  emptyWorld,
  phaseAndReadiness,
  readyMessage,
  resetAndIdle,
  reversed,
  runningWorld,
  shardedWorld,
  threeShards,
} from './testing/worlds.ts';

const { idle, copy, changes, paused, committing, committed } = answers;

const failed = {
  kind: 'error',
  error: { name: 'OplogRolledOver', description: 'gone', isLasting: true },
} as const;

const replicaSet = { kind: 'ReplicaSet', shards: ['rs'] } as const;

const begun: ClusterSyncStatus = { source: replicaSet, startedAt: '2026-01-01T00:00:00Z' };

const startOver = { token: 'one', destination: 'Clean' } as const;

function deleted(
  spec: Partial<ClusterSyncSpec>,
  status: ClusterSyncStatus = begun,
  finalizers: readonly string[] = [resetFinalizer],
): ClusterSync {
  const sync = clusterSync(spec, status);
  const deletionTimestamp = '2026-01-01T11:00:00Z';
  return { ...sync, metadata: { ...sync.metadata, deletionTimestamp, finalizers } };
}

const commandsOf = ({ commands }: Decision): readonly string[] =>
  commands.map(({ command: { name, body } }) => `${name} ${JSON.stringify(body)}`);

const clean = 'reset {"destination":"Clean"}';

/** An instance that has just refused a reset with this error. */
function refusing(name: string): World {
  const error = { name, description: 'in use', isLasting: true };
  const refused = { name: 'reset', kind: 'refused', error, attempts: 1 } as const;
  const command = { ...refused, endedMs: nowMs, retryAtMs: nowMs + 1000 };
  return runningWorld(changes, { observation: { command } });
}

describe('spec.startOver', () => {
  for (const [name, answer] of Object.entries({ copy, changes, paused, failed })) {
    it(`in ${name}: has the sync reset, and nothing else`, () => {
      const decision = decide(clusterSync({ startOver }, begun), runningWorld(answer));
      assert.deepEqual(commandsOf(decision), [clean]);
      assert.deepEqual(decision.status.startOver, { token: 'one', state: 'Resetting' });
      assert.equal(decision.status.canCommit, false);
    });
  }

  it('has a sync reset that was started with other options, whichever that is', () => {
    const other = changed(changes, { optionsDigest: 'of another sync' });
    const decision = decide(clusterSync({ startOver }, begun), runningWorld(other));
    assert.deepEqual(commandsOf(decision), [clean]);
    assert.deepEqual(decision.commands[0]?.command.headers, {});
    assert.match(readyMessage(decision.status), /the sync is being ended/);
    const inUse = changed(committed, { optionsDigest: 'of another sync' });
    const refused = decide(clusterSync({ startOver }, begun), runningWorld(inUse));
    assert.deepEqual(commandsOf(refused), []);
    assert.equal(refused.status.startOver?.state, 'Refused');
  });

  it('records that it is done before the sync is started again, of which nothing is kept', () => {
    const status = {
      ...begun,
      startOver: { token: 'one', state: 'Resetting' },
      totals: { estimatedTotalBytes: 1, estimatedCopiedBytes: 1, percent: 100 },
    } as const;
    const reset = runningWorld(undefined, { observation: resetAndIdle });
    const first = decide(clusterSync({ startOver }, status), reset);
    assert.deepEqual(first.commands, []);
    const { startOver: recorded, source, startedAt, totals, instances } = first.status;
    assert.deepEqual(recorded, { token: 'one', state: 'Done' });
    assert.deepEqual([source, startedAt, totals, instances], Array(4).fill(undefined));
    assert.equal(first.requeueAfterMs, 0);

    const next = { ...first.status, source: replicaSet };
    const second = decide(clusterSync({ startOver }, next), runningWorld(idle));
    assert.match(commandsOf(second).join(), /^start /);
    assert.deepEqual(second.status.startOver, { token: 'one', state: 'Done' });
  });

  it('is not repeated for a token that is done, nor when it is taken out again', () => {
    const status = { ...begun, startOver: { token: 'one', state: 'Done' } } as const;
    for (const spec of [{ startOver }, {}]) {
      for (const answer of [copy, changes, failed]) {
        const decision = decide(clusterSync(spec, status), runningWorld(answer));
        assert.deepEqual(decision.commands, []);
        assert.deepEqual(decision.status.startOver, status.startOver);
      }
    }
    const other = { startOver: { ...startOver, token: 'two' } };
    assert.deepEqual(commandsOf(decide(clusterSync(other, status), runningWorld(copy))), [clean]);
  });

  const used: Readonly<Record<string, readonly [ClusterSyncStatus, World]>> = {
    'is committed': [begun, runningWorld(committed)],
    'lets users write to the destination': [
      begun,
      runningWorld(changed(committing, { canWrite: true })),
    ],
    'is committed by one of its instances': [
      { ...begun, ...threeShards },
      shardedWorld([committed, changes, committing]),
    ],
    'was committed, and goes back': [
      { ...begun, committedAt: '2026-01-01T10:00:00Z' },
      runningWorld(reversed(changes)),
    ],
    'was committed, and has lost its state': [
      { ...begun, committedAt: '2026-01-01T10:00:00Z' },
      runningWorld(idle),
    ],
  };
  for (const [what, [status, world]] of Object.entries(used)) {
    it(`is refused for a sync that ${what}, whatever is to become of the destination`, () => {
      for (const destination of ['Keep', 'Unblock', 'Clean'] as const) {
        const spec = { startOver: { token: 'one', destination }, reversible: true };
        const decision = decide(clusterSync(spec, status), world);
        assert.ok(!commandsOf(decision).some((command) => /^(reset|start)/.test(command)));
        assert.deepEqual(decision.status.startOver, { token: 'one', state: 'Refused' });
        assert.ok(decision.events.some(({ reason }) => reason === 'StartOverRefused'));
      }
    });
  }

  it('waits for a commit that is being carried out', () => {
    const decision = decide(clusterSync({ startOver }, begun), runningWorld(committing));
    assert.deepEqual(decision.commands, []);
    assert.match(readyMessage(decision.status), /waiting for the commit in progress/);
  });

  it('commits nothing by itself meanwhile', () => {
    const commit = { ...clusterSync().spec.commit, mode: 'Automatic' } as const;
    const decision = decide(clusterSync({ startOver, commit }, begun), runningWorld(changes));
    assert.deepEqual(commandsOf(decision), [clean]);
    assert.deepEqual(decision.commit, { kind: 'none' });
  });

  it('tells all instances, and is done when all know of no sync', () => {
    const status = { ...threeShards, startedAt: '2026-01-01T00:00:00Z' };
    const sync = clusterSync({ startOver }, status);
    const all = decide(sync, shardedWorld([idle, changes, failed]));
    assert.deepEqual(commandsOf(all), [clean, clean, clean]);
    const missing = decide(sync, shardedWorld([idle, idle, 'no pod']));
    assert.deepEqual(commandsOf(missing), [clean, clean]);
    assert.equal(missing.status.startOver?.state, 'Resetting');
    const unasked = decide(sync, shardedWorld([resetAndIdle, idle, resetAndIdle]));
    assert.deepEqual(commandsOf(unasked), [clean, clean, clean]);
    assert.equal(unasked.status.startOver?.state, 'Resetting');
    const done = decide(sync, shardedWorld([resetAndIdle, resetAndIdle, resetAndIdle]));
    assert.equal(done.status.startOver?.state, 'Done');
  });

  it('takes no answer of before a reset for its end', () => {
    const taken = { name: 'reset', kind: 'taken', endedMs: nowMs - 50 } as const;
    const observation = { command: taken, askedMs: nowMs - 100 };
    const before = decide(clusterSync({ startOver }, begun), runningWorld(idle, { observation }));
    assert.equal(before.status.startOver?.state, 'Resetting');
    const after = decide(
      clusterSync({ startOver }, begun),
      runningWorld(idle, { observation: { ...observation, askedMs: nowMs - 10 } }),
    );
    assert.equal(after.status.startOver?.state, 'Done');
  });

  it('takes no answer for its end that a start may have made untrue, or that is not of now', () => {
    const status = { ...begun, startOver: { token: 'one', state: 'Resetting' } } as const;
    const stateOf = (observation: Parameters<typeof runningWorld>[1]): string | undefined => {
      const { status: shown } = decide(
        clusterSync({ startOver }, status),
        runningWorld(idle, observation),
      );
      return shown.startOver?.state;
    };
    const sending = { name: 'start', kind: 'sending' } as const;
    assert.equal(stateOf({ observation: { command: sending } }), 'Resetting');
    const askedMs = nowMs - 100;
    const taken = { name: 'reset', kind: 'taken', endedMs: askedMs } as const;
    assert.equal(stateOf({ observation: { command: taken, askedMs } }), 'Resetting');
    const unreachable = { sinceMs: nowMs - 1_000, description: 'no route' };
    assert.equal(stateOf({ observation: { unreachable } }), 'Resetting');
    // Its answer was lost: the command may have been accepted after the instance was asked.
    const error = { name: 'Unreachable', description: 'no answer', isLasting: false };
    const lost = { name: 'start', kind: 'refused', error, attempts: 1, endedMs: askedMs } as const;
    const command = { ...lost, retryAtMs: nowMs + 1_000 };
    assert.equal(stateOf({ observation: { command, askedMs } }), 'Resetting');
    assert.equal(stateOf({ observation: { command, askedMs: askedMs + 1 } }), 'Done');
    // The instance may still work on the unanswered command, and reports IDLE until a sync is stored.
    for (const name of ['start', 'reset'] as const) {
      const open = { ...command, name, error: { ...error, isUnanswered: true } } as const;
      assert.equal(stateOf({ observation: { command: open, askedMs: askedMs + 1 } }), 'Resetting');
    }
    const answered = { observation: { command: taken, askedMs: askedMs + 1 } };
    assert.equal(stateOf(answered), 'Done');
    // A previous operator may have sent it a start, and ended before the answer came.
    assert.equal(stateOf({}), 'Resetting');
  });

  it('is not done where no instance is known that could say so', () => {
    const world = runningWorld(undefined, { observations: new Map() });
    const decision = decide(clusterSync({ startOver }, {}), world);
    assert.equal(decision.status.startOver?.state, 'Resetting');
    const ended = decide(deleted({ onDelete: 'Clean' }, { startedAt: '2026-01-01' }), world);
    assert.equal(ended.isEnded, false);
    assert.equal(ended.finalizers, undefined);
  });

  it('is refused for a sync that has just committed, before users may write', () => {
    const answer = changed(committed, { canWrite: false, optionsDigest: 'of another sync' });
    const decision = decide(clusterSync({ startOver }, begun), runningWorld(answer));
    assert.deepEqual(decision.commands, []);
    assert.equal(decision.status.startOver?.state, 'Refused');
  });

  it('ends a commit that has stopped, of which some instances do not say that they carry it out', () => {
    const status = { ...threeShards, startedAt: '2026-01-01T00:00:00Z' };
    const sync = clusterSync({ startOver }, status);
    const stopped = decide(sync, shardedWorld([committing, committing, failed]));
    assert.deepEqual(commandsOf(stopped), [clean, clean, clean]);
    const going = decide(sync, shardedWorld([committing, committing, committing]));
    assert.deepEqual(commandsOf(going), []);
  });

  it('does nothing about a destination that is of another ClusterSync', () => {
    const claim = {
      kind: 'taken',
      host: 'db:27017',
      holder: { namespace: 'other', name: 'first', uid: 'uid' },
    } as const;
    for (const answer of [changes, idle]) {
      const world = { ...runningWorld(answer), claim };
      const decision = decide(clusterSync({ startOver }, begun), world);
      assert.deepEqual(decision.commands, []);
      assert.equal(decision.status.startOver, undefined);
    }
  });

  it('is stalled by what an instance refuses it with', () => {
    const { status } = decide(clusterSync({ startOver }, begun), refusing('CleanNotAllowed'));
    assert.equal(phaseAndReadiness(status), 'Stalled: False CleanNotAllowed');
  });

  it('changes nothing of a ClusterSync that is suspended', () => {
    const sync = clusterSync({ startOver, suspend: true }, begun);
    const decision = decide(sync, runningWorld(changes));
    assert.deepEqual(decision.commands, []);
    assert.equal(decision.status.startOver, undefined);
  });
});

describe('spec.onDelete', () => {
  it('ends the sync of its ClusterSync alone: the command says which, and another sync is left', () => {
    const sync = deleted({ onDelete: 'Clean' });
    const [sent] = decide(sync, runningWorld(changes)).commands;
    assert.deepEqual(sent?.command.headers, { [optionsDigestHeader]: wantedDigest(sync) });
    const other = changed(changes, { optionsDigest: 'of another sync' });
    const decision = decide(sync, runningWorld(other));
    assert.deepEqual(decision.commands, []);
    assert.equal(decision.isEnded, true);
  });

  it('is done where the destination holds another sync, which only the answer to the reset says', () => {
    assert.equal(decide(deleted({ onDelete: 'Clean' }), refusing('DifferentSync')).isEnded, true);
    assert.equal(decide(deleted({ onDelete: 'Clean' }), refusing('ResetUnderWay')).isEnded, false);
  });

  it('asks for a finalizer before anything is made, and gives it back with Keep', () => {
    for (const onDelete of ['Unblock', 'Clean'] as const) {
      const { finalizers } = decide(clusterSync({ onDelete }), emptyWorld());
      assert.deepEqual(finalizers, [resetFinalizer]);
    }
    assert.equal(decide(clusterSync(), emptyWorld()).finalizers, undefined);
    const sync = clusterSync();
    const kept = {
      ...sync,
      metadata: { ...sync.metadata, finalizers: ['other', resetFinalizer] },
    };
    assert.deepEqual(decide(kept, emptyWorld()).finalizers, ['other']);
  });

  it('has the sync reset, then lets the ClusterSync go', () => {
    const sync = deleted({ onDelete: 'Clean' });
    for (const answer of [copy, changes, paused, failed]) {
      const decision = decide(sync, runningWorld(answer));
      assert.deepEqual(commandsOf(decision), [clean]);
      assert.equal(decision.finalizers, undefined);
      assert.match(readyMessage(decision.status), /set spec\.onDelete to Keep$/);
    }
    // It may be working on a start that a previous operator has sent.
    assert.deepEqual(commandsOf(decide(sync, runningWorld(idle))), [clean]);
    const done = decide(sync, runningWorld(undefined, { observation: resetAndIdle }));
    assert.deepEqual(done.commands, []);
    assert.deepEqual(done.finalizers, []);
  });

  it('says that it cannot be done, and how to get out: with Keep it goes at once', () => {
    const unreachable = { sinceMs: nowMs - 60_000, description: 'no route' };
    const gone = runningWorld(undefined, { observation: { unreachable } });
    const { status, finalizers } = decide(deleted({ onDelete: 'Clean' }), gone);
    assert.equal(finalizers, undefined);
    assert.match(readyMessage(status), /no route.*; to release it as it is, set spec\.onDelete to/);
    const kept = decide(deleted({ onDelete: 'Keep' }), gone);
    assert.deepEqual(kept.finalizers, []);
    assert.deepEqual(kept.commands, []);
  });

  it('resets nothing of a sync that is committed, was never begun, or is of another ClusterSync', () => {
    const claim = {
      kind: 'taken',
      host: 'db:27017',
      holder: { namespace: 'other', name: 'first', uid: 'uid' },
    } as const;
    const cases: readonly (readonly [ClusterSync, World])[] = [
      [deleted({ onDelete: 'Clean' }), runningWorld(committed)],
      [
        deleted({ onDelete: 'Clean' }, { ...begun, committedAt: '2026-01-01T10:00:00Z' }),
        runningWorld(reversed(changes)),
      ],
      [deleted({ onDelete: 'Clean' }, {}), emptyWorld()],
      [deleted({ onDelete: 'Clean' }), { ...runningWorld(changes), claim }],
    ];
    for (const [sync, world] of cases) {
      const decision = decide(sync, world);
      assert.deepEqual(decision.commands, []);
      assert.deepEqual(decision.finalizers, []);
    }
  });

  it('does not say that nothing is left where the destination is that of another one by now', () => {
    const holder = { namespace: 'other', name: 'first', uid: 'uid' };
    const claim = { kind: 'taken', host: 'db:27017', holder } as const;
    const sync = deleted({ onDelete: 'Clean' });
    assert.equal(decide(sync, { ...runningWorld(changes), claim }).isLeft, true);
    assert.equal(decide(sync, runningWorld(idle)).isLeft, false);
    const inUse = decide(sync, runningWorld(changed(committing, { canWrite: true })));
    assert.deepEqual([inUse.isEnded, inUse.isReset, inUse.isLeft], [true, false, true]);
    assert.equal(decide(sync, runningWorld(committed)).isLeft, false);
    const reset = decide(sync, runningWorld(undefined, { observation: resetAndIdle }));
    assert.deepEqual([reset.isEnded, reset.isReset, reset.isLeft], [true, true, false]);
    const never = deleted({ onDelete: 'Clean' }, {});
    assert.equal(decide(never, emptyWorld()).isReset, false);
    assert.equal(decide(never, { ...emptyWorld(), claim }).isLeft, false);
  });

  it('does not take a connection string that cannot be read for the end of the sync', () => {
    const claim = { kind: 'unreadable', isHeld: true } as const;
    const decision = decide(deleted({ onDelete: 'Clean' }), { ...runningWorld(changes), claim });
    assert.equal(decision.isEnded, false);
    assert.equal(decision.finalizers, undefined);
    assert.match(
      readyMessage(decision.status),
      /is invalid.*; to release it as it is, set spec\.onDelete to Keep$/,
    );
    // The running pods have read another one: they can end it.
    assert.deepEqual(commandsOf(decision), [clean]);
    const reset = { ...runningWorld(undefined, { observation: resetAndIdle }), claim };
    assert.deepEqual(decide(deleted({ onDelete: 'Clean' }), reset).finalizers, []);
  });

  it('lets go what was started over, and not begun again, while the source is not known', () => {
    const world = { ...runningWorld(undefined), observations: new Map(), pods: new Map() };
    const over = { token: 'one', state: 'Done' } as const;
    const done = decide(deleted({ onDelete: 'Clean' }, { startOver: over }), world);
    assert.deepEqual([done.isEnded, done.finalizers], [true, []]);
    // Nothing shows that there is none, nor that there is a commit.
    const unknown = decide(deleted({ onDelete: 'Clean' }, {}), world);
    assert.equal(unknown.isEnded, false);
    assert.doesNotMatch(readyMessage(unknown.status), /commit/);
    assert.match(readyMessage(unknown.status), /set spec\.onDelete to Keep$/);
  });

  it('resets what may have begun, though nothing of it runs, or its begin is not on record', () => {
    const withoutPods = decide(deleted({ onDelete: 'Clean' }), emptyWorld());
    assert.equal(withoutPods.isEnded, false);
    assert.notEqual(withoutPods.objects, undefined);
    const { startedAt: _, ...unrecorded } = begun;
    const justMade = decide(deleted({ onDelete: 'Clean' }, unrecorded), runningWorld(changes));
    assert.equal(justMade.isEnded, false);
    assert.deepEqual(commandsOf(justMade), [clean]);
  });

  it('waits, where the ClusterSync is suspended, and says so', () => {
    const sync = deleted({ onDelete: 'Clean', suspend: true });
    const decision = decide(sync, runningWorld(changes));
    assert.deepEqual(decision.commands, []);
    assert.equal(decision.finalizers, undefined);
    assert.match(readyMessage(decision.status), /spec\.suspend prevents the reset of the sync/);
    // The sync exists, and is shown as it is.
    const { phase } = decide(clusterSync({ suspend: true }, begun), runningWorld(changes)).status;
    assert.equal(decision.status.phase, phase);
  });

  it('does nothing for one that is deleted without its finalizer, or whose pods Kubernetes deletes first', () => {
    const without = decide(deleted({ onDelete: 'Clean' }, begun, []), runningWorld(changes));
    assert.deepEqual([without.commands, without.objects], [[], undefined]);
    // The server accepts no new one.
    assert.equal(without.finalizers, undefined);
    const finalizers = [resetFinalizer, 'foregroundDeletion'];
    const foreground = decide(
      deleted({ onDelete: 'Clean' }, begun, finalizers),
      runningWorld(undefined, { pods: new Map() }),
    );
    assert.equal(foreground.objects, undefined);
    const stalled = findCondition(foreground.status.conditions, 'Stalled');
    assert.equal(stalled?.reason, 'DeletedInForeground');
  });
});
