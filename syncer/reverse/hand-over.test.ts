import assert from 'node:assert/strict';
import { Timestamp, UUID } from 'mongodb';
import type { TrackedCollection, TrackedView } from '../store/records.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { reversedState } from './hand-over.ts';

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

  it('is not made of a sync without a writable time, or with a collection that is not there', () => {
    assert.throws(() => reversedState({ ...committed, writableTime: null }, [], []));
    assert.throws(() => reversedState(committed, [{ ...collection, destinationUuid: null }], []));
  });
});

function timesIn(value: unknown): Timestamp[] {
  if (value instanceof Timestamp) return [value];
  if (typeof value !== 'object' || value === null || value instanceof UUID) return [];
  return Object.values(value).flatMap(timesIn);
}
