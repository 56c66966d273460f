import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { Timestamp, UUID } from 'mongodb';
import { WriteGuard } from '../../mongo/write-guard.ts';
import { createLogger } from '../../service/logger.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SyncRecord, TrackedCollection, TrackedView } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { HandOver, reversedState } from './hand-over.ts';

const oldTime = new Timestamp({ t: 100, i: 1 });
const writableTime = new Timestamp({ t: 50, i: 7 });
const committed = {
  ...reversibleSync(),
  state: 'COMMITTED',
  phase: 'done',
  startTime: oldTime,
  catalogTimes: [{ db: 'shop', time: oldTime }],
  catalogEvent: '8200000064',
  commitTime: oldTime,
  isFixingCommitTime: true,
  writableTime,
  canWrite: true,
} as const;
const collection: TrackedCollection = {
  uuid: new UUID('00000000-0000-4000-8000-000000000000'),
  destinationUuid: new UUID('00000000-0000-4000-8000-000000000001'),
  shardKey: null,
  namespace: { db: 'shop', coll: 'items' },
  options: {},
  indexes: [],
  namedAt: oldTime,
  namedBy: oldTime,
  replacedUuid: null,
  specifiedAt: oldTime,
  sizeBytes: 1,
  documentCount: 1,
  isAdopted: false,
  isCopied: true,
};
const view: TrackedView = {
  namespace: { db: 'shop', coll: 'view' },
  options: {},
  specifiedAt: oldTime,
  specifiedBy: oldTime,
};

describe('reversedState', () => {
  const reversed = reversedState(committed, [collection], [view]);

  it('exchanges source and destination, and the UUIDs of each collection', () => {
    const { record, collections } = reversed;
    assert.deepEqual(record.source, committed.destination);
    assert.deepEqual(record.destination, committed.source);
    assert.equal(record.options.source, 'cluster1');
    assert.equal(record.options.destination, 'cluster0');
    assert.deepEqual(collections[0]?.uuid, collection.destinationUuid);
    assert.deepEqual(collections[0].destinationUuid, collection.uuid);
    assert.equal(record.reversals, 1);
    assert.equal(record.canWrite, false);
  });

  it('has no cluster time left of the old source, whose clock may be another', () => {
    const found = timesIn(reversed);
    assert.ok(found.length >= 5);
    for (const time of found) assert.deepEqual(time, writableTime);
    assert.equal(reversed.record.catalogEvent, null);
  });

  it('has no time of a commit any more, and none that is being fixed', () => {
    const { commitTime, isFixingCommitTime, writableTime: ofUsers } = reversed.record;
    assert.deepEqual([commitTime, isFixingCommitTime, ofUsers], [null, false, null]);
  });

  it('is not made of a sync without a writable time, or with a collection that is not there', () => {
    assert.throws(() => reversedState({ ...committed, writableTime: null }, [], []));
    assert.throws(() => reversedState(committed, [{ ...collection, destinationUuid: null }], []));
  });
});

describe('HandOver', () => {
  type Parts = ConstructorParameters<typeof HandOver>[0];
  type Place = Pick<SyncStore, 'clear' | 'putCollections' | 'putView'> & {
    readonly record: Pick<RecordStore, 'readSync' | 'createSync'>;
  };
  const expected = reversedState(committed, [collection], [view]);

  /** Moves the state to a cluster with a stored record, or none. Tells what was done there, in order, and what is known then. */
  async function moved(stored: SyncRecord | undefined) {
    const steps: unknown[] = [];
    let underWay = 0;
    const step = async (...what: unknown[]): Promise<void> => {
      assert.equal(underWay++, 0, 'a step begins before the last one has ended');
      await setImmediate();
      underWay--;
      steps.push(...what);
    };
    const to: Place = {
      record: {
        readSync: async () => {
          await step('readSync');
          return stored;
        },
        createSync: async (record) => {
          await step('createSync', record);
        },
      },
      clear: async () => {
        await step('clear');
      },
      putCollections: async (collections) => {
        await step('putCollections', collections);
      },
      putView: async (one) => {
        await step('putView', one);
      },
    };
    const live: Pick<LiveSync, 'stored' | 'adopt'> = {
      stored: committed,
      adopt: (record) => {
        steps.push('adopt', record);
      },
    };
    const none = { count: async () => await Promise.resolve(0) };
    const parts = {
      cluster: {
        ...{ writeGuard: new WriteGuard(), formerConnections: none },
        lostWrites: { pending: none.count },
      },
      catalog: { collections: () => [collection], views: () => [view] },
      store: {
        live,
        step: async (_: string, run: () => Promise<void>) => {
          await run();
        },
      },
      syncStore: { on: () => to },
      ...{ monitor: new SyncMonitor(), logger: createLogger('test', 'fatal') },
      signal: new AbortController().signal,
    };
    await new HandOver(parts as unknown as Parts).move();
    return steps;
  }

  it('stores the record last: until then the old one counts', async () => {
    const steps = await moved(undefined);
    assert.deepEqual(steps, [
      ...['readSync', 'clear', 'putCollections', expected.collections],
      ...['putView', expected.views[0], 'createSync', expected.record, 'adopt', expected.record],
    ]);
  });

  it('writes nothing where an earlier attempt has stored it', async () => {
    const steps = await moved(expected.record);
    assert.deepEqual(steps, ['readSync', 'adopt', expected.record]);
  });
});

function timesIn(value: unknown): Timestamp[] {
  if (value instanceof Timestamp) return [value];
  if (typeof value !== 'object' || value === null || value instanceof UUID) return [];
  return Object.values(value).flatMap(timesIn);
}
