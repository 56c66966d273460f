import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Decimal128, Double, Int32, Long } from 'mongodb';
import { canonicalKey } from '../../mongo/canonical-id.ts';
import { idElement } from '../../mongo/raw-bson.ts';
import { boundsOf, type Sample } from './split-ranges.ts';

/** Each makes a number of one of the types that the server considers equal. */
const numbers: readonly ((value: number) => unknown)[] = [
  (value) => new Int32(value),
  (value) => new Double(value),
  (value) => Long.fromNumber(value),
  (value) => Decimal128.fromString(`${value}.00`),
];

/** Sorted samples, some of which have the `_id` of their predecessor in another type. */
const samples = fc
  .array(fc.tuple(fc.nat(20), fc.nat(numbers.length - 1), fc.integer({ min: 1, max: 50 })))
  .map((list) =>
    list
      .sort(([one], [other]) => one - other)
      .map(([value, type, bytes]): Sample => {
        return { bound: { _id: numbers[type]?.(value) }, bytes };
      }),
  );

describe('boundsOf', () => {
  it('gives bounds in order, of which no two are the same to a server', () => {
    fc.assert(
      fc.property(samples, fc.integer({ min: 2, max: 30 }), (sorted, count) => {
        const bounds = boundsOf(sorted, count);
        const keys = bounds.map((bound) => canonicalKey(idElement(BSON.serialize(bound))));
        assert.equal(new Set(keys).size, keys.length);
        assert.ok(bounds.length < count);
        const places = bounds.map((bound) => sorted.findIndex((each) => each.bound === bound));
        assert.deepEqual(
          places,
          places.toSorted((one, other) => one - other),
        );
        assert.ok(!places.includes(-1));
      }),
    );
  });

  it('gives all bounds that are asked for where the samples allow it', () => {
    const sorted = Array.from({ length: 100 }, (_, _id): Sample => ({ bound: { _id }, bytes: 1 }));
    assert.deepEqual(
      boundsOf(sorted, 4).map(({ _id }): unknown => _id),
      [25, 50, 75],
    );
  });
});
