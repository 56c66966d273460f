import type { Db, Document } from 'mongodb';

/** Changes of the catalog: what is there before the sync, and what is done once change events are applied. */
export interface CatalogChange {
  readonly before?: (db: Db, other: Db) => Promise<unknown>;
  readonly change: (db: Db, other: Db) => Promise<unknown>;
}

/** Puts a few documents into collections. */
export const fill = async (db: Db, ...names: string[]): Promise<void> => {
  for (const name of names)
    await db.collection(name).insertMany(Array.from({ length: 5 }, (_, n) => ({ in: name, n })));
};

const rename = async (
  from: readonly [Db, string],
  to: readonly [Db, string],
  options: Document = {},
): Promise<void> => {
  const [db, name] = from;
  await db.client.db('admin').command({
    renameCollection: `${db.databaseName}.${name}`,
    to: `${to[0].databaseName}.${to[1]}`,
    ...options,
  });
};

/** Fills collections that have a unique and a hidden index. */
export const withIndexes = async (db: Db, ...names: string[]): Promise<void> => {
  await fill(db, ...names);
  for (const name of names) {
    await db.command({
      createIndexes: name,
      indexes: [
        { key: { n: 1 }, name: 'unique', unique: true },
        { key: { in: 1 }, name: 'hidden', hidden: true },
      ],
    });
  }
};

