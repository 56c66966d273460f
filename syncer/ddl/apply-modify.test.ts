import assert from 'node:assert/strict';
import { BSON, Int32, type Document } from 'mongodb';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import { modifiedIndexes, unknownChanges } from './apply-modify.ts';

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
