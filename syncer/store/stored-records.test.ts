import assert from 'node:assert/strict';
import { Binary, BSON, type Document, Timestamp, UUID } from 'mongodb';
import type { Topology } from '../../mongo/topology.ts';
import { SyncError } from '../../service/errors.ts';
import { parseStartBody } from '../options/command-bodies.ts';
import { encodeCollection, stored, storedSync } from './encoding.ts';
import { commandWrite } from './record-store.ts';
import { newRecord, type SyncRecord } from './records.ts';
import { collectionIn, instanceIn, partitionIn, syncRecordIn, viewIn } from './stored-records.ts';

const time = new Timestamp({ t: 1, i: 2 });
const topology: Topology = {
  kind: 'replicaSet',
  ...{ setName: 'rs0', host: 'a:1', version: '6.0.5' },
  ...{ shards: ['rs0'], clusterId: 'one' },
};
const options = parseStartBody({ source: 'cluster0', destination: 'cluster1' });

const sync = newRecord(options, { cluster0: topology, cluster1: topology }, 'a');

const collection = encodeCollection({
  uuid: new UUID(),
  namespace: { db: 'shop', coll: 'items' },
  destinationUuid: new UUID(),
  shardKey: [{ field: 'a', kind: 'hashed' }],
  options: { capped: true },
  indexes: [],
  ...{ namedAt: time, namedBy: time, specifiedAt: time, replacedUuid: null },
  ...{ sizeBytes: 7, documentCount: 1, isAdopted: false, isCopied: false },
});

const records = {
  sync: [syncRecordIn, { _id: 'sync', ...sync }],
  instances: [
    instanceIn,
    {
      ...{ _id: 'a', incarnation: 'x', resumeToken: new Binary(), appliedTime: time },
      ...{ copiedBytes: 0, eventsApplied: 0, isCopied: true, arrivedAt: null, claims: 1 },
      ...{ appliedOpsTime: time, begunWith: 1 },
      heartbeatAt: new Date(),
    },
  ],
  collections: [collectionIn, collection],
  views: [
    viewIn,
    {
      ...{ _id: 'shop.few', namespace: { db: 'shop', coll: 'few' } },
      ...{ options: stored({ viewOn: 'items' }), specifiedAt: time, specifiedBy: time },
    },
  ],
  partitions: [
    partitionIn,
    {
      _id: { collection: new UUID(), index: 0 },
      min: null,
      max: stored({ _id: 7 }),
      isCopied: true,
    },
  ],
} as const satisfies Record<string, readonly [(from: never, found: Document) => unknown, Document]>;

type Name = keyof typeof records;

function read(name: Name, found: Document): unknown {
  const [reader] = records[name];
  const from = { dbName: 'clustersync_internal', collectionName: name };
  return reader(from, BSON.deserialize(BSON.serialize(found)));
}

/** Fields that are a text if not null. */
const texts = new Set(['catalogEvent', 'arrivedAt']);

/** What a record of a former release may lack, and what that counts as: the sync is in its first phase. */
const mayLack: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['reset', null],
  ['ownsCatalog', false],
  ['repairs', 0],
  ['comparison', 'hashes'],
  ['isPresentSettled', false],
  ['ownedUuids', null],
  ['limits', {}],
  ['isSharedByValue', false],
  ['isAdopted', false],
  ['appliedOpsTime', null],
  ['begunWith', null],
  ['isCopied of partitions', false],
]);

describe('stored documents', () => {
  for (const name of Object.keys(records) as Name[]) {
    const [, whole] = records[name];

    it(`${name}: are read as they were stored`, () => {
      read(name, whole);
    });

    for (const field of Object.keys(whole)) {
      if (field === '_id') continue;
      it(`${name}: say which one it is where ${field} is missing, or something else`, () => {
        const { [field]: _gone, ...without } = whole as Document;
        const isNamed = (error: unknown): boolean =>
          error instanceof SyncError &&
          error.name === 'StoredStateInvalid' &&
          error.message.includes(`clustersync_internal.${name} has the document {"_id":`) &&
          error.message.includes(field);
        const lacked = [field, `${field} of ${name}`].find((one) => mayLack.has(one));
        if (lacked === undefined) assert.throws(() => read(name, without), isNamed);
        else assert.deepEqual((read(name, without) as Document)[field], mayLack.get(lacked));
        for (const other of ['odd', 1.5, [[]], { odd: true }]) {
          if (other === 'odd' && texts.has(field)) continue;
          if (typeof other === typeof (whole as Document)[field] && !(other instanceof Object))
            continue;
          assert.throws(
            () => read(name, { ...whole, [field]: other }),
            isNamed,
            JSON.stringify(other),
          );
        }
      });
    }
  }

  it('are read with a time zone that is unknown here: its window is left out, with a warning', () => {
    const limits = { schedule: [{ from: '08:00', to: '18:00', timeZone: 'Europe/Atlantis' }] };
    const read = { dbName: 'clustersync_internal', collectionName: 'sync' };
    assert.deepEqual(syncRecordIn(read, { ...sync, _id: 'sync', limits }).limits, limits);
  });

  it('have no state and no phase that there is none of', () => {
    assert.throws(
      () => read('sync', { ...sync, _id: 'sync', state: 'DONE' }),
      /whose state is "DONE"/,
    );
    assert.throws(
      () => read('sync', { ...sync, _id: 'sync', phase: 'idle' }),
      /whose phase is "idle"/,
    );
    assert.throws(
      () => read('sync', { ...sync, _id: 'sync', received: [] }),
      /received differs in length/,
    );
  });

  it('call a phase by its former name, which is read and looked for as the one that there is', () => {
    const former = { ...sync, _id: 'sync', phase: 'loosening' };
    const read = syncRecordIn({ dbName: 'clustersync_internal', collectionName: 'sync' }, former);
    assert.equal(read.phase, 'preparing');
    assert.deepEqual(storedSync({ ...sync, phase: 'preparing' }), { ...sync, phase: 'loosening' });
    assert.deepEqual(storedSync({ phase: 'changes' }), { phase: 'changes' });
    assert.deepEqual(storedSync({ canWrite: true }), { canWrite: true });
    const { change } = commandWrite({ ...sync, commandCount: 1 }, 'a', { phase: 'preparing' });
    assert.deepEqual(change, { phase: 'loosening', commandCount: 2, 'received.0': 2 });
  });

  it('of a former release say nothing of whose the catalog is: from the copy on it is that of the sync', () => {
    const former = { ...sync, _id: 'sync', ownsCatalog: undefined, phase: 'changes' };
    assert.equal((read('sync', former) as SyncRecord).ownsCatalog, true);
  });

  for (const [what, change, isSettled] of [
    ['that has not begun the copy has not', { repairs: undefined }, false],
    ['whose changes have a start time has', { startTime: time }, true],
    ['that was repaired, which takes the start time back, has', { repairs: 1 }, true],
  ] as const)
    it(`of a former release do not say whether what was there is settled: a sync ${what}`, () => {
      assert.equal(sync.startTime, null);
      const former = { ...sync, _id: 'sync', isPresentSettled: undefined, ...change };
      assert.equal((read('sync', former) as SyncRecord).isPresentSettled, isSettled);
    });
});
