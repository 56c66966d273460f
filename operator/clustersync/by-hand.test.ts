import assert from 'node:assert/strict';
import type { ClusterSyncSpec } from '../api/clustersync.ts';
import type { Hold } from '../commit/hold.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import type { World } from './decision.ts';
import { commandsIn, decideIn, holdOf, views, withWeb } from './testing/automatic-commits.ts';
import { answers, changed, manual, runningWorld } from './testing/worlds.ts';

/** As after `kubectl patch` with `{"spec": {"state": "Committed", "commit": null}}`. */
const byHand = { state: 'Committed', commit: manual } as const;
const laggard = changed(answers.changes, { lagTimeSeconds: 99, commitUnderWay: false });

/** The step and the commands, while the application is at zero. */
function decided(
  world: World,
  held: Partial<Hold>,
  spec: Partial<ClusterSyncSpec> = byHand,
): readonly [string, readonly string[]] {
  const commit = { hold: holdOf(withWeb, held), workloads: views(0) };
  const decision = decideIn(world, spec, commit);
  return [decision.commit.kind, commandsIn(decision)];
}

describe('a commit by hand while an application is held at zero', () => {
  const sent = { commitSentMs: nowMs - 1_000 };

  it('is sent once that is on record, whatever the lag', () => {
    assert.deepEqual(decided(runningWorld(laggard), {}), ['record', []]);
    assert.deepEqual(decided(runningWorld(laggard), sent), ['send', ['commit old']]);
  });

  it('leaves the application at zero while it is being sent', () => {
    const command = { name: 'commit', kind: 'sending' } as const;
    assert.deepEqual(decided(runningWorld(laggard, { observation: { command } }), sent), [
      'send',
      [],
    ]);
  });

  it('is not recorded as sent before it can be', () => {
    const unable = changed(answers.changes, { canCommit: false });
    assert.deepEqual(decided(runningWorld(unable), {}), ['none', []]);
    const { paused } = answers;
    assert.deepEqual(decided(runningWorld(paused), {}), ['none', ['resume old']]);
  });

  it('is not kept from being sent by a hold of the other direction, nor of a commit that was carried out', () => {
    const carriedOut = { ...sent, afterCommit: 'ScaleBack' } as const;
    for (const held of [{ direction: 'Reverse' }, carriedOut] as const)
      assert.deepEqual(decided(runningWorld(laggard), held)[1], ['commit old']);
  });

  it('has no deadline', () => {
    const commit = { hold: holdOf(withWeb), workloads: views(0) };
    const { status } = decideIn(runningWorld(laggard), byHand, commit);
    assert.deepEqual(Object.keys(status.commit ?? {}), ['heldSince', 'workloads']);
  });
});
