import assert from 'node:assert/strict';
import type { ClusterSync } from '../api/clustersync.ts';
import { findCondition } from '../kube/conditions.ts';
import { decide } from './decide.ts';
import {
  checking,
  committed,
  equal,
  follow,
  idle,
  running,
  verification,
  world,
} from './testing/worlds.ts';

/** A sync that goes forward, after this number of reversals. */
function reversed(reversals: number): ClusterSync {
  const progress = { state: 'COMMITTED', startedAt: 'first', reversals };
  return { ...committed, status: { ...committed.status, instances: [{ id: 'old', progress }] } };
}

describe('a SyncVerification of a sync that was reversed and reversed back unseen', () => {
  const before = { clusterSync: reversed(0) };
  const now = { clusterSync: reversed(2) };

  it('says nothing of the data any more where it has ended', () => {
    const [, end] = follow([running(checking, before), running(equal, before)]);
    assert.equal(end?.status?.verdict, 'Equal');
    assert.equal(decide(verification(end.status), world(before)).status, undefined);
    const { status, events } = decide(verification(end.status), world(now));
    const consistent = findCondition(status?.conditions, 'Consistent');
    assert.deepEqual([consistent?.status, consistent?.reason], ['Unknown', 'SyncReplaced']);
    assert.match(consistent?.message ?? '', /^the sync was reversed since.*started first, until/);
    assert.deepEqual(
      events.map(({ reason }) => reason),
      ['SyncReplaced'],
    );
  });

  it('starts over where it is under way', () => {
    const [, checked] = follow([running(idle, before), running(checking, before)]);
    const again = decide(verification(checked?.status), running(equal, now));
    assert.equal(again.status?.run?.attempt, 2);
    assert.equal(again.status.verdict, undefined);
    assert.match(again.events[0]?.note ?? '', /was reversed/);
  });

  it('names the data that it has compared', () => {
    const [, end] = follow([running(checking, now), running(equal, now)]);
    const { message } = findCondition(end?.status?.conditions, 'Consistent') ?? {};
    assert.match(message ?? '', /, started first, reversed 2 times, until /);
  });
});
