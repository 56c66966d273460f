import assert from 'node:assert/strict';
import { BSON, Decimal128, Double, Int32, Long, MongoClient, type Document } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { compareBuckets, compareFingerprints } from '../../../mongo/compared-fingerprints.ts';
import { documentSequence } from '../../../mongo/document-sequence.ts';
import { FingerprintReader } from '../../../mongo/fingerprints.ts';
import { wholeRange } from '../../../mongo/id-range.ts';
import { asBuffer, RawWriter, type RawDocument } from '../../../mongo/raw-bson.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';

/** A document's only field but its `_id`, in BSON. */
type Value = RawDocument;

/** `{value: ...}` as the driver writes it. */
function value(of: unknown): Value {
  return BSON.serialize({ value: of }, { ignoreUndefined: false });
}

/** A value of a type and bytes of its own. */
function rawValue(type: number, hex: string, name = 'value'): Value {
  const bytes = Buffer.from(hex, 'hex');
  const element = { type, name, bytes, offset: 0, length: bytes.length };
  return new RawWriter(bytes.length + 32).value(name, element).finish();
}

/** `{value: [1, 2]}`, whose elements have these names. */
function arrayOf(...names: readonly string[]): Value {
  const array = new RawWriter(64);
  for (const [index, name] of names.entries()) array.int32(name, index);
  return rawValue(4, asBuffer(array.finish()).toString('hex'));
}

/** Two fields of one name. */
function twice(name: string, first: number, second: number): Value {
  return new RawWriter(64).int32(name, first).int32(name, second).finish();
}

/** Two documents that differ in their bytes, though not in their length. */
const pairs: Readonly<Record<string, readonly [Value, Value]>> = {
  'a bit of a binary': [rawValue(5, '0200000000abcd'), rawValue(5, '0200000000abcc')],
  'the subtype of a binary': [rawValue(5, '0200000000abcd'), rawValue(5, '0200000080abcd')],
  'the name of a field': [BSON.serialize({ a: 1 }), BSON.serialize({ b: 1 })],
  'the order of fields': [BSON.serialize({ a: 1, b: 2 }), BSON.serialize({ b: 2, a: 1 })],
  'the order of fields inside': [value({ a: 1, b: 2 }), value({ b: 2, a: 1 })],
  'the order of an array': [value([1, 2]), value([2, 1])],
  'an array, which is an object': [value(['x']), value({ 0: 'x' })],
  'the second of two fields of one name': [twice('a', 1, 1), twice('a', 1, 2)],
  'the first of two fields of one name': [twice('a', 1, 1), twice('a', 2, 1)],
  'a fraction of a double': [value(new Double(0.1)), value(new Double(0.1 + 2 ** -55))],
  'the last digit of a decimal': [
    value(Decimal128.fromString('1.1')),
    value(Decimal128.fromString('1.2')),
  ],
  'a large int64 that a double cannot hold': [
    value(Long.fromBigInt(2n ** 53n)),
    value(Long.fromBigInt(2n ** 53n + 1n)),
  ],
  infinities: [value(new Double(Infinity)), value(new Double(-Infinity))],
  'a date, which is a timestamp': [
    rawValue(9, '0100000000000000'),
    rawValue(17, '0100000000000000'),
  ],
  'a date, which is an int64': [rawValue(9, '0100000000000000'), rawValue(18, '0100000000000000')],
  'a null, which is undefined': [rawValue(10, ''), rawValue(6, '')],
  'a null, which is MinKey': [rawValue(10, ''), rawValue(255, '')],
  'a code, which is a string': [rawValue(13, '020000006100'), rawValue(2, '020000006100')],
  'true, which is false': [rawValue(8, '01'), rawValue(8, '00')],
  'the options of a regular expression': [value(/a/i), value(/a/m)],
  'a letter after a NUL': [value('a\u0000b'), value('a\u0000c')],
  'a NUL, which is another letter': [value('a\u0000b'), value('ab\u0000')],
  'another normal form of a text': [value('\u00e9a'), value('e\u0301')],
  'bytes that are no UTF-8': [rawValue(2, '03000000fffe00'), rawValue(2, '03000000fffd00')],
  'a string, which is a symbol': [rawValue(2, '020000006100'), rawValue(14, '020000006100')],
  'an int64, which is a double': [value(Long.fromNumber(5)), value(new Double(5))],
  'an int32 and an int64, the other way round': [
    BSON.serialize({ a: new Int32(1), b: Long.fromNumber(2) }),
    BSON.serialize({ a: Long.fromNumber(1), b: new Int32(2) }),
  ],
  'zero, which is minus zero': [value(new Double(0)), value(new Double(-0))],
  'the trailing zeros of a decimal': [
    value(Decimal128.fromString('1.0')),
    value(Decimal128.fromString('1.00')),
  ],
  'the bits of a NaN': [rawValue(1, '000000000000f87f'), rawValue(1, '010000000000f87f')],
  'the names of the elements of an array': [arrayOf('0', '1'), arrayOf('5', '7')],
};

