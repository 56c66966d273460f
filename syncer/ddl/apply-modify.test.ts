import assert from 'node:assert/strict';
import { BSON, Int32, Timestamp, UUID, type Document } from 'mongodb';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import { parseChangeEvent } from '../source/change-event.ts';
import { disturbsBuild, modifiedIndexes, unknownChanges } from './apply-modify.ts';

const index = (options: object = {}): IndexSpec =>
  decodeIndexSpec(BSON.serialize({ v: 2, key: { a: 1 }, name: 'a_1', ...options }));

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
      const event = parseChangeEvent(
        BSON.serialize({
          ...{ _id: { _data: '82' }, clusterTime: new Timestamp({ t: 1_700_000_000, i: 7 }) },
          ...{ ns: { db: 'shop', coll: 'items' }, collectionUUID: new UUID() },
          ...{ operationType, operationDescription },
        }),
      );
      assert.ok(event.type === 'catalog');
      for (const buildsOnEachShard of [false, true])
        assert.equal(
          disturbsBuild(event, 'a_1', { buildsOnEachShard }),
          expected ?? buildsOnEachShard,
        );
    });
});
