import assert from 'node:assert/strict';
import { findCondition } from '../kube/conditions.ts';
import { decide } from './decide.ts';
import { answers, changed, clusterSync, runningWorld } from './testing/worlds.ts';

describe('the status of a ClusterSync that can not be committed yet', () => {
  it('says what keeps a commit from being taken, as far as there is room', () => {
    const waiting = (text: string) =>
      changed(answers.changes, {
        canCommit: false,
        warnings: ['indexes: 1 left', `commit: not possible now: ${text}`, 'commit: later'],
      });
    const world = runningWorld(waiting('cluster1 has not answered for 7 s'));
    const running = decide(clusterSync(), world).status;
    assert.equal(
      findCondition(running.conditions, 'CanCommit')?.message,
      'changes from the source are being applied; old: cluster1 has not answered for 7 s',
    );
    const committing = decide(clusterSync({ state: 'Committed' }), world).status;
    assert.equal(
      findCondition(committing.conditions, 'Ready')?.message,
      'the operator sends the commit once every instance can commit; old: cluster1 has not answered for 7 s',
    );
    const long = decide(clusterSync(), runningWorld(waiting('x'.repeat(100_000)))).status;
    const message = findCondition(long.conditions, 'CanCommit')?.message ?? '';
    assert.ok(message.length > 500 && message.length < 600, String(message.length));
    const odd = changed(answers.changes, { canCommit: false, warnings: { 0: 'commit: ' } });
    assert.equal(
      findCondition(decide(clusterSync(), runningWorld(odd)).status.conditions, 'CanCommit')
        ?.message,
      'changes from the source are being applied',
    );
  });
});
