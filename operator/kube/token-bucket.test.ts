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
});