/** What the hash does not show, as the limits say. */
const notShown: readonly string[] = [
  'a string, which is a symbol',
  'an int64, which is a double',
  'an int32 and an int64, the other way round',
  'zero, which is minus zero',
  'the trailing zeros of a decimal',
  'the bits of a NaN',
  'the names of the elements of an array',
];

describe('fingerprints of documents', () => {
  let set: ReplicaSet;
  let client: MongoClient;
  let cluster: ClusterClient;

  before(async () => {
    set = await startReplicaSet({ members: 1 });
    client = new MongoClient(set.uri('admin'));
    cluster = createClusterClient({ uri: set.uri('admin'), option: 'uri', appName: 'test' });
  });

  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await client.close();
    await set.stop();
  });

  function readerOf(coll: string): FingerprintReader {
    const readConcern = { level: 'majority' };
    const query = { namespace: { db: 'shop', coll }, range: wholeRange, readConcern };
    return new FingerprintReader(cluster, query, new AbortController().signal);
  }

  it('show each difference of the same length but those that the limits name', async () => {
    const names = Object.keys(pairs);
    for (const [side, coll] of ['one', 'other'].entries()) {
      const documents = Object.values(pairs).map((pair, index) => {
        const rest = pair[side];
        assert.ok(rest);
        const id = BSON.serialize({ _id: new Int32(index) });
        const bytes = Buffer.concat([id.subarray(0, -1), rest.subarray(4)]);
        bytes.writeInt32LE(bytes.length, 0);
        return bytes;
      });
      const insert = { insert: coll, documents: documentSequence('documents', documents) };
      assert.equal((await client.db('shop').command(insert))['n'], names.length);
    }
    for (const [one, other] of Object.values(pairs)) {
      assert.equal(one.length, other.length);
      assert.ok(!asBuffer(one).equals(other));
    }
    const sides = { source: readerOf('one'), destination: readerOf('other') };
    const buckets = await compareBuckets(sides);
    assert.deepEqual(buckets.read.source.documents, names.length);
    const all = [...(await sides.source.buckets()).keys()];
    const { differing } = await compareFingerprints(sides, (side) => side.inBuckets(all));
    const shown = new Set(differing.map(({ bytes }) => asBuffer(bytes).readInt32LE(0)));
    assert.deepEqual(
      names.filter((_, index) => !shown.has(index)),
      notShown,
    );
  });

  it('are spread over the buckets, whatever the ids are', async () => {
    const count = 20_000;
    const kinds: Readonly<Record<string, (n: number) => unknown>> = {
      fractions: (n) => (n + 0.5) / count,
      integers: (n) => n,
      texts: (n) => `t${n}`,
      objects: (n) => ({ n: n / count }),
    };
    for (const [coll, idOf] of Object.entries(kinds)) {
      const rows = Array.from({ length: count }, (_, n): Document => ({ _id: idOf(n) }));
      await client.db('shop').collection(coll).insertMany(rows);
      const buckets = [...(await readerOf(coll).buckets()).values()];
      assert.equal(
        buckets.reduce((sum, { documents }) => sum + documents, 0),
        count,
      );
      // On average 5.
      const fullest = Math.max(...buckets.map(({ documents }) => documents));
      assert.ok(fullest < 30, `${coll}: ${fullest} documents in one bucket`);
    }
  });
});
