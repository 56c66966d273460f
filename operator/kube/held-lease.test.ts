import assert from 'node:assert/strict';
import type { Lease } from './builtin-resources.ts';
import type { KubeClient } from './client.ts';
import { HeldLease } from './held-lease.ts';
import { FakeClock } from './testing/fake-clock.ts';

describe('HeldLease', () => {
  it('is held for its duration from when the renewal was sent, however late the answer comes', async () => {
    const clock = new FakeClock();
    const answerMs = 3_000;
    const client = {
      find: async () => {
        await Promise.resolve(undefined);
      },
      replace: async (_resource: unknown, lease: Lease) => {
        await clock.advance(answerMs);
        return lease;
      },
    } as unknown as KubeClient;
    const lease = new HeldLease({
      ...{ client, clock, namespace: 'shop', name: 'owner', identity: 'one' },
      ...{ leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 },
    });
    const { signal } = new AbortController();
    assert.deepEqual(await lease.tryToHold(signal), { kind: 'held' });
    assert.equal(lease.renewableMs, 10_000 - answerMs);
    await clock.advance(15_000 - answerMs - 1);
    assert.equal(lease.isHeld, true);
    await clock.advance(1);
    assert.equal(lease.isHeld, false);
  });
});
