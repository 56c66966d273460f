import assert from 'node:assert/strict';
import { BSON, Double, Int32, MinKey } from 'mongodb';
import { RawBatch } from '../../mongo/raw-cursor.ts';
import { RawWriter } from '../../mongo/raw-bson.ts';
import { partsOf } from './range-parts.ts';

async function* batchesOf(lists: readonly (readonly unknown[])[]): AsyncGenerator<RawBatch> {
  for (const ids of lists) {
    const writer = new RawWriter(1024);
    for (const [index, _id] of ids.entries())
      writer.document(String(index), BSON.serialize({ _id }));
    yield await Promise.resolve(new RawBatch(writer.finish(), 0, undefined));
  }
}

/** The ids of each part, and its upper bound. */
async function parts(...lists: readonly unknown[][]): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { list, part } of partsOf(batchesOf(lists), { min: null, max: null })) {
    const ids = list.documents.map((bytes): unknown => BSON.deserialize(bytes)['_id']);
    const max: unknown = part.max && BSON.deserialize(BSON.serialize(part.max))['_id'];
    found.push([ids, max]);
  }
  return found;
}

describe('partsOf', () => {
  it('ends a part before the first document of the next batch', async () => {
    assert.deepEqual(await parts([1, 2], [3], ['a']), [
      [[1, 2], 3],
      [[3], 'a'],
      [['a'], null],
    ]);
    assert.deepEqual(await parts(), [[[], null]]);
  });

  it('keeps documents together that share an _id', async () => {
    assert.deepEqual(await parts([1, 2, 2], [2, 3]), [
      [[1], 2],
      [[2, 2, 2, 3], null],
    ]);
    assert.deepEqual(await parts([2], [2], [2, 3], [4]), [
      [[2, 2, 2, 3], 4],
      [[4], null],
    ]);
    assert.deepEqual(await parts([1, new Int32(2)], [new Double(2)]), [
      [[1], 2],
      [[2, 2], null],
    ]);
  });

  it('makes one part of batches where the next begins with an _id that cannot be a bound', async () => {
    const [first] = await parts([1], [new MinKey(), 2], [3]);
    assert.deepEqual(first, [[1, new MinKey(), 2], 3]);
  });
});
