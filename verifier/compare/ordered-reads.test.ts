import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Double, Int32, MaxKey, MinKey, type Document } from 'mongodb';
import { DocumentList } from '../../mongo/document-list.ts';
import { RawWriter } from '../../mongo/raw-bson.ts';
import { RawBatch } from '../../mongo/raw-cursor.ts';
import { partsOf, skipEqual } from './ordered-reads.ts';

interface Batch {
  readonly list: DocumentList;
}

/** Documents in batches of some lengths, as a server sends them. */
async function* sent(
  documents: readonly Document[],
  lengths: readonly number[],
): AsyncGenerator<Batch, void> {
  let first = 0;
  for (let piece = 0; first < documents.length; piece++) {
    const length = lengths[piece] ?? 2;
    const writer = new RawWriter();
    for (const [index, each] of documents.slice(first, first + length).entries())
      writer.document(String(index), BSON.serialize(each));
    first += length;
    yield await Promise.resolve({ list: DocumentList.ofArray(writer.finish()) });
  }
}

const decoded = ({ documents }: DocumentList): Document[] =>
  documents.map((each) => BSON.deserialize(each, { promoteValues: false }));

/** What was passed, what is left of the source, and where that begins. */
async function passed(
  source: readonly Document[],
  destination: readonly Document[],
  lengths: readonly number[] = [],
): Promise<{ passed: Document[]; left: Document[]; min: unknown } | { passed: Document[] }> {
  const equal: Document[] = [];
  const range = { min: null, max: null };
  const rest = await skipEqual(sent(source, lengths), sent(destination, lengths), range, (list) => {
    equal.push(...decoded(list));
  });
  if (!rest) return { passed: equal };
  const left: Document[] = [];
  for await (const { list } of rest.batches) left.push(...decoded(list));
  const min: unknown = rest.range.min && BSON.deserialize(BSON.serialize(rest.range.min))['_id'];
  return { passed: equal, left, min };
}

const plain = (documents: readonly Document[]): Document[] =>
  documents.map((each) => BSON.deserialize(BSON.serialize(each), { promoteValues: false }));

describe('skipEqual', () => {
  it('leaves nothing of two sides that are equal', async () => {
    const documents = [1, 2, 3, 4, 5].map((_id) => ({ _id }));
    assert.deepEqual(await passed(documents, documents), { passed: plain(documents) });
    assert.deepEqual(await passed([], []), { passed: [] });
  });

  it('leaves the last document that came the same, and all after it', async () => {
    const source = [1, 2, 3, 4, 6].map((_id) => ({ _id }));
    for (const destination of [
      [1, 2, 3, 4, 5, 6],
      [1, 2, 3, 4],
      [1, 2, 3, 4, 4, 6],
    ]) {
      assert.deepEqual(
        await passed(
          source,
          destination.map((_id) => ({ _id })),
        ),
        {
          passed: plain(source.slice(0, 3)),
          left: plain(source.slice(3)),
          min: 4,
        },
      );
    }
    const extra = await passed([{ _id: 1 }], [{ _id: 1 }, { _id: 2 }], [1]);
    assert.deepEqual(extra, { passed: [], left: plain([{ _id: 1 }]), min: 1 });
  });

  it('leaves documents together that have one _id, in whatever pieces they came', async () => {
    const source = [{ _id: 1 }, { _id: new Int32(2) }, { _id: new Double(2) }, { _id: 3 }];
    const destination = [...source.slice(0, 3), { _id: 2, more: 1 }, { _id: 3 }];
    assert.deepEqual(await passed(source, destination, [1, 1, 1]), {
      passed: plain([{ _id: 1 }]),
      left: plain(source.slice(1)),
      min: 2,
    });
  });

  it('leaves what is before an _id that cannot be a bound', async () => {
    const most = { _id: new MaxKey() };
    const least = { _id: new MinKey() };
    assert.deepEqual(await passed([{ _id: 1 }, most], [{ _id: 1 }, most, most], [1, 1]), {
      passed: [],
      left: plain([{ _id: 1 }, most]),
      min: 1,
    });
    assert.deepEqual(await passed([least, { _id: 1 }], [least, { _id: 2 }], [1, 1]), {
      passed: [],
      left: plain([least, { _id: 1 }]),
      min: null,
    });
  });

  it('passes what the destination has before the rest, and nothing else', async () => {
    const documents = fc
      .array(fc.record({ _id: fc.nat(12), value: fc.nat(1) }), { maxLength: 30 })
      .map((all) => all.sort((one, other) => one._id - other._id));
    const lengths = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 30 });
    const at = fc.nat(30);
    await fc.assert(
      fc.asyncProperty(documents, documents, lengths, at, async (source, others, sizes, index) => {
        const same = source.slice(0, index);
        const least = same.at(-1)?._id ?? 0;
        const destination = [...same, ...others.filter(({ _id }) => _id >= least)];
        const found = await passed(source, destination, sizes);
        const left = 'left' in found ? found.left : [];
        assert.deepEqual([...found.passed, ...left], plain(source));
        const min = 'min' in found ? found.min : Infinity;
        const before = destination.filter(({ _id }) => min !== null && _id < Number(min));
        assert.deepEqual(found.passed, plain(before));
      }),
    );
  });
});

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
