import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { createLogger } from '../../service/logger.ts';
import { LiveSync, type RecordPlace } from '../store/live-sync.ts';
import type { SyncRecord } from '../store/records.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { Group } from './group.ts';
import { Lease } from './lease.ts';

/** One of several instances, its record and its lease, in memory. The lease goes by a clock of its own. */
function ground(signal: AbortSignal) {
  const world = { isFree: true, taken: 0, looks: 0, nowMs: 0 };
  let record: SyncRecord = { ...reversibleSync(), phase: 'changes' };
  const unused = async (): Promise<never> => await Promise.reject(new Error('is not called'));
  const place: RecordPlace = {
    readSync: async () => {
      world.looks++;
      return await Promise.resolve(record);
    },
    ...{ updateSync: unused, addWarning: unused, setPaused: unused, receiveCommand: unused },
    lease: { read: async () => await Promise.resolve(null) },
  };
  const store = {
    take: async () => {
      world.taken++;
      return await Promise.resolve(world.isFree);
    },
    renew: async () => await Promise.resolve(world.isFree),
  };
  const lease = new Lease(store, true, () => [world.nowMs, world.nowMs]);
  const takeovers: number[] = [];
  const group = new Group({
    live: new LiveSync('syncer', record, () => place),
    store: { saveArrival: unused, readInstances: async () => await Promise.resolve(new Map()) },
    ...{ lease, id: 'syncer', signal, logger: createLogger('test', 'fatal') },
    monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
    reloadCatalog: unused,
    takeOver: async (sinceMs) => {
      takeovers.push(sinceMs);
      await Promise.resolve();
    },
    ...{ fixCommitTime: unused, yieldToPause: () => undefined },
  });
  /** Lets the lease become due, and waits until the group has looked twice since. */
  const passes = async (): Promise<void> => {
    world.nowMs += 3_000;
    const before = world.looks;
    while (world.looks < before + 2) await setImmediate();
  };
  const endPhase = (): void => {
    record = { ...record, phase: 'restoring' };
  };
  return { world, lease, group, takeovers, passes, endPhase };
}

describe('Group', () => {
  it('does not coordinate again before its work under an earlier lease has ended', async () => {
    const stop = new AbortController();
    const { world, lease, group, takeovers, passes, endPhase } = ground(stop.signal);
    const begun = Promise.withResolvers<undefined>();
    const held = Promise.withResolvers<undefined>();
    let runs = 0;
    const working = group.asCoordinator({
      phase: 'changes',
      run: async () => {
        runs++;
        begun.resolve(undefined);
        await held.promise;
        group.requireLease();
        endPhase();
      },
    });
    const watching = group.watch(stop.signal);
    await begun.promise;
    const first = lease.takenAtMs;
    assert.deepEqual(takeovers, [first]);

    world.isFree = false;
    await passes();
    assert.equal(lease.isHeld, false);
    world.isFree = true;
    await passes();
    assert.deepEqual([lease.isHeld, world.taken, runs], [false, 1, 1]);

    held.resolve(undefined);
    await working;
    // The work under the first lease has changed nothing; that under the second has, after it has taken over again.
    assert.deepEqual([world.taken, runs], [2, 2]);
    assert.deepEqual(takeovers, [first, lease.takenAtMs]);
    assert.notEqual(lease.takenAtMs, first);
    stop.abort();
    await assert.rejects(watching);
  });
});
