import { Int32, type Document } from 'mongodb';
import { items, type Fault, type Row } from './faulty-shop.ts';

const words = { default_language: 'german', language_override: 'tongue', weights: { text: 3 } };

const flat = { bits: 20, min: -100, max: 100 };

/** Faults of collections, views and indexes. */
export const catalogFaults: readonly Fault[] = [
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
    indexFault('near', { place: 1 }, {}, 'key.place', ['2dsphereIndexVersion']),
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
    indexFault('wild', { 'x.$**': 1 }, {}, 'key.$**', ['wildcardProjection']),
    indexFault('hash', { name: 1 }, {}, 'key.name'),
    indexFault('ttl', { at: 1 }, {}, 'expireAfterSeconds'),
    indexFault('by_price', { price: 1, name: -1 }, {}, 'partialFilterExpression'),
  ],
  {
    name: 'an index about to be made unique',
    inject: async (db) =>
      await db.command({ collMod: 'items', index: { name: 'folded', prepareUnique: true } }),
    expected: { kind: 'differentIndex', namespace: items, index: 'folded', field: 'prepareUnique' },
  },
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

/** An index that is built again with other options; `others` are the fields that differ with `field`. */
function indexFault(
  name: string,
  key: Document,
  options: Document,
  field: string,
  others: readonly string[] = [],
): Fault {
  return {
    others,
    name: `${field} of the index ${name}`,
    inject: async (db) => {
      await db.collection('items').dropIndex(name);
      await db.command({ createIndexes: 'items', indexes: [{ name, key, ...options }] });
    },
    expected: { kind: 'differentIndex', namespace: items, index: name, field },
  };
}
