import assert from 'node:assert/strict';
import type { ClusterSyncStatus } from '../api/clustersync.ts';
import { hashOfOptions } from '../commit/hold.ts';
import { commitSettledMs } from '../commit/plan.ts';
import { findCondition } from '../kube/conditions.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import type { Decision, World } from './decision.ts';
import { decideIn, holdOf, views, withWeb } from './testing/automatic-commits.ts';
import { answers, changed, resetAndIdle, runningWorld } from './testing/worlds.ts';

const source = { kind: 'ReplicaSet', shards: ['rs'] } as const;
const resetting: ClusterSyncStatus = {
  source,
  startedAt: '2026-01-01T00:00:00Z',
  startOver: { token: 'one', state: 'Resetting' },
};
const spec = { commit: withWeb, startOver: { token: 'one', destination: 'Clean' } } as const;
const sent = holdOf(withWeb, { commitSentMs: nowMs - commitSettledMs - 1_000 });
/** What a syncer reports that knows of no sync. */
const idle = changed(answers.idle, { commitUnderWay: null });
const reset = runningWorld(undefined, { observation: { ...resetAndIdle, answer: idle } });

/** While the application is at zero, since a commit that was sent. */
function decided(world: World, status: ClusterSyncStatus, hold = sent): Decision {
  return decideIn(world, spec, { hold, workloads: views(0) }, status);
}

describe('spec.startOver after a commit that was sent, and not carried out', () => {
  it('ends the attempt once the sync is known to have ended', () => {
    const { commit } = decided(reset, resetting);
    assert.equal(commit.kind === 'record' && commit.hold.ending, 'NotAskedFor');
  });

  it('scales back while the sync has not begun again, and waits where it may have', () => {
    const { startOver } = decided(reset, resetting).status;
    const ended = { ...sent, ending: 'NotAskedFor' } as const;
    const over: ClusterSyncStatus = { ...(startOver && { startOver }), source };
    assert.equal(decided(runningWorld(idle), over, ended).commit.kind, 'record');
    const begun = { ...over, startedAt: '2026-01-01T00:00:00Z' };
    const { commit, status } = decided(runningWorld(idle), begun, ended);
    assert.equal(commit.kind, 'none');
    const ready = findCondition(status.conditions, 'Ready');
    assert.equal(ready?.reason, 'CommitUnknown');
  });
});

describe('spec.startOver after a missed deadline', () => {
  it('stops nothing again for the same options', () => {
    const missedOptions = hashOfOptions(withWeb);
    const { status } = decideIn(reset, spec, {}, { ...resetting, commit: { missedOptions } });
    assert.equal(status.startOver?.state, 'Done');
    assert.deepEqual(status.commit, { missedOptions });
  });
});
