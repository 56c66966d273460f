import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { Timestamp } from 'mongodb';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { createLogger } from '../../service/logger.ts';
import { LiveSync, type RecordPlace } from '../store/live-sync.ts';
import type { InstanceRecord, SyncRecord } from '../store/records.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { Group, type GroupParts } from './group.ts';
import { Lease, LeaseLost } from './lease.ts';

/** A change of the catalog, and an earlier one. */
const place = { text: '82b', time: new Timestamp({ t: 20, i: 1 }) };
const earlier = '82a';

const instance: InstanceRecord = {
  ...{ incarnation: 'x', resumeToken: null, appliedTime: null, copiedBytes: 0, eventsApplied: 0 },
  ...{ isCopied: true, arrivedAt: null, claims: 1, heartbeatAt: new Date() },
};

/** One of several instances, its record and its lease, in memory. The lease goes by a clock of its own. */
function ground(
  signal: AbortSignal,
  { first, ...parts }: Partial<GroupParts> & { readonly first?: Partial<SyncRecord> } = {},
) {
  const world = { isFree: true, taken: 0, looks: 0, nowMs: 0 };
  let record: SyncRecord = { ...reversibleSync(), phase: 'changes', ...first };
  const updates: (readonly [Partial<SyncRecord>, Partial<SyncRecord> | undefined])[] = [];
  const unused = async (): Promise<never> => await Promise.reject(new Error('is not called'));
  const recordPlace: RecordPlace = {
    readSync: async () => {
      world.looks++;
      return await Promise.resolve(record);
    },
    updateSync: async (change, expected) => {
      updates.push([change, expected]);
      record = { ...record, ...change };
      return await Promise.resolve(true);
    },
    ...{ addWarning: unused, setPaused: unused, receiveCommand: unused },
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
    live: new LiveSync('syncer', record, () => recordPlace),
    store: { saveArrival: unused, readInstances: async () => await Promise.resolve(new Map()) },
    ...{ lease, id: 'syncer', signal, logger: createLogger('test', 'fatal') },
    monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
    reloadCatalog: unused,
    takeOver: async (sinceMs) => {
      takeovers.push(sinceMs);
      await Promise.resolve();
    },
    ...{ fixCommitTime: unused, areChangesLimited: () => false, yieldToPause: () => undefined },
    ...parts,
  });
  /** Lets the lease become due, and waits until the group has looked twice since. */
  const passes = async (): Promise<void> => {
    world.nowMs += 3_000;
    const before = world.looks;
    while (world.looks < before + 2) await setImmediate();
  };
  const change = (changed: Partial<SyncRecord>): void => {
    record = { ...record, ...changed };
  };
  const endPhase = (phase: SyncRecord['phase'] = 'restoring'): void => {
    change({ phase });
  };
  return { world, lease, group, takeovers, passes, change, endPhase, updates };
}

