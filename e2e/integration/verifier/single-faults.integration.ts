import assert from 'node:assert/strict';
import {
  Binary,
  BSON,
  BSONRegExp,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  MongoClient,
  ObjectId,
  Timestamp,
  type Db,
  type Document,
} from 'mongodb';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { verifyOnce } from './verifier-session.ts';

const { EJSON } = BSON;

/** A fault on the destination, and how the verifier has to name it. */
interface Fault {
  readonly name: string;
  readonly inject: (db: Db) => Promise<unknown>;
  readonly expected: {
    readonly namespace?: string;
    readonly kind: string;
    readonly id?: unknown;
    readonly field?: string;
    readonly index?: string;
    readonly sourceType?: string;
    readonly destinationType?: string;
  };
  /** True where the server lets nobody make this fault alone: others may be told with it. */
  readonly isSeveral?: true;
}

/** A document with any _id. */
interface Row {
  _id: object | string | number;
  [field: string]: unknown;
}

/** Writes the same data to both sides. */
async function load(db: Db): Promise<void> {
  const items = db.collection<Row>('items');
  await items.insertMany([
    {
      _id: new Int32(1),
      name: 'lamp',
      price: new Int32(1),
      tags: ['a', 'b'],
      deep: { x: { y: 1 } },
    },
    { _id: new Double(2.5), name: 'chair', blob: new Binary(Buffer.alloc(1000, 7)) },
    { _id: 'three', name: 'table' },
    { _id: { a: new Int32(1) }, name: 'sofa' },
    { _id: Long.fromNumber(5), name: 'rug' },
    {
      _id: 'types',
      name: 'bed',
      text: 'abc',
      long: Long.fromNumber(7),
      double: new Double(0),
      decimal: Decimal128.fromString('1.0'),
      flag: true,
      nothing: null,
      when: new Date(0),
      stamp: new Timestamp({ t: 1, i: 1 }),
      pattern: new BSONRegExp('a', 'i'),
      code: new Code('x'),
      least: new MinKey(),
      key: new ObjectId('000000000000000000000001'),
      list: [new Int32(1), { a: new Int32(1), b: new Int32(2) }],
      empty: {},
    },
  ]);
  await items.createIndexes([
    { key: { name: 1 }, name: 'by_name', unique: true },
    {
      key: { price: 1, name: -1 },
      name: 'by_price',
      partialFilterExpression: { price: { $gt: 0 } },
    },
    { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 3600 },
    { key: { 'deep.x': 1 }, name: 'hidden', hidden: true, sparse: true },
    {
      key: { text: 'text' },
      name: 'words',
      default_language: 'german',
      language_override: 'tongue',
      weights: { text: 3 },
    },
    { key: { name: 1, price: 1 }, name: 'folded', collation: { locale: 'de', strength: 2 } },
    { key: { place: '2dsphere' }, name: 'near' },
    { key: { spot: '2d' }, name: 'flat', bits: 20, min: -100, max: 100 },
    { key: { '$**': 1 }, name: 'wild', wildcardProjection: { blob: 0 } },
    { key: { name: 'hashed' }, name: 'hash' },
  ]);
  await db.createCollection('log', { capped: true, size: 4096, max: 100 });
  for (const _id of [3, 1, 2]) await db.collection<Row>('log').insertOne({ _id });
  await db.createCollection('folded', { collation: { locale: 'en', strength: 2 } });
  await db.collection<Row>('folded').insertMany(['b', 'A', 'c'].map((_id) => ({ _id })));
  await db.createCollection('clustered', {
    clusteredIndex: { key: { _id: 1 }, unique: true },
    expireAfterSeconds: 3600,
  });
  await db.collection<Row>('clustered').insertMany([1, 'x', 2].map((_id) => ({ _id })));
  await db.createCollection('strict', { validator: { n: { $gt: new Int32(1) } } });
  await db.createCollection('traced', { changeStreamPreAndPostImages: { enabled: true } });
  await db.createCollection('spelled', {
    viewOn: 'items',
    pipeline: [],
    collation: { locale: 'en', strength: 2 },
  });
  await db.createCollection('cheap', {
    viewOn: 'items',
    pipeline: [{ $match: { price: { $lt: new Int32(5) } } }],
  });
  await db.createCollection('empty');
}

