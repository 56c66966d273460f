import assert from 'node:assert/strict';
import { MaxKey, MinKey } from 'mongodb';
import { canBound, idRangeQueries } from './id-range.ts';

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

describe('canBound', () => {
  it('is false for the two ends of the order alone', () => {
    assert.deepEqual([new MinKey(), new MaxKey(), 1, 'a', null].map(canBound), [
      false,
      false,
      true,
      true,
      true,
    ]);
  });
});
