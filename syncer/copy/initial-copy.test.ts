import assert from 'node:assert/strict';
import fc from 'fast-check';
import { farApart } from './initial-copy.ts';

describe('farApart', () => {
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

  it('keeps every part once, and begins with the first', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 500 }), (count) => {
        const parts = farApart(upTo(count));
        assert.deepEqual(
          parts.toSorted((one, other) => one - other),
          upTo(count),
        );
        if (count > 0) assert.equal(parts[0], 0);
      }),
    );
  });

  it('comes to every shard soon, where chunks go to them in turn', () => {
    for (const shards of [2, 3, 4, 5, 8]) {
      for (const chunksPerShard of [2, 3, 4]) {
        const chunks = shards * chunksPerShard;
        const parts = farApart(upTo(10 * chunks));
        const first = parts.slice(0, 3 * shards);
        const met = new Set(first.map((part) => Math.floor(part / 10) % shards));
        assert.equal(met.size, shards, `${shards} shards, ${chunks} chunks: ${first.join(' ')}`);
      }
    }
  });
});