const items = 'shop.items';

const words = { default_language: 'german', language_override: 'tongue', weights: { text: 3 } };

const flat = { bits: 20, min: -100, max: 100 };

const faults: readonly Fault[] = [
  {
    name: 'a byte of a value',
    inject: async (db) => {
      const blob = Buffer.alloc(1000, 7);
      blob[500] = 8;
      await db.collection('items').updateOne({ name: 'chair' }, { $set: { blob } });
    },
    expected: {
      kind: 'differentDocument',
      namespace: items,
      id: { $numberDouble: '2.5' },
      field: 'blob',
    },
  },
  {
    name: 'int 1 to double 1.0',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $set: { price: new Double(1) } }),
    expected: {
      kind: 'differentDocument',
      namespace: items,
      id: { $numberInt: '1' },
      field: 'price',
    },
  },
  {
    name: 'a value deep inside',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $set: { 'deep.x.y': 2 } }),
    expected: { kind: 'differentDocument', id: { $numberInt: '1' }, field: 'deep.x.y' },
  },
  {
    name: 'an element of an array',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $set: { 'tags.1': 'c' } }),
    expected: { kind: 'differentDocument', id: { $numberInt: '1' }, field: 'tags.1' },
  },
  {
    name: 'the order of fields',
    inject: async (db) => {
      await db.collection('items').updateOne({ name: 'lamp' }, { $unset: { price: 1 } });
      await db.collection('items').updateOne({ name: 'lamp' }, { $set: { price: new Int32(1) } });
    },
    expected: { kind: 'fieldOrder', id: { $numberInt: '1' }, field: 'price' },
  },
  {
    name: 'a field too many',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'rug' }, { $set: { z: 1 } }),
    expected: { kind: 'differentDocument', id: { $numberLong: '5' }, field: 'z' },
  },
  {
    name: 'a field missing',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $unset: { tags: 1 } }),
    expected: { kind: 'differentDocument', id: { $numberInt: '1' }, field: 'tags' },
  },
  ...[
    valueFault('text', 'abd', 'string', 'string'),
    valueFault('text', 'abc\0', 'string', 'string'),
    valueFault('long', new Int32(7), 'long', 'int'),
    valueFault('double', new Double(-0), 'double', 'double'),
    valueFault('decimal', Decimal128.fromString('1.00'), 'decimal', 'decimal'),
    valueFault('flag', false, 'bool', 'bool'),
    valueFault('nothing', { $literal: false }, 'null', 'bool'),
    valueFault('when', new Date(1), 'date', 'date'),
    valueFault('stamp', new Timestamp({ t: 1, i: 2 }), 'timestamp', 'timestamp'),
    valueFault('pattern', new BSONRegExp('a', 'm'), 'regex', 'regex'),
    valueFault('code', 'x', 'javascript', 'string'),
    valueFault('least', new MaxKey(), 'minKey', 'maxKey'),
    valueFault('key', new ObjectId('000000000000000000000002'), 'objectId', 'objectId'),
    valueFault('empty', { $literal: [] }, 'object', 'array'),
  ],
  {
    name: 'the order of fields in an array',
    inject: async (db) =>
      await db
        .collection('items')
        .updateOne({ name: 'bed' }, { $set: { 'list.1': { b: new Int32(2), a: new Int32(1) } } }),
    expected: { kind: 'fieldOrder', id: 'types', field: 'list.1.a' },
  },
  {
    name: 'the order of an array',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $set: { tags: ['b', 'a'] } }),
    expected: { kind: 'differentDocument', id: { $numberInt: '1' }, field: 'tags.0' },
  },
  {
    name: 'an element of an array missing',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $pop: { tags: 1 } }),
    expected: { kind: 'differentDocument', field: 'tags.1', sourceType: 'string' },
  },
  {
    name: 'the name of a field',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'chair' }, { $rename: { blob: 'blop' } }),
    expected: { kind: 'differentDocument', field: 'blob', sourceType: 'binData' },
  },
  {
    name: 'the subtype of binary data',
    inject: async (db) =>
      await db
        .collection('items')
        .updateOne({ name: 'chair' }, { $set: { blob: new Binary(Buffer.alloc(1000, 7), 128) } }),
    expected: { kind: 'differentDocument', field: 'blob', sourceType: 'binData' },
  },
  {
    name: 'the order of fields of an _id',
    inject: async (db) => {
      await db.collection('items').deleteOne({ name: 'sofa' });
      await db.collection<Row>('items').insertOne({ _id: { a: new Double(1) }, name: 'sofa' });
    },
    expected: { kind: 'differentDocument', id: { a: { $numberInt: '1' } }, field: '_id.a' },
  },
  {
    name: 'a missing document',
    inject: async (db) => await db.collection('items').deleteOne({ name: 'sofa' }),
    expected: { kind: 'missingDocument', namespace: items, id: { a: { $numberInt: '1' } } },
  },
  {
    name: 'an extra document',
    inject: async (db) => await db.collection<Row>('items').insertOne({ _id: 'more', name: 'x' }),
    expected: { kind: 'extraDocument', namespace: items, id: 'more' },
  },
  {
    name: 'the type of an _id',
    inject: async (db) => {
      await db.collection('items').deleteOne({ name: 'rug' });
      await db.collection<Row>('items').insertOne({ _id: new Double(5), name: 'rug' });
    },
    expected: { kind: 'differentDocument', id: { $numberLong: '5' }, field: '_id' },
  },
  {
    name: 'a document missing under a collation',
    inject: async (db) => {
      await deleteById(db, 'folded', 'c');
    },
    expected: { kind: 'missingDocument', namespace: 'shop.folded', id: 'c' },
  },
  {
    name: 'a document missing from a clustered collection',
    inject: async (db) => {
      await deleteById(db, 'clustered', 'x');
    },
    expected: { kind: 'missingDocument', namespace: 'shop.clustered', id: 'x' },
  },
  {
    name: 'the order of a capped collection',
    inject: async (db) => {
      await db.collection('log').drop();
      await db.createCollection('log', { capped: true, size: 4096, max: 100 });
      for (const _id of [3, 2, 1]) await db.collection<Row>('log').insertOne({ _id });
    },
    expected: { kind: 'documentOrder', namespace: 'shop.log', id: { $numberInt: '1' } },
  },
  {
    name: 'the size of a capped collection',
    inject: async (db) => await db.command({ collMod: 'log', cappedSize: 8192 }),
    expected: { kind: 'options', namespace: 'shop.log', field: 'size' },
  },
  {
    name: 'the maximum of a capped collection',
    inject: async (db) => await db.command({ collMod: 'log', cappedMax: 101 }),
    expected: { kind: 'options', namespace: 'shop.log', field: 'max' },
  },
  {
    name: 'a missing index',
    inject: async (db) => {
      await db.collection('items').dropIndex('by_price');
    },
    expected: { kind: 'missingIndex', namespace: items, index: 'by_price' },
  },
  {
    name: 'an extra index',
    inject: async (db) =>
      await db.collection('items').createIndexes([{ key: { q: 1 }, name: 'more' }]),
    expected: { kind: 'extraIndex', namespace: items, index: 'more' },
  },
  ...[
    indexFault('by_name', { name: 1 }, {}, 'unique'),
    indexFault('by_name', { name: -1 }, { unique: true }, 'key.name'),
    indexFault(
      'by_price',
      { price: 1, name: -1 },
      { partialFilterExpression: { price: { $gt: 1 } } },
      'partialFilterExpression.price.$gt',
    ),
    indexFault(
      'by_price',
      { name: -1, price: 1 },
      { partialFilterExpression: { price: { $gt: 0 } } },
      'key.price',
    ),
    indexFault('hidden', { 'deep.x': 1 }, { sparse: true }, 'hidden'),
    indexFault('hidden', { 'deep.x': 1 }, { hidden: true }, 'sparse'),
    indexFault(
      'words',
      { text: 'text' },
      { ...words, default_language: 'french' },
      'default_language',
    ),
    indexFault('words', { text: 'text' }, { ...words, weights: { text: 4 } }, 'weights.text'),
    indexFault(
      'words',
      { text: 'text' },
      { ...words, language_override: 'speech' },
      'language_override',
    ),
    indexFault('folded', { name: 1, price: 1 }, {}, 'collation'),
    indexFault(
      'folded',
      { name: 1, price: 1 },
      { collation: { locale: 'de', strength: 3 } },
      'collation.strength',
    ),
    indexFault('near', { place: 1 }, {}, 'key.place'),
    indexFault(
      'near',
      { place: '2dsphere' },
      { '2dsphereIndexVersion': 2 },
      '2dsphereIndexVersion',
    ),
    indexFault('flat', { spot: '2d' }, { ...flat, bits: 21 }, 'bits'),
    indexFault('flat', { spot: '2d' }, { ...flat, min: -101 }, 'min'),
    indexFault('flat', { spot: '2d' }, { ...flat, max: 101 }, 'max'),
    indexFault(
      'wild',
      { '$**': 1 },
      { wildcardProjection: { blop: 0 } },
      'wildcardProjection.blob',
    ),
    indexFault('wild', { 'x.$**': 1 }, {}, 'key.$**'),
    indexFault('hash', { name: 1 }, {}, 'key.name'),
    indexFault('ttl', { at: 1 }, {}, 'expireAfterSeconds'),
    indexFault('by_price', { price: 1, name: -1 }, {}, 'partialFilterExpression'),
  ],
  {
    name: 'TTL off by one',
    inject: async (db) =>
      await db.command({ collMod: 'items', index: { name: 'ttl', expireAfterSeconds: 3601 } }),
    expected: { kind: 'differentIndex', index: 'ttl', field: 'expireAfterSeconds' },
  },
  {
    name: 'TTL as it is during a sync',
    inject: async (db) =>
      await db.command({
        collMod: 'items',
        index: { name: 'ttl', expireAfterSeconds: 2147483647 },
      }),
    expected: { kind: 'differentIndex', index: 'ttl', field: 'expireAfterSeconds' },
  },
  {
    name: 'TTL of a clustered collection',
    inject: async (db) => await db.command({ collMod: 'clustered', expireAfterSeconds: 3601 }),
    expected: { kind: 'options', namespace: 'shop.clustered', field: 'expireAfterSeconds' },
  },
  {
    name: 'a validator',
    inject: async (db) => await db.command({ collMod: 'strict', validator: { n: { $gt: 2 } } }),
    expected: { kind: 'options', namespace: 'shop.strict', field: 'validator.n.$gt' },
  },
  {
    name: 'a validation level',
    inject: async (db) => await db.command({ collMod: 'strict', validationLevel: 'moderate' }),
    expected: { kind: 'options', namespace: 'shop.strict', field: 'validationLevel' },
  },
  {
    name: 'a validation action',
    inject: async (db) => await db.command({ collMod: 'strict', validationAction: 'warn' }),
    expected: { kind: 'options', namespace: 'shop.strict', field: 'validationAction' },
  },
  {
    name: 'no validator',
    inject: async (db) => await db.command({ collMod: 'strict', validator: {} }),
    expected: { kind: 'options', namespace: 'shop.strict', field: 'validator' },
  },
  {
    name: 'no images of changes',
    inject: async (db) =>
      await db.command({ collMod: 'traced', changeStreamPreAndPostImages: { enabled: false } }),
    expected: { kind: 'options', namespace: 'shop.traced', field: 'changeStreamPreAndPostImages' },
  },
  {
    name: 'a clustered index under another name',
    inject: async (db) => {
      await db.collection('clustered').drop();
      const clusteredIndex = { key: { _id: 1 }, unique: true, name: 'other' };
      const options = { clusteredIndex, expireAfterSeconds: 3600 };
      await db.createCollection('clustered', options);
      await db.collection<Row>('clustered').insertMany([1, 'x', 2].map((_id) => ({ _id })));
    },
    expected: { kind: 'options', namespace: 'shop.clustered', field: 'clusteredIndex.name' },
    isSeveral: true,
  },
  {
    name: 'no clustered index',
    inject: async (db) => {
      await db.collection('clustered').drop();
      await db.collection<Row>('clustered').insertMany([1, 'x', 2].map((_id) => ({ _id })));
    },
    expected: { kind: 'options', namespace: 'shop.clustered', field: 'clusteredIndex' },
    isSeveral: true,
  },
  {
    name: 'a collection that is not capped',
    inject: async (db) => {
      await db.collection('log').drop();
      await db.collection<Row>('log').insertMany([3, 1, 2].map((_id) => ({ _id })));
    },
    expected: { kind: 'options', namespace: 'shop.log', field: 'capped' },
  },
  {
    name: 'a document missing from a capped collection',
    inject: async (db) => {
      await db.collection('log').drop();
      await db.createCollection('log', { capped: true, size: 4096, max: 100 });
      for (const _id of [3, 1]) await db.collection<Row>('log').insertOne({ _id });
    },
    expected: { kind: 'missingDocument', namespace: 'shop.log', id: { $numberInt: '2' } },
  },
  {
    name: 'what a view is on',
    inject: async (db) => await db.command({ collMod: 'spelled', viewOn: 'folded', pipeline: [] }),
    expected: { kind: 'options', namespace: 'shop.spelled', field: 'viewOn' },
  },
  {
    name: 'the collation of a view',
    inject: async (db) => {
      await db.collection('spelled').drop();
      const collation = { locale: 'en', strength: 1 };
      await db.createCollection('spelled', { viewOn: 'items', pipeline: [], collation });
    },
    expected: { kind: 'options', namespace: 'shop.spelled', field: 'collation.strength' },
  },
  {
    name: 'a missing view',
    inject: async (db) => await db.collection('spelled').drop(),
    expected: { kind: 'missingNamespace', namespace: 'shop.spelled' },
  },
  {
    name: "a view's pipeline",
    inject: async (db) =>
      await db.command({
        collMod: 'cheap',
        viewOn: 'items',
        pipeline: [{ $match: { price: { $lt: new Int32(6) } } }],
      }),
    expected: { kind: 'options', namespace: 'shop.cheap', field: 'pipeline.0.$match.price.$lt' },
  },
  {
    name: 'a collation',
    inject: async (db) => {
      await db.collection('folded').drop();
      await db.createCollection('folded', { collation: { locale: 'en', strength: 3 } });
      await db.collection<Row>('folded').insertMany(['b', 'A', 'c'].map((_id) => ({ _id })));
    },
    expected: { kind: 'options', namespace: 'shop.folded', field: 'collation.strength' },
  },
  {
    name: 'no collation',
    inject: async (db) => {
      await db.collection('folded').drop();
      await db.createCollection('folded');
      await db.collection<Row>('folded').insertMany(['b', 'A', 'c'].map((_id) => ({ _id })));
    },
    expected: { kind: 'options', namespace: 'shop.folded', field: 'collation' },
  },
  {
    name: 'a missing collection',
    inject: async (db) => await db.collection('empty').drop(),
    expected: { kind: 'missingNamespace', namespace: 'shop.empty' },
  },
  {
    name: 'an extra collection',
    inject: async (db) => await db.createCollection('more'),
    expected: { kind: 'extraNamespace', namespace: 'shop.more' },
  },
  {
    name: 'an extra database',
    inject: async (db) => await db.client.db('shop2').collection('a').insertOne({}),
    expected: { kind: 'extraNamespace', namespace: 'shop2.a' },
  },
  {
    name: 'a collection in place of a view',
    inject: async (db) => {
      await db.collection('cheap').drop();
      await db.createCollection('cheap');
    },
    expected: { kind: 'namespaceType', namespace: 'shop.cheap' },
  },
];