/** Changes of collections, views and databases, by what they are. */
export const collectionChanges: Readonly<Record<string, CatalogChange>> = {
  'create, with every option': {
    change: async (db) => {
      const clusteredIndex = { key: { _id: 1 }, unique: true };
      await db.command({ create: 'plain' });
      await db.command({ create: 'capped', capped: true, size: 5000, max: 3 });
      await db.command({ create: 'collated', collation: { locale: 'sv', strength: 1 } });
      await db.command({ create: 'clustered', clusteredIndex, expireAfterSeconds: 3600 });
      await db.command({
        create: 'validated',
        validator: { $jsonSchema: { properties: { in: { type: 'string' } } } },
        validationAction: 'error',
        changeStreamPreAndPostImages: { enabled: true },
      });
      await fill(db, 'plain', 'capped', 'collated', 'validated');
    },
  },
  'create by inserting, in a new database': {
    before: async (db) => await db.dropDatabase(),
    change: async (db, other) => {
      await fill(db, 'first');
      await fill(other, 'second');
    },
  },
  drop: {
    before: async (db) => {
      await fill(db, 'stays', 'goes');
    },
    change: async (db) => await db.dropCollection('goes'),
  },
  'drop, and create again under the same name, again and again': {
    before: async (db) => {
      await withIndexes(db, 'a');
    },
    change: async (db) => {
      for (let time = 0; time < 4; time++) {
        await db.dropCollection('a');
        await db.command({ create: 'a', ...(time % 2 === 0 ? { capped: true, size: 4096 } : {}) });
        await fill(db, 'a');
      }
      await db.command({ createIndexes: 'a', indexes: [{ key: { n: 1 }, name: 'unique' }] });
    },
  },
  rename: {
    before: async (db) => {
      await withIndexes(db, 'a');
    },
    change: async (db) => {
      await rename([db, 'a'], [db, 'b']);
      await fill(db, 'a');
      await db.collection('b').updateMany({}, { $inc: { n: 100 } });
    },
  },
  'rename over another collection (dropTarget)': {
    before: async (db) => {
      await withIndexes(db, 'a', 'b');
    },
    change: async (db) => {
      await db.collection('b').insertOne({ goes: true });
      await rename([db, 'a'], [db, 'b'], { dropTarget: true });
      await db.collection('b').insertOne({ stays: true });
    },
  },
  'rename in circles: two collections swap their names': {
    before: async (db) => {
      await withIndexes(db, 'a');
      await fill(db, 'b');
    },
    change: async (db) => {
      for (let time = 0; time < 3; time++) {
        await rename([db, 'a'], [db, 'c']);
        await rename([db, 'b'], [db, 'a']);
        await rename([db, 'c'], [db, 'b']);
        await db.collection('a').insertOne({ a: time, n: 1000 + time });
        await db.collection('b').insertOne({ b: time, n: 1000 + time });
      }
    },
  },
  'rename into another database': {
    before: async (db) => {
      await withIndexes(db, 'a');
    },
    change: async (db, other) => {
      await db.collection('a').insertOne({ n: 50 });
      await rename([db, 'a'], [other, 'moved']);
      await other.collection('moved').insertOne({ n: 51 });
      await fill(db, 'a');
    },
  },
  'rename into another database, over another collection': {
    before: async (db, other) => {
      await withIndexes(db, 'a');
      await withIndexes(other, 'target');
    },
    change: async (db, other) => {
      await rename([db, 'a'], [other, 'target'], { dropTarget: true });
    },
  },
  'rename in a chain, each name taken again at once': {
    before: async (db) => {
      await withIndexes(db, 'a', 'b');
    },
    change: async (db) => {
      await rename([db, 'b'], [db, 'c']);
      await rename([db, 'a'], [db, 'b']);
      await withIndexes(db, 'a');
      await rename([db, 'c'], [db, 'd']);
      await rename([db, 'b'], [db, 'c']);
      await db.collection('c').updateMany({}, { $set: { was: 'a' } });
      await rename([db, 'a'], [db, 'b']);
      await rename([db, 'd'], [db, 'c'], { dropTarget: true });
      await db.collection('c').insertOne({ was: 'b' });
    },
  },
  'rename into another database, and the old one dropped': {
    before: async (db) => {
      await withIndexes(db, 'a', 'b');
    },
    change: async (db, other) => {
      await rename([db, 'a'], [other, 'a']);
      await db.dropDatabase();
      await rename([other, 'a'], [db, 'a']);
      await rename([db, 'a'], [other, 'a']);
      await other.collection('a').insertOne({ n: 60 });
    },
  },
  dropDatabase: {
    before: async (db) => {
      await withIndexes(db, 'a', 'b');
      await db.command({ create: 'view', viewOn: 'a', pipeline: [] });
    },
    change: async (db) => await db.dropDatabase(),
  },
  'dropDatabase, and a new one of the same name': {
    before: async (db) => {
      await withIndexes(db, 'a', 'b');
      await db.command({ create: 'v', viewOn: 'a', pipeline: [] });
    },
    change: async (db) => {
      await db.dropDatabase();
      await fill(db, 'a');
      await db.command({ create: 'b', viewOn: 'a', pipeline: [] });
    },
  },
  'collMod: validator, level, action, pre-images': {
    before: async (db) => {
      for (const name of ['set', 'off', 'images']) await fill(db, name);
      await db.command({
        collMod: 'off',
        validator: { n: { $gte: 0 } },
        validationLevel: 'strict',
      });
    },
    change: async (db) => {
      await db.command({
        collMod: 'set',
        validator: { $expr: { $lt: ['$n', 100] } },
        validationLevel: 'moderate',
        validationAction: 'warn',
      });
      await db.command({ collMod: 'off', validator: {}, validationLevel: 'off' });
      await db.command({ collMod: 'images', changeStreamPreAndPostImages: { enabled: true } });
      await db.collection('images').updateMany({}, { $inc: { n: 1 } });
    },
  },
  'views: create, collMod, drop, create again, replace by a collection': {
    before: async (db) => {
      await fill(db, 'a');
      await db.command({ create: 'changed', viewOn: 'a', pipeline: [] });
      await db.command({ create: 'dropped', viewOn: 'a', pipeline: [] });
      await db.command({ create: 'again', viewOn: 'a', pipeline: [] });
      await db.command({ create: 'collection', viewOn: 'a', pipeline: [] });
    },
    change: async (db) => {
      await db.command({
        create: 'new',
        viewOn: 'changed',
        pipeline: [{ $match: { n: 1 } }],
      });
      await db.command({ collMod: 'changed', viewOn: 'b', pipeline: [{ $project: { n: 1 } }] });
      await db.command({
        create: 'french',
        viewOn: 'a',
        pipeline: [],
        collation: { locale: 'fr' },
      });
      await db.dropCollection('dropped');
      await db.dropCollection('again');
      await db.command({ create: 'again', viewOn: 'b', pipeline: [{ $limit: 1 }] });
      await db.dropCollection('collection');
      await fill(db, 'collection', 'b');
      await db.dropCollection('b');
      await db.command({ create: 'b', viewOn: 'a', pipeline: [] });
    },
  },
  convertToCapped: {
    before: async (db) => {
      await withIndexes(db, 'a');
    },
    change: async (db) => {
      await db.collection('a').insertOne({ n: 6 });
      await db.command({ convertToCapped: 'a', size: 8192 });
      await db.collection('a').insertOne({ n: 7 });
    },
  },
  'convertToCapped of a clustered collection': {
    before: async (db) => {
      const clusteredIndex = { key: { _id: 1 }, unique: true };
      for (const name of ['a', 'b', 'ttl']) await db.command({ create: name, clusteredIndex });
      await db.command({ collMod: 'ttl', expireAfterSeconds: 3600 });
      await fill(db, 'a', 'b', 'ttl');
      await db.command({ convertToCapped: 'a', size: 8192 });
    },
    change: async (db) => {
      await db.command({ convertToCapped: 'b', size: 8192 });
      await db.command({ convertToCapped: 'ttl', size: 8192 });
      await fill(db, 'a', 'b', 'ttl');
    },
  },
  'cloneCollectionAsCapped and $out': {
    before: async (db) => {
      await fill(db, 'a');
      await withIndexes(db, 'out');
    },
    change: async (db) => {
      await db.command({ cloneCollectionAsCapped: 'a', toCollection: 'capped', size: 8192 });
      await db
        .collection('a')
        .aggregate([{ $match: { n: { $lt: 3 } } }, { $out: 'new' }])
        .toArray();
      await db
        .collection('a')
        .aggregate([{ $set: { n: -1, m: '$n' } }, { $project: { n: '$m' } }, { $out: 'out' }])
        .toArray();
      await db
        .collection('a')
        .aggregate([{ $set: { more: 1 } }, { $merge: 'new' }])
        .toArray();
    },
  },
  'convertToCapped again and again, and renamed': {
    before: async (db) => {
      await withIndexes(db, 'a', 'b');
    },
    change: async (db) => {
      for (const size of [20_000, 12_000, 8_192]) {
        await db.command({ convertToCapped: 'a', size });
        await db.collection('a').insertOne({ n: size });
      }
      await rename([db, 'a'], [db, 'b'], { dropTarget: true });
      await db.command({ convertToCapped: 'b', size: 4_096 });
      await fill(db, 'a');
    },
  },
  '$out and $merge into another database, over and into what is there': {
    before: async (db, other) => {
      await fill(db, 'a');
      await withIndexes(other, 'out');
      await fill(other, 'merged');
    },
    change: async (db, other) => {
      const to = other.databaseName;
      const into = { db: to, coll: 'merged' };
      for (const stages of [
        [{ $out: { db: to, coll: 'out' } }],
        [{ $out: { db: to, coll: 'new' } }],
        [{ $set: { m: '$n', n: '$_id' } }, { $merge: { into } }],
        [{ $set: { m: 'all' } }, { $merge: { into, whenMatched: 'replace' } }],
        [{ $set: { k: 1 } }, { $merge: { into, whenMatched: [{ $set: { k: '$$new.n' } }] } }],
        [{ $match: { n: { $gt: 2 } } }, { $out: 'a' }],
      ])
        await db.collection('a').aggregate(stages).toArray();
    },
  },
  'a capped collection: filled over its end': {
    before: async (db) => {
      await db.command({ create: 'a', capped: true, size: 4096, max: 10 });
      await fill(db, 'a');
    },
    change: async (db) => {
      for (let time = 0; time < 6; time++) await fill(db, 'a');
      await db.collection('a').updateOne({}, { $set: { n: 77 } });
    },
  },
  'a transaction that creates a collection and an index': {
    change: async (db) => {
      await db.client.withSession(async (session) => {
        await session.withTransaction(async () => {
          await db.createCollection('made', { session });
          await db.command(
            { createIndexes: 'made', indexes: [{ key: { n: 1 }, name: 'n', unique: true }] },
            { session },
          );
          await db.collection('made').insertOne({ n: 1 }, { session });
        });
      });
    },
  },
  'names with dots, spaces, dollars inside, and beyond ASCII': {
    before: async (db) => {
      await fill(db, 'a.b.c', 'größe 📏');
    },
    change: async (db) => {
      await rename([db, 'a.b.c'], [db, 'a.b']);
      await fill(db, 'a.b', 'tmpagg', 'tmpabcde.mine', 'größe 📏', 'x'.repeat(200));
      await db.dropCollection('größe 📏');
    },
  },
};
