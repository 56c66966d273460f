import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Double, Int32, Long, type Document } from 'mongodb';
import { DocumentList } from '../../mongo/document-list.ts';
import { RawWriter } from '../../mongo/raw-bson.ts';
import type { SideName } from '../../mongo/sides.ts';
import { BatchMatcher, maxDifferences, type DocumentDifferences } from './batch-matcher.ts';
import { idText } from './id-key.ts';

/** Documents as a server sends them. */
function asSent(documents: readonly Document[]): DocumentList {
  const writer = new RawWriter();
  for (const [index, each] of documents.entries())
    writer.document(String(index), BSON.serialize(each));
  return DocumentList.ofArray(writer.finish());
}

/** The differences, which do not depend on how the destination splits its documents into batches. */
function compare(
  source: readonly Document[],
  destination: readonly Document[],
  excuse?: (document: Document, lackedBy: SideName) => boolean,
): string[] {
  const isExcused =
    excuse && ((bytes: Uint8Array, side: SideName) => excuse(BSON.deserialize(bytes), side));
  const [inPieces, ...others] = [2, 1, source.length, destination.length].map((length) => {
    const matcher = new BatchMatcher(asSent(source), { excuse: isExcused });
    matcher.take(asSent(destination.slice(0, length)));
    matcher.take(asSent(destination.slice(length)));
    const { found, isOverflowing } = matcher.finish();
    assert.equal(isOverflowing, false);
    return found.map(({ kind, id, field }) => `${kind} ${idText(id)} ${field ?? ''}`.trim()).sort();
  });
  for (const other of others) assert.deepEqual(other, inPieces);
  return inPieces ?? [];
}

