import assert from 'node:assert/strict';
import { BSONSymbol, Decimal128, type Db, type Document } from 'mongodb';
import { majorVersion } from '../../../mongo/topology.ts';
import { fill, withIndexes, type CatalogChange } from './catalog-change-cases.ts';

const createIndexes = async (db: Db, coll: string, ...indexes: Document[]): Promise<void> => {
  await db.command({ createIndexes: coll, indexes });
};

const dropIndexes = async (
  db: Db,
  coll: string,
  ...indexes: (string | Document)[]
): Promise<void> => {
  for (const index of indexes) await db.command({ dropIndexes: coll, index });
};

const modify = async (db: Db, coll: string, ...changes: Document[]): Promise<void> => {
  for (const index of changes) await db.command({ collMod: coll, index });
};

/** Indexes of the kinds that all servers have; one collection can have them all. */
const commonKinds: readonly Document[] = [
  { key: { a: 1 }, name: 'of version 1', v: 1 },
  { key: { u: 1 }, name: 'unique', unique: true, sparse: true },
  { key: { s: 1 }, name: 'sparse', sparse: true },
  { key: { p: 1 }, name: 'partial', partialFilterExpression: { p: { $gt: 5 } } },
  { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 3600.7 },
  { key: { h: 1, i: -1 }, name: 'hidden', hidden: true },
  { key: { g: '2dsphere', n: 1 }, name: 'geo, unique', unique: true },
  { key: { f: '2d' }, name: 'flat', min: -10, max: 200, bits: 16 },
  { key: { k: 'hashed', n: -1 }, name: 'hashed' },
  { key: { 'w.$**': 1 }, name: 'wild' },
  { key: { '$**': 1 }, name: 'wild but', wildcardProjection: { w: 0, 'x.y': 0 } },
  {
    key: { n: 1, t: 'text', 'o.deep': 'text' },
    name: 'text, hidden',
    hidden: true,
    weights: { t: 5, 'o.deep': 2 },
    default_language: 'french',
    language_override: 'idiom',
  },
  { key: { c: 1 }, name: 'collated', collation: { locale: 'sv', strength: 1 } },
  { key: { z: 0.5, y: -7 }, name: 'odd directions' },
  { key: { d: 1 }, name: ' $odd.näme "quoted" ' },
  {
    key: { e: 1 },
    name: 'stored',
    storageEngine: { wiredTiger: { configString: 'block_compressor=zlib' } },
  },
];

/** Only servers up to 6.x take it (7.0.28 refuses it). */
const endless: Document = {
  key: { never: 1 },
  name: 'ttl that never ends',
  expireAfterSeconds: NaN,
};

/** Servers from 7.0 on have it. */
const compoundWildcard: Document = { key: { c: 1, 'w.$**': 1 }, name: 'wild, of several' };

/** Indexes of every kind that the server has. */
async function everyKindOf(db: Db): Promise<readonly Document[]> {
  const { version } = await db.admin().serverInfo();
  return [...commonKinds, majorVersion(version as string) < 7 ? endless : compoundWildcard];
}

