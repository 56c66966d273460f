import assert from 'node:assert/strict';
import { BSON, MaxKey, MinKey } from 'mongodb';
import { idBound, idRangeQueries, rangesBetween } from './id-range.ts';

describe('idRangeQueries', () => {
  const hint = { _id: 1 };
  const one = { _id: 1 };
  const two = { _id: 2 };
  it('reads a closed range at once', () => {
    assert.deepEqual(idRangeQueries({ min: one, max: two }), [{ hint, min: one, max: two }]);
    assert.deepEqual(idRangeQueries({ min: null, max: two }), [{ hint, max: two }]);
  });

  it('asks for MaxKey by itself where a range is open above', () => {
    assert.deepEqual(idRangeQueries({ min: one, max: null }), [
      { hint, min: one },
      { filter: { _id: new MaxKey() } },
    ]);
  });

  it('reads everything without bounds, MaxKey with it', () => {
    assert.deepEqual(idRangeQueries({ min: null, max: null }), [{ hint }]);
  });
});

describe('rangesBetween', () => {
  const [one, two] = [{ _id: 1 }, { _id: 2 }];

  it('is everything without bounds', () => {
    assert.deepEqual(rangesBetween([]), [{ min: null, max: null }]);
  });

  it('begins each range where the one before ends, from an open end to an open end', () => {
    assert.deepEqual(rangesBetween([one, two]), [
      { min: null, max: one },
      { min: one, max: two },
      { min: two, max: null },
    ]);
  });
});

describe('idBound', () => {
  const isBound = (_id: unknown): boolean => idBound(BSON.serialize({ _id })) !== undefined;

  it('is there for all but the two ends of the order', () => {
    assert.deepEqual([new MinKey(), new MaxKey(), 1, 'a', null].map(isBound), [
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  it('has the very bytes of the id', () => {
    const document = BSON.serialize({ _id: { b: { 1: 'x' } } });
    assert.deepEqual(BSON.serialize(idBound(document) ?? {}), document);
  });
});