async function deleteById(db: Db, collection: string, _id: string): Promise<void> {
  await db.command({ delete: collection, deletes: [{ q: { _id }, limit: 1 }] });
}

/** Another value of a field of the document that has one of each type. */
function valueFault(
  field: string,
  value: unknown,
  sourceType: string,
  destinationType: string,
): Fault {
  return {
    name: `${field}, which is ${destinationType === sourceType ? 'another' : destinationType}`,
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'bed' }, [{ $set: { [field]: value } }]),
    expected: { kind: 'differentDocument', id: 'types', field, sourceType, destinationType },
  };
}

/** An index that is built again with other options. */
function indexFault(name: string, key: Document, options: Document, field: string): Fault {
  return {
    name: `${field} of the index ${name}`,
    inject: async (db) => {
      await db.collection('items').dropIndex(name);
      await db.command({ createIndexes: 'items', indexes: [{ name, key, ...options }] });
    },
    expected: { kind: 'differentIndex', namespace: items, index: name, field },
  };
}

describe('verifier, single faults on the destination', function () {
  this.timeout(60_000);
  let sets: readonly ReplicaSet[] = [];
  let source: MongoClient;
  let destination: MongoClient;

  before(async () => {
    sets = await Promise.all([startReplicaSet({ members: 1 }), startReplicaSet({ members: 1 })]);
    source = new MongoClient(uri(0));
    destination = new MongoClient(uri(1));
    await load(source.db('shop'));
  });

  after(async () => {
    await source.close();
    await destination.close();
    for (const set of sets) await set.stop();
  });

  beforeEach(async () => {
    await destination.db('shop').dropDatabase();
    await destination.db('shop2').dropDatabase();
    await load(destination.db('shop'));
  });

  function uri(side: 0 | 1): string {
    const set = sets[side];
    if (!set) throw new Error('the replica sets are not running');
    return set.uri('admin');
  }

  it('finds nothing where there is none', async () => {
    const { progress } = await verifyOnce({ srcURI: uri(0), destURI: uri(1), workers: 2 });
    assert.deepEqual(progress.mismatches, []);
    assert.equal(progress.verdict, 'equal');
    assert.equal(progress.verificationStatus.failedTasks, 0);
    assert.equal(progress.documentsCompared >= 14, true);
  });

  it('has at least 60 faults to find', () => {
    assert.ok(faults.length >= 60, String(faults.length));
  });

  for (const { name, inject, expected, isSeveral = false } of faults) {
    it(`finds ${name}`, async () => {
      await inject(destination.db('shop'));
      const { progress, log } = await verifyOnce({ srcURI: uri(0), destURI: uri(1), workers: 2 });
      const { id, ...rest } = expected;
      if (!isSeveral) {
        assert.equal(progress.mismatches.length, 1, JSON.stringify(progress.mismatches));
      }
      const found = progress.mismatches.find(({ kind }) => kind === expected.kind);
      const wanted = {
        ...rest,
        ...(id === undefined ? {} : { id: EJSON.stringify(id, { relaxed: false }) }),
      };
      for (const [field, value] of Object.entries(wanted)) {
        assert.equal(found?.[field as keyof typeof found], value, JSON.stringify(found));
      }
      assert.equal(progress.verdict, 'different');
      assert.equal(progress.verificationStatus.failedTasks, 1);
      const isMetadata = !/Document$|Order$/.test(expected.kind);
      assert.equal(progress.verificationStatus.metadataMismatchTasks, isMetadata ? 1 : 0);
      assert.doesNotMatch(log.join(), /table|chair|lamp|abd/);
    });
  }
});