/** Counts how often something is done. */
function counter() {
  const counted = { count: 0 };
  const act = async (): Promise<void> => {
    counted.count++;
    await Promise.resolve();
  };
  return { counted, act };
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

  it('lets no work beside the changes continue in a later term', async () => {
    const stop = new AbortController();
    const { world, lease, group, passes } = ground(stop.signal);
    assert.throws(() => group.requireThisTerm(), LeaseLost);
    const watching = group.watch(stop.signal);
    await passes();
    const requireTerm = group.requireThisTerm();
    await passes();
    requireTerm();
    world.isFree = false;
    await passes();
    assert.throws(requireTerm, LeaseLost);
    // Such work keeps nobody from the lease, however long it takes.
    world.isFree = true;
    await passes();
    assert.equal(lease.isHeld, true);
    assert.throws(requireTerm, LeaseLost);
    group.requireThisTerm()();
    stop.abort();
    await assert.rejects(watching);
  });

  it('takes over once in a term, and need not read what it has changed itself', async () => {
    const { group, takeovers, endPhase } = ground(new AbortController().signal);
    for (const [phase, next] of [
      ['changes', 'restoring'],
      ['restoring', 'done'],
    ] as const) {
      const run = async (): Promise<void> => {
        endPhase(next);
        await Promise.resolve();
      };
      await group.asCoordinator({ phase, run });
    }
    assert.equal(takeovers.length, 1);
  });

  it('reads the catalog after a phase that another instance has ended', async () => {
    const { counted, act } = counter();
    const { group } = ground(new AbortController().signal, {
      first: { phase: 'restoring' },
      reloadCatalog: act,
    });
    const run = async (): Promise<void> => {
      await Promise.reject(new Error('is not called'));
    };
    await group.asCoordinator({ phase: 'changes', run });
    assert.equal(counted.count, 1);
  });

  it('applies a change of the catalog once all have reached it, and says so in the record', async () => {
    const arrivals = new Map<string, string>();
    let reads = 0;
    const store = {
      saveArrival: async (text: string): Promise<void> => {
        arrivals.set('syncer', text);
        await Promise.resolve();
      },
      readInstances: async () => {
        // The other one arrives while this one waits.
        if (++reads === 2) arrivals.set('other', place.text);
        const arrivedAt = (id: string): string => arrivals.get(id) ?? earlier;
        const record = (id: string) => ({ ...instance, arrivedAt: arrivedAt(id) });
        return await Promise.resolve(new Map(['syncer', 'other'].map((id) => [id, record(id)])));
      },
    };
    const first = { instances: ['syncer', 'other'], received: [1, 1], catalogEvent: earlier };
    const { group, updates } = ground(new AbortController().signal, { store, first });
    const readsBefore: number[] = [];
    await group.meet(place, async () => {
      readsBefore.push(reads);
      await Promise.resolve();
    });
    assert.deepEqual(readsBefore, [2]);
    assert.deepEqual(updates, [[{ catalogEvent: place.text }, { catalogEvent: earlier }]]);
  });

  for (const areChangesLimited of [false, true])
    it(`waits for an instance before a change of the catalog, ${areChangesLimited ? 'also' : 'not'} while a commit would be accepted`, async () => {
      const stop = new AbortController();
      const time = { nowMs: 0 };
      const retryWarnings = new RetryWarnings(() => time.nowMs);
      const { group, world } = ground(stop.signal, {
        first: { instances: ['syncer', 'other'], received: [1, 1], catalogEvent: earlier },
        store: {
          saveArrival: async () => {
            await Promise.resolve();
          },
          readInstances: async () => await Promise.resolve(new Map([['other', instance]])),
        },
        monitor: { retryWarnings, addRetry: () => undefined },
        areChangesLimited: () => areChangesLimited,
      });
      const meeting = group.meet(place, async () => {
        await Promise.reject(new Error('is not called'));
      });
      while (world.looks < 2) await setImmediate();
      time.nowMs += 5_000;
      const isWait = /^catalog change: waiting for 5 s: /;
      assert.match(retryWarnings.warnings().join(), isWait);
      if (areChangesLimited) assert.deepEqual(retryWarnings.obstacles(), []);
      else assert.match(retryWarnings.obstacles().join(), isWait);
      stop.abort();
      await assert.rejects(meeting);
    });

  it('lets no commit begin while another instance is paused', async () => {
    const stop = new AbortController();
    const time = { nowMs: 0 };
    const retryWarnings = new RetryWarnings(() => time.nowMs);
    const { group, passes, change } = ground(stop.signal, {
      first: { instances: ['syncer', 'other'], received: [1, 1], paused: ['other'] },
      store: {
        saveArrival: async () => {
          await Promise.resolve();
        },
        readInstances: async () => await Promise.resolve(new Map([['other', instance]])),
      },
      monitor: { retryWarnings, addRetry: () => undefined },
    });
    const watching = group.watch(stop.signal);
    await passes();
    time.nowMs += 5_000;
    assert.deepEqual(retryWarnings.obstacles(), [
      'other instances: waiting for 5 s: other (paused)',
    ]);
    change({ paused: [] });
    await passes();
    assert.deepEqual(retryWarnings.obstacles(), []);
    stop.abort();
    await assert.rejects(watching);
  });

  it('leaves out a change of the catalog that another instance has applied', async () => {
    const { counted, act } = counter();
    const { group, updates } = ground(new AbortController().signal, {
      first: { catalogEvent: place.text },
      store: {
        saveArrival: async () => {
          await Promise.resolve();
        },
        readInstances: async () => await Promise.resolve(new Map([['syncer', instance]])),
      },
      reloadCatalog: act,
    });
    await group.meet(place, async () => {
      await Promise.reject(new Error('is not called'));
    });
    assert.deepEqual([counted.count, updates], [1, []]);
  });

  const committing: Partial<SyncRecord> = { state: 'COMMITTING' };
  const timeIsFixed = { ...committing, commitTime: place.time };
  for (const [what, isFree, first, isFixed] of [
    ['fixes the time of a commit as the coordinator', true, committing, true],
    ['leaves the time of a commit to the coordinator', false, committing, false],
    ['does not fix the time of a commit twice', true, timeIsFixed, false],
  ] as const) {
    it(what, async () => {
      const stop = new AbortController();
      const { counted, act } = counter();
      const { world, group, passes } = ground(stop.signal, { first, fixCommitTime: act });
      world.isFree = isFree;
      const watching = group.watch(stop.signal);
      await passes();
      stop.abort();
      await assert.rejects(watching);
      assert.equal(counted.count > 0, isFixed);
    });
  }
});
