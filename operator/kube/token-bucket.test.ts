import assert from 'node:assert/strict';
import { TokenBucket } from './token-bucket.ts';

describe('TokenBucket', () => {
  it('gives a burst, then one for each refill time, and fills up no further', () => {
    const bucket = new TokenBucket({ burst: 2, refillMs: 1000, nowMs: 0 });
    const take = (nowMs: number): boolean => bucket.take(nowMs);
    assert.deepEqual([0, 0, 0, 999, 1000, 1000].map(take), [true, true, false, false, true, false]);
    assert.equal(bucket.isFull(2999), false);
    assert.equal(bucket.isFull(3000), true);
    assert.deepEqual([99_000, 99_000, 99_000].map(take), [true, true, false]);
  });

  it('tells how long until there is a token', () => {
    const bucket = new TokenBucket({ burst: 1, refillMs: 10, nowMs: 0 });
    assert.equal(bucket.waitMs(0), 0);
    bucket.take(0);
    assert.equal(bucket.waitMs(4), 6);
    assert.equal(bucket.take(9), false);
    assert.equal(bucket.waitMs(10), 0);
  });
});
