import assert from 'node:assert/strict';
import { BSON, MaxKey, MinKey } from 'mongodb';
import { idBound, idRangeQueries } from './id-range.ts';

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