/** Changes of indexes, by what they are. */
export const indexChanges: Readonly<Record<string, CatalogChange>> = {
  createIndexes: {
    before: async (db) => {
      await fill(db, 'a');
      await db.command({ create: 'empty' });
    },
    change: async (db) => {
      const indexes = [
        { key: { n: 1 }, name: 'unique', unique: true },
        { key: { n: -1, in: 1 }, name: 'compound', partialFilterExpression: { n: { $gt: 1 } } },
        { key: { in: 'text' }, name: 'text', weights: { in: 3 } },
        { key: { 'x.$**': 1 }, name: 'wildcard' },
        { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 10_000 },
      ];
      await db.command({ createIndexes: 'a', indexes });
      await db.command({ createIndexes: 'empty', indexes });
      await db.command({ createIndexes: 'new', indexes });
      await db.collection('a').insertOne({ n: 10, in: 'more words' });
    },
  },
  'dropIndexes: by name, by keys, several, all': {
    before: async (db) => {
      for (const name of ['one', 'keys', 'some', 'all']) {
        await fill(db, name);
        const keys = ['a', 'b', 'c', 'd'];
        await db.command({
          createIndexes: name,
          indexes: keys.map((key) => ({ key: { [key]: 1 }, name: key, hidden: key === 'b' })),
        });
      }
    },
    change: async (db) => {
      await db.command({ dropIndexes: 'one', index: 'a' });
      await db.command({ dropIndexes: 'keys', index: { b: 1 } });
      await db.command({ dropIndexes: 'some', index: ['b', 'c'] });
      await db.command({ dropIndexes: 'all', index: '*' });
    },
  },
  'an index dropped, and created otherwise under the same name': {
    before: async (db) => {
      await withIndexes(db, 'a');
    },
    change: async (db) => {
      await db.command({ dropIndexes: 'a', index: 'unique' });
      await db.collection('a').insertMany([{ n: 1 }, { n: 1 }]);
      await db.command({
        createIndexes: 'a',
        indexes: [{ key: { other: -1 }, name: 'unique', sparse: true }],
      });
    },
  },
  'a unique index made after its duplicates are removed': {
    before: async (db) => {
      await db.collection('a').insertMany([{ n: 1 }, { n: 1 }, { n: 2 }]);
    },
    change: async (db) => {
      await db.collection('a').deleteOne({ n: 1 });
      await db.command({
        createIndexes: 'a',
        indexes: [{ key: { n: 1 }, name: 'unique', unique: true }],
      });
      await db.collection('a').insertOne({ n: 3 });
    },
  },
  'a unique index dropped, duplicates, and a unique index on other keys': {
    before: async (db) => {
      await withIndexes(db, 'a');
    },
    change: async (db) => {
      await db.command({ dropIndexes: 'a', index: 'unique' });
      await db.collection('a').insertMany([
        { n: 1, m: 1 },
        { n: 1, m: 2 },
      ]);
      await db.collection('a').deleteMany({ m: { $exists: false } });
      await db.command({
        createIndexes: 'a',
        indexes: [{ key: { n: 1, m: 1 }, name: 'both', unique: true }],
      });
    },
  },
  'documents that an index refuses, after it was dropped': {
    before: async (db) => {
      await fill(db, 'a');
      await db.command({
        createIndexes: 'a',
        indexes: [
          { key: { x: 1, y: 1 }, name: 'compound' },
          { key: { place: '2dsphere' }, name: 'geo' },
          { key: { h: 'hashed' }, name: 'hashed' },
          { key: { 'list.0': 1 }, name: 'numeric' },
          { key: { c: 1 }, name: 'collated', collation: { locale: 'sv' } },
          { key: { d: 1 }, name: 'of version 1', v: 1 },
        ],
      });
      await db.command({ create: 'collated', collation: { locale: 'sv' } });
      await fill(db, 'collated');
      await createIndexes(db, 'collated', { key: { c: 1 }, name: 'own' });
    },
    change: async (db) => {
      await db.command({ dropIndexes: 'a', index: '*' });
      await db
        .collection('a')
        .insertMany([
          { x: [1], y: [2], place: 'nowhere', h: [1] },
          { list: [{ '0': 1 }] },
          { c: new BSONSymbol('c') },
          { d: Decimal128.fromString('1.10') },
        ]);
      await dropIndexes(db, 'collated', 'own');
      await db.collection('collated').insertOne({ c: new BSONSymbol('c') });
      await db.collection('a').deleteOne({ place: 'nowhere' });
      await db.command({
        createIndexes: 'a',
        indexes: [{ key: { x: 1, y: 1 }, name: 'compound' }],
      });
    },
  },
  'a document of a capped collection that an index refuses, after it was dropped': {
    before: async (db) => {
      await db.command({ create: 'a', capped: true, size: 100_000 });
      await fill(db, 'a');
      await createIndexes(db, 'a', { key: { x: 1, y: 1 }, name: 'compound' });
    },
    change: async (db) => {
      await dropIndexes(db, 'a', 'compound');
      await db.collection('a').updateOne({ n: 2 }, { $set: { x: [1, 2], y: [1, 2] } });
    },
  },
  'indexes of every kind: created, dropped, and created again': {
    before: async (db) => {
      const everyKind = await everyKindOf(db);
      for (const coll of ['some', 'all', 'dropped']) await fill(db, coll);
      await createIndexes(db, 'all', ...everyKind);
      await createIndexes(db, 'dropped', ...everyKind);
    },
    change: async (db) => {
      const everyKind = await everyKindOf(db);
      await createIndexes(db, 'some', ...everyKind);
      await createIndexes(db, 'empty', ...everyKind);
      await dropIndexes(db, 'all', '*');
      await createIndexes(db, 'all', ...everyKind);
      await dropIndexes(
        db,
        'dropped',
        { u: 1 },
        'geo, unique',
        { k: 'hashed', n: -1 },
        { '$**': 1 },
      );
      await dropIndexes(db, 'dropped', 'text, hidden', ' $odd.näme "quoted" ', { z: 0.5, y: -7 });
      await fill(db, 'some', 'empty', 'dropped');
    },
  },
  'indexes on the same keys: unique, sparse, partial, collated, hidden': {
    before: async (db) => {
      await fill(db, 'before', 'after', 'dropped');
      for (const coll of ['before', 'dropped']) await createIndexes(db, coll, ...onSameKeys);
    },
    change: async (db) => {
      await createIndexes(db, 'after', ...onSameKeys);
      await modify(db, 'after', { name: 'plain', hidden: true }, { name: 'plain', hidden: false });
      await modify(db, 'after', { name: 'unique', hidden: true });
      await dropIndexes(db, 'dropped', 'plain', 'swedish', 'sparse', 'low');
      await createIndexes(db, 'dropped', { key: { n: 1 }, name: 'plain again', hidden: true });
      await createIndexes(db, 'dropped', { key: { n: 1 }, name: 'sparse again', sparse: true });
    },
  },
  'indexes of a collection with a collation: with its own, another, none': {
    before: async (db) => {
      for (const coll of ['a', 'dropped']) {
        await db.command({ create: coll, collation: { locale: 'en', strength: 2 } });
        await createIndexes(db, coll, ...onCollated);
      }
      await db.command({ create: 'b', collation: { locale: 'fr' } });
      await fill(db, 'a', 'b', 'dropped');
    },
    change: async (db) => {
      await createIndexes(db, 'b', ...onCollated);
      await db.command({ create: 'c', collation: { locale: 'de' } });
      await createIndexes(db, 'c', ...onCollated);
      await dropIndexes(db, 'dropped', 'own', 'simple text');
      for (const coll of ['a', 'b', 'c']) await db.collection(coll).insertOne({ in: coll, n: -1 });
    },
  },
  'the same index name, unique and not, in turn': {
    before: async (db) => {
      await fill(db, 'a', 'b');
      await createIndexes(db, 'a', { key: { n: 1 }, name: 'n', unique: true });
      await createIndexes(db, 'b', { key: { n: 1 }, name: 'n' });
    },
    change: async (db) => {
      for (const unique of [false, true, false]) {
        await dropIndexes(db, 'a', 'n');
        await createIndexes(db, 'a', { key: { n: 1 }, name: 'n', ...(unique && { unique }) });
        await dropIndexes(db, 'b', 'n');
        await createIndexes(db, 'b', {
          key: { n: 1 },
          name: 'n',
          ...(!unique && { unique: true }),
        });
      }
      await db.collection('a').insertMany([{ n: 1 }, { n: 1 }]);
    },
  },
  'collMod of indexes: hide, unhide, TTL, prepareUnique, unique, several at once, none': {
    before: async (db) => {
      await fill(db, 'a');
      const names = ['hide', 'unhide', 'ttl', 'new ttl', 'prepared', 'unique', 'all', 'none'];
      await createIndexes(
        db,
        'a',
        ...names.map((name) => ({
          key: { [name]: 1, ...(name.includes('ttl') || name === 'all' ? {} : { n: 1 }) },
          name,
          ...(name === 'unhide' && { hidden: true }),
          ...(name === 'ttl' && { expireAfterSeconds: 600 }),
        })),
      );
    },
    change: async (db) => {
      await modify(
        db,
        'a',
        { name: 'hide', hidden: true },
        { keyPattern: { unhide: 1, n: 1 }, hidden: false },
        { name: 'ttl', expireAfterSeconds: 900.5 },
        { keyPattern: { 'new ttl': 1 }, expireAfterSeconds: 1200 },
        { name: 'prepared', prepareUnique: true },
        { name: 'unique', prepareUnique: true },
        { name: 'unique', unique: true },
        { name: 'unique', hidden: true },
        { name: 'all', expireAfterSeconds: 300, hidden: true },
        { name: 'none', hidden: false },
        { name: 'ttl', expireAfterSeconds: 900 },
      );
      await assert.rejects(db.collection('a').insertOne({ n: 1 }), { code: 11000 });
      await db.collection('a').insertOne({ n: 100 });
    },
  },
  'a unique index that is made an ordinary one, and a hidden one of them': {
    before: async (db) => {
      await fill(db, 'a');
      await createIndexes(
        db,
        'a',
        { key: { n: 1, x: 1 }, name: 'x', unique: true },
        { key: { n: 1, y: 1 }, name: 'y', unique: true, hidden: true },
        { key: { n: 1, z: 1 }, name: 'z', unique: true },
      );
    },
    change: async (db) => {
      for (const key of [
        { n: 1, x: 1 },
        { n: 1, y: 1 },
      ])
        await modify(db, 'a', { keyPattern: key, forceNonUnique: true });
      await modify(db, 'a', { name: 'z', forceNonUnique: true });
      await modify(db, 'a', { name: 'z', prepareUnique: true }, { name: 'z', unique: true });
      // Two that only the former indexes refuse.
      await dropIndexes(db, 'a', 'z');
      await db.collection('a').insertMany([{ n: 0 }, { n: 0 }]);
    },
  },
  'an index prepared to be unique: dropped, released, made unique and dropped': {
    before: async (db) => {
      await fill(db, 'a');
      for (const name of ['x', 'y', 'z', 'w'])
        await createIndexes(db, 'a', { key: { n: 1, [name]: 1 }, name });
    },
    change: async (db) => {
      for (const name of ['x', 'y', 'z', 'w']) await modify(db, 'a', { name, prepareUnique: true });
      await dropIndexes(db, 'a', 'x');
      await modify(db, 'a', { name: 'y', prepareUnique: false });
      await modify(db, 'a', { name: 'z', unique: true });
      await dropIndexes(db, 'a', 'z');
      await modify(db, 'a', { name: 'w', unique: true });
      await createIndexes(db, 'a', { key: { n: 1, z: 1 }, name: 'z', unique: true });
    },
  },
  'indexes changed in a collection that is renamed, converted and replaced': {
    before: async (db, other) => {
      await withIndexes(db, 'a', 'b');
      await withIndexes(other, 'target');
    },
    change: async (db, other) => {
      const name = 'unique';
      await createIndexes(db, 'a', { key: { n: 1 }, name: 'plain' });
      await db.renameCollection('a', 'c');
      await modify(db, 'c', { name: 'plain', hidden: true }, { name, hidden: true });
      await dropIndexes(db, 'c', 'hidden');
      await db.renameCollection('b', 'a');
      await modify(db, 'a', { name: 'hidden', hidden: false });
      await db.renameCollection('a', 'c', { dropTarget: true });
      await createIndexes(db, 'c', { key: { m: 1 }, name: 'm', unique: true, sparse: true });
      await db.client.db('admin').command({
        renameCollection: `${db.databaseName}.c`,
        to: `${other.databaseName}.target`,
        dropTarget: true,
      });
      await dropIndexes(other, 'target', name);
      await modify(other, 'target', { name: 'm', hidden: true });
    },
  },
};

