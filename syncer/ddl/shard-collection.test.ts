import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON } from 'mongodb';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { checkUniqueIndexes, chunkCount, planMoves } from './shard-collection.ts';

const gibibyte = 1024 ** 3;

describe('chunkCount', () => {
  const cases: readonly (readonly [bytes: number, shards: number, chunks: number])[] = [
    [0, 1, 2],
    [0, 3, 6],
    [gibibyte, 3, 8],
    [10 * gibibyte, 3, 80],
    [1000 * gibibyte, 3, 96],
  ];
  for (const [bytes, shards, chunks] of cases) {
    it(`is ${chunks} for ${bytes} bytes on ${shards} shards`, () => {
      assert.equal(chunkCount(bytes, shards), chunks);
    });
  }
});

describe('planMoves', () => {
  it('leaves neighbours on different shards, as many on each, and moves nothing twice', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat(4), { maxLength: 40 }),
        (shardCount, owners) => {
          const shards = Array.from({ length: shardCount }, (_, index) => `shard-${index}`);
          const chunks = owners.map((owner, min) => {
            return { min, max: min + 1, shard: `shard-${owner % shardCount}` };
          });
          const moves = planMoves(chunks, shards);
          for (const { chunk, to } of moves) assert.notEqual(chunk.shard, to);
          const placed = chunks.map(
            (chunk) => moves.find((move) => move.chunk === chunk)?.to ?? chunk.shard,
          );
          assert.equal(placed[0], chunks[0]?.shard);
          if (shardCount > 1)
            placed.slice(1).forEach((shard, index) => {
              assert.notEqual(shard, placed[index]);
            });
          const counts = shards.map((shard) => placed.filter((other) => other === shard).length);
          assert.ok(Math.max(...counts) - Math.min(...counts) <= 1);
        },
      ),
    );
  });
});

describe('checkUniqueIndexes', () => {
  const shardKey = [{ field: 'a', kind: 1 }] as const;
  const unique = { unique: true };
  const prepared = { prepareUnique: true };
  const cases: readonly (readonly [key: object, options: object, isRefused: boolean])[] = [
    [{ b: 1 }, {}, false],
    [{ b: 1 }, unique, true],
    [{ b: 1 }, prepared, true],
    [{ b: 1, a: 1 }, unique, true],
    [{ a: 1, b: 1 }, unique, false],
    [{ a: 1, b: 1 }, prepared, false],
    [{ _id: 1 }, unique, false],
  ];
  for (const [key, options, isRefused] of cases) {
    it(`${isRefused ? 'refuses' : 'accepts'} ${JSON.stringify({ key, ...options })}`, () => {
      const specs = [
        { key: { other: 1 }, name: 'other' },
        { key, name: 'x', ...options },
      ].map((spec) => decodeIndexSpec(BSON.serialize({ v: 2, ...spec })));
      const check = (): void => {
        checkUniqueIndexes({ db: 'shop', coll: 'items' }, specs, shardKey);
      };
      const message = /^index x of shop\.items is unique .* the shard key \{"a":1\}/;
      if (isRefused) assert.throws(check, { name: 'IncompatibleUniqueIndex', message });
      else check();
    });
  }
});