describe('BatchMatcher', () => {
  it('pairs ids that are one key to the server', () => {
    assert.deepEqual(compare([{ _id: new Int32(5) }], [{ _id: new Double(5) }]), [
      'differentDocument {"$numberInt":"5"} _id',
    ]);
    assert.deepEqual(compare([{ _id: { a: new Int32(5) } }], [{ _id: { a: Long.fromInt(5) } }]), [
      'differentDocument {"a":{"$numberInt":"5"}} _id.a',
    ]);
  });

  it('does not pair numbers that only share their nearest double', () => {
    const [a, b] = [Long.fromString('9007199254740993'), Long.fromString('9007199254740992')];
    assert.equal(compare([{ _id: a }], [{ _id: b }]).length, 2);
  });

  it('excuses documents that are on one side, not those that differ', () => {
    const old = (document: Document): boolean => document['old'] === true;
    const source = [
      { _id: 1, old: true },
      { _id: 2, old: true, v: 1 },
    ];
    const destination = [
      { _id: 2, old: true, v: 2 },
      { _id: 3, old: true },
    ];
    assert.deepEqual(compare(source, destination, old), ['differentDocument {"$numberInt":"2"} v']);
  });

  it('asks for the side that lacks the document', () => {
    const asked: string[] = [];
    const source = [{ _id: 1 }, { _id: 2, v: 1 }];
    const destination = [{ _id: 2, v: 1 }, { _id: 3 }, { _id: 2, v: 2 }];
    compare(source, destination, ({ _id, v = 0 }, side) => {
      asked.push(`${String(_id)} ${String(v)} ${side}`);
      return true;
    });
    assert.deepEqual([...new Set(asked)].sort(), ['1 0 destination', '2 2 source', '3 0 source']);
  });

  it('says of a missing document that another one of the source has its _id, of any numeric type', () => {
    const details = (source: readonly Document[], destination: readonly Document[]): unknown[] => {
      const matcher = new BatchMatcher(asSent(source));
      matcher.take(asSent(destination));
      return matcher.finish().found.map(({ kind, detail }) => [kind, detail]);
    };
    const twice = ['missingDocument', 'another document has this _id'];
    const [a, b] = [
      { _id: new Int32(1), v: 1 },
      { _id: new Int32(1), v: 2 },
    ];
    const double = { _id: new Double(1), v: 3 };
    const other = { _id: new Int32(2) };
    assert.deepEqual(details([a, b, other], [a, other]), [twice]);
    assert.deepEqual(details([a, b, other], [b, other]), [twice]);
    assert.deepEqual(details([a, double, other], [a, other]), [twice]);
    assert.deepEqual(details([a, other], [a]), [['missingDocument', undefined]]);
  });

  it('tells several documents of one _id apart, on either side', () => {
    const [a, b, c] = [
      { _id: 1, v: 1 },
      { _id: 1, v: 2 },
      { _id: 1, v: 3 },
    ] as const;
    const next = { _id: 2, v: 1 };
    const id = '{"$numberInt":"1"}';
    for (const destination of [
      [a, b, next],
      [b, a, next],
      [next, b, a],
    ]) {
      assert.deepEqual(compare([a, next], destination), [`extraDocument ${id}`]);
      assert.deepEqual(compare([a, b, next], destination), []);
      assert.deepEqual(compare([a, c, next], destination), [`differentDocument ${id} v`]);
      assert.deepEqual(compare([a, b, c, next], destination), [`missingDocument ${id}`]);
      assert.deepEqual(compare([c, next], destination), [
        `differentDocument ${id} v`,
        `extraDocument ${id}`,
      ]);
    }
    const isOld = ({ v }: Document): boolean => v === 2;
    assert.deepEqual(compare([a], [b, a], isOld), []);
  });

  it('excuses documents of one _id that are on one side only if all of them are excused', () => {
    const isOld = ({ v }: Document): boolean => v !== 1;
    const [fresh, old, older] = [1, 2, 3].map((v): Document => ({ _id: 1, v }));
    assert.ok(fresh && old && older);
    const id = '{"$numberInt":"1"}';
    for (const documents of [
      [fresh, old],
      [old, fresh],
      [old, fresh, older],
    ]) {
      assert.deepEqual(compare([], documents, isOld), [`extraDocument ${id}`]);
      assert.deepEqual(compare(documents, [], isOld), [`missingDocument ${id}`]);
    }
    assert.deepEqual(compare([], [old, older], isOld), []);
    assert.deepEqual(compare([old, older], [], isOld), []);
  });

  const numbered = (count: number, v: number): Document[] =>
    Array.from({ length: count }, (_, _id) => ({ _id, v }));
  const tooMany: readonly [string, source: Document[], destination: Document[]][] = [
    ['missing', numbered(maxDifferences + 1, 0), []],
    ['extra', [], numbered(maxDifferences + 1, 0)],
    ['different', numbered(maxDifferences + 1, 0), numbered(maxDifferences + 1, 1)],
    [
      'of one _id',
      [{ _id: 0, v: 0 }],
      Array.from({ length: maxDifferences + 1 }, () => ({ _id: 0, v: 1 })),
    ],
  ];
  for (const [what, source, destination] of tooMany) {
    it(`keeps a bounded number of documents that are ${what}, and says if there are more`, () => {
      const differences = (sourceCount: number, destinationCount: number): DocumentDifferences => {
        const matcher = new BatchMatcher(asSent(source.slice(0, sourceCount)));
        matcher.take(asSent(destination.slice(0, destinationCount)));
        return matcher.finish();
      };
      const all = differences(source.length, destination.length);
      assert.equal(all.found.length, maxDifferences);
      assert.equal(all.isOverflowing, true, 'what is left out would be taken for equal');
      const most = differences(Math.min(source.length, maxDifferences), destination.length - 1);
      assert.equal(most.found.length, maxDifferences);
      assert.equal(most.isOverflowing, false);
    });
  }

  it('finds what a comparison of two maps finds, in whatever order the documents come', () => {
    const side = fc.uniqueArray(fc.record({ _id: fc.integer({ min: 0, max: 9 }), v: fc.nat(1) }), {
      selector: ({ _id }) => _id,
    });
    fc.assert(
      fc.property(side, side, (source, destination) => {
        const there = new Map(source.map(({ _id, v }) => [_id, v]));
        const here = new Map(destination.map(({ _id, v }) => [_id, v]));
        const expected: string[] = [];
        for (const _id of new Set([...there.keys(), ...here.keys()])) {
          const id = `{"$numberInt":"${_id}"}`;
          if (!here.has(_id)) expected.push(`missingDocument ${id}`);
          else if (!there.has(_id)) expected.push(`extraDocument ${id}`);
          else if (there.get(_id) !== here.get(_id)) expected.push(`differentDocument ${id} v`);
        }
        assert.deepEqual(compare(source, destination), expected.sort());
      }),
      { numRuns: 1000 },
    );
  });
});