const onSameKeys: readonly Document[] = [
  { key: { n: 1 }, name: 'plain' },
  { key: { n: 1 }, name: 'unique', unique: true },
  { key: { n: 1 }, name: 'sparse', sparse: true },
  { key: { n: 1 }, name: 'sparse and unique', sparse: true, unique: true },
  { key: { n: 1 }, name: 'low', partialFilterExpression: { n: { $lt: 3 } } },
  { key: { n: 1 }, name: 'high', partialFilterExpression: { n: { $gt: 3 } }, unique: true },
  { key: { n: 1 }, name: 'swedish', collation: { locale: 'sv' }, unique: true },
  { key: { n: 1 }, name: 'strong swedish', collation: { locale: 'sv', strength: 4 } },
];

const onCollated: readonly Document[] = [
  { key: { in: 1 }, name: 'own' },
  { key: { in: 1 }, name: 'simple', collation: { locale: 'simple' } },
  { key: { in: 1 }, name: 'other', collation: { locale: 'sv', strength: 1 } },
  { key: { in: 1, n: 1 }, name: 'own unique', unique: true },
  {
    key: { in: 1, n: 1 },
    name: 'simple unique',
    unique: true,
    collation: { locale: 'simple' },
  },
  { key: { in: 'text' }, name: 'simple text', collation: { locale: 'simple' } },
  { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 3600 },
];
