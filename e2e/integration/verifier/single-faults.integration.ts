import assert from 'node:assert/strict';
import { Binary, BSON, Double, Int32, Long, MongoClient, type Db, type Document } from 'mongodb';
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
  };
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
    { key: { text: 'text' }, name: 'words', default_language: 'german', weights: { text: 3 } },
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
  await db.createCollection('cheap', {
    viewOn: 'items',
    pipeline: [{ $match: { price: { $lt: new Int32(5) } } }],
  });
  await db.createCollection('empty');
}

const items = 'shop.items';

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
    indexFault('words', { text: 'text' }, { weights: { text: 3 } }, 'default_language'),
    indexFault(
      'words',
      { text: 'text' },
      { weights: { text: 4 }, default_language: 'german' },
      'weights.text',
    ),
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
    const { progress } = await verifyOnce({ srcURI: uri(0), destURI: uri(1) });
    assert.deepEqual(progress.mismatches, []);
    assert.equal(progress.verdict, 'equal');
    assert.equal(progress.verificationStatus.failedTasks, 0);
    assert.equal(progress.documentsCompared >= 14, true);
  });

  for (const { name, inject, expected } of faults) {
    it(`finds ${name}`, async () => {
      await inject(destination.db('shop'));
      const { progress, log } = await verifyOnce({ srcURI: uri(0), destURI: uri(1) });
      const { id, ...rest } = expected;
      assert.equal(progress.mismatches.length, 1, JSON.stringify(progress.mismatches));
      const [found] = progress.mismatches;
      const wanted = {
        ...rest,
        ...(id === undefined ? {} : { id: EJSON.stringify(id, { relaxed: false }) }),
      };
      for (const [field, value] of Object.entries(wanted)) {
        assert.equal(found?.[field as keyof typeof found], value, JSON.stringify(found));
      }
      assert.equal(progress.verdict, 'different');
      assert.equal(progress.verificationStatus.failedTasks, 1);
      const isMetadata = !expected.kind.endsWith('Document') && expected.kind !== 'documentOrder';
      assert.equal(progress.verificationStatus.metadataMismatchTasks, isMetadata ? 1 : 0);
      assert.doesNotMatch(log.join(), /table|chair|lamp/);
    });
  }
});
