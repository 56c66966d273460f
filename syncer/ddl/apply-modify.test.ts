import assert from 'node:assert/strict';
import { BSON, Int32, Timestamp, UUID, type Document } from 'mongodb';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import type { Destination } from '../destination/destination.ts';
import { type CatalogEvent, parseChangeEvent } from '../source/change-event.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import {
  applyCreateIndexes,
  applyModify,
  disturbsBuild,
  modifiedIndexes,
  unknownChanges,
} from './apply-modify.ts';

const index = (options: object = {}): IndexSpec =>
  decodeIndexSpec(BSON.serialize({ v: 2, key: { a: 1 }, name: 'a_1', ...options }));

function eventOf(operationType: string, operationDescription: object): CatalogEvent {
  const event = parseChangeEvent(
    BSON.serialize({
      ...{ _id: { _data: '82' }, clusterTime: new Timestamp({ t: 1_700_000_000, i: 7 }) },
      ...{ ns: { db: 'shop', coll: 'items' }, collectionUUID: new UUID() },
      ...{ operationType, operationDescription },
    }),
  );
  assert.ok(event.type === 'catalog');
  return event;
}

describe('modifiedIndexes', () => {
  const cases: readonly (readonly [what: string, before: object, change: object, after: object])[] =
    [
      ['hidden', {}, { hidden: true }, { hidden: true }],
      ['shown', { hidden: true }, { hidden: false }, {}],
      ['prepared', {}, { prepareUnique: true }, { prepareUnique: true }],
      ['unique', { prepareUnique: true }, { unique: true }, { unique: true }],
      ['no longer unique', { unique: true }, { forceNonUnique: true }, {}],
      [
        'no longer unique, and hidden',
        { unique: true, hidden: true },
        { forceNonUnique: true },
        { hidden: true },
      ],
      [
        'another time to live',
        { expireAfterSeconds: new Int32(5) },
        { expireAfterSeconds: 7 },
        { expireAfterSeconds: new Int32(7) },
      ],
    ];
  for (const [what, before, change, after] of cases)
    it(what, () => {
      const other = index({ name: 'other', ...before });
      const changed = modifiedIndexes([index(before), other], { name: 'a_1', ...change });
      const plain = (specs: readonly IndexSpec[]): Document[] =>
        specs.map((spec) => ({ ...spec, key: spec.key.bytes }));
      assert.deepEqual(plain(changed), plain([index(after), other]));
    });
});

describe('unknownChanges', () => {
  for (const [description, index, unknown] of [
    [{ validator: {}, validationLevel: 'off', validationAction: 'errorAndLog' }, undefined, []],
    [{ changeStreamPreAndPostImages: { enabled: true } }, { name: 'a', hidden: true }, []],
    [{ timeseries: {}, compaction: 1 }, undefined, ['timeseries', 'compaction']],
    [{}, { keyPattern: { a: 1 }, hidden: true }, ['index.keyPattern']],
    [{}, { name: 'a', forceNonUnique: true, sorted: 1 }, ['index.sorted']],
  ] as const)
    it(`${JSON.stringify({ ...description, index })}: ${unknown.join(', ') || 'none'}`, () => {
      assert.deepEqual(unknownChanges(description, index), unknown);
    });
});

describe('disturbsBuild', () => {
  const named = (name: string): object => ({ indexes: [{ v: 2, key: { a: 1 }, name }] });
  for (const [operationType, operationDescription, expected] of [
    ['createIndexes', named('a_1'), false],
    ['dropIndexes', named('a_1'), true],
    ['dropIndexes', named('b_1'), false],
    ['modify', { index: { name: 'a_1', hidden: true } }, false],
    ['modify', { expireAfterSeconds: 5 }, false],
    ['modify', { index: { name: 'a_1', hidden: true }, validator: { a: 1 } }, true],
    ['refineCollectionShardKey', {}, false],
    ['drop', {}, true],
    ['shardCollection', { shardKey: { a: 1 } }, undefined],
  ] as const)
    it(`${operationType} ${JSON.stringify(operationDescription)}: ${String(expected ?? 'if the destination is sharded')}`, () => {
      const event = eventOf(operationType, operationDescription);
      for (const buildsOnEachShard of [false, true])
        assert.equal(
          disturbsBuild(event, 'a_1', { buildsOnEachShard }),
          expected ?? buildsOnEachShard,
        );
    });
});

describe('an index that becomes unique without the shard key', () => {
  const tracked = {
    namespace: { db: 'shop', coll: 'items' },
    shardKey: [{ field: 'b', kind: 1 }],
    options: {},
    indexes: [index()],
  } as unknown as TrackedCollection;

  /** A destination where the collection has this shard key, and what is done there and stored. */
  function recording(shardKey: TrackedCollection['shardKey']) {
    const done: string[] = [];
    const record = (what: string) => async (): Promise<void> => {
      await Promise.resolve(done.push(what));
    };
    const destination = {
      kind: { shardKeyOf: () => shardKey },
      catalog: { sizeOf: async () => await Promise.resolve(0) },
      indexes: { create: record('create') },
    } as unknown as Destination;
    const catalog = { put: record('put') } as unknown as TrackedCatalog;
    return { destination, catalog, done };
  }

  const source = { cappedSize: () => 0, isOptionOfDestination: () => true };
  const modify = eventOf('modify', { index: { name: 'a_1', prepareUnique: true } });
  const spec = { v: 2, key: { a: 1 }, name: 'a_1', unique: true };
  const create = eventOf('createIndexes', { indexes: [spec] });
  const cases = {
    modify: async ({ destination, catalog }: ReturnType<typeof recording>) => {
      await applyModify(source, destination, catalog, modify, tracked);
    },
    createIndexes: async ({ destination, catalog }: ReturnType<typeof recording>) => {
      await applyCreateIndexes(destination, catalog, create, { tracked, largeBytes: 1 });
    },
  };
  for (const [operation, apply] of Object.entries(cases))
    it(`is refused before anything is stored, where the collection is sharded: ${operation}`, async () => {
      const sharded = recording(tracked.shardKey);
      await assert.rejects(apply(sharded), { name: 'IncompatibleUniqueIndex' });
      assert.deepEqual(sharded.done, []);
      const unsharded = recording(null);
      await apply(unsharded);
      assert.equal(unsharded.done.at(-1), 'put');
    });
});
