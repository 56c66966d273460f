import {
  Binary,
  BSONRegExp,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MinKey,
  ObjectId,
  Timestamp,
  type Db,
} from 'mongodb';

/** The collection that most faults are in. */
export const items = 'shop.items';

/** A fault on the destination, and how the verifier has to name it. */
export interface Fault {
  readonly name: string;
  readonly inject: (db: Db) => Promise<unknown>;
  readonly expected: {
    /** Default: the collection that most faults are in. */
    readonly namespace?: string;
    readonly kind: string;
    readonly id?: unknown;
    readonly field?: string;
    readonly index?: string;
    readonly sourceType?: string;
    readonly destinationType?: string;
  };
  /** Fields of the same index that differ as well. */
  readonly others?: readonly string[];
  /** True where the server lets nobody make this fault alone: others may be told with it. */
  readonly isSeveral?: true;
}

/** A document with any _id. */
export interface Row {
  _id: object | string | number;
  [field: string]: unknown;
}

/** Writes the same data to both sides. */
export async function load(db: Db): Promise<void> {
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

/** Deletes a document of any `_id`. */
export async function deleteById(db: Db, collection: string, _id: string): Promise<void> {
  await db.command({ delete: collection, deletes: [{ q: { _id }, limit: 1 }] });
}
