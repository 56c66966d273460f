import type { Document, MongoClient } from 'mongodb';
import type { Mutex } from '../../../service/mutex.ts';
import { SeededRandom } from './seeded-random.ts';

/** Where a workload writes: two databases with a few collections each. */
export const workloadDatabases = ['load_a', 'load_b'] as const;
export const workloadCollections = [
  'one',
  'two',
  'three',
  'four',
  'Five.with.dots',
  'six',
] as const;

type CatalogChange = (
  client: MongoClient,
  db: string,
  coll: string,
  random: SeededRandom,
) => Promise<unknown>;

/**
 * Renames a collection. On a sharded cluster it drops the target in any case: if somebody creates a target that is to be kept while
 * the rename is under way, the rename, and everything that waits for it, never ends (SERVER-67325; seen on 6.0.27, which logs
 * NamespaceExists every second).
 */
async function rename(
  client: MongoClient,
  from: string,
  to: string,
  dropTarget: boolean,
): Promise<void> {
  const admin = client.db('admin');
  const { msg } = await admin.command({ hello: 1 });
  const isSharded = msg === 'isdbgrid';
  await admin.command({ renameCollection: from, to, dropTarget: dropTarget || isSharded });
}

const allIndexes: readonly ((random: SeededRandom) => Document)[] = [
  () => ({ key: { number: 1 }, name: 'number_1' }),
  () => ({
    key: { number: 1 },
    name: 'number_unique',
    unique: true,
    partialFilterExpression: { number: { $gt: 490 } },
  }),
  () => ({ key: { upserted: 1 }, name: 'upserted_unique', unique: true, sparse: true }),
  () => ({ key: { at: 1 }, name: 'ttl', expireAfterSeconds: 36_000 }),
  () => ({ key: { a: 1, 'nested.a': -1 }, name: 'compound' }),
  () => ({ key: { b: 1 }, name: 'hidden_b', hidden: true }),
  () => ({ key: { text: 'text' }, name: 'words', weights: { text: 3 } }),
  () => ({ key: { zz: 'hashed' }, name: 'hashed zz' }),
  () => ({ key: { '$**': 1 }, name: 'wildcard' }),
  () => ({ key: { number: 1 }, name: 'number_sparse', sparse: true }),
  () => ({ key: { number: 1, zz: 1 }, name: 'becomes_unique' }),
  () => ({ key: { a: 1 }, name: 'simple_a', collation: { locale: 'simple' } }),
  () => ({ key: { found: 1 }, name: 'found', hidden: true, expireAfterSeconds: 50_000 }),
  (random) => ({
    key: { c: 1 },
    name: `c${random.below(3)}`,
    collation: { locale: 'en', strength: 1 + random.below(3) },
  }),
];

const options: readonly (readonly [number, Document])[] = [
  [5, {}],
  [1, { capped: true, size: 40_000 }],
  [1, { capped: true, size: 100_000, max: 30 }],
  [1, { collation: { locale: 'en', strength: 2 } }],
  [1, { clusteredIndex: { key: { _id: 1 }, unique: true } }],
  [1, { validator: { number: { $gte: 0 } }, validationLevel: 'moderate' }],
  [1, { changeStreamPreAndPostImages: { enabled: true } }],
];

const allModifications: readonly ((random: SeededRandom) => Document)[] = [
  (random) => ({
    validator: { number: { $gte: -random.below(9) } },
    validationAction: random.pick(['warn', 'error']),
  }),
  (random) => ({ validationLevel: random.pick(['off', 'strict', 'moderate']) }),
  (random) => ({ index: { name: 'number_1', hidden: random.chance(0.5) } }),
  (random) => ({ index: { name: 'ttl', expireAfterSeconds: 36_000 + random.below(1000) } }),
  (random) => ({ index: { name: 'found', expireAfterSeconds: random.below(9_000_000) } }),
  (random) => ({ index: { keyPattern: { b: 1 }, hidden: random.chance(0.5) } }),
  () => ({ index: { name: 'becomes_unique', prepareUnique: true } }),
  () => ({ index: { name: 'becomes_unique', prepareUnique: true } }),
  () => ({ index: { name: 'becomes_unique', unique: true } }),
  () => ({ index: { name: 'becomes_unique', unique: true } }),
  () => ({ index: { name: 'compound', prepareUnique: true } }),
  () => ({ index: { name: 'compound', prepareUnique: false } }),
  (random) => ({ changeStreamPreAndPostImages: { enabled: random.chance(0.5) } }),
  (random) => ({ cappedSize: 20_000 + random.below(50_000) }),
  (random) => ({ cappedMax: random.below(200) }),
];

/** Indexes that cannot be unique where `number` is the shard key. */
const breakingIndexes: ReadonlySet<unknown> = new Set(['upserted_unique', 'compound']);

/**
 * Changes of the catalog of every kind, with their weights. Many fail because of what exists already, which is intended.
 * @param isSharded - leaves out what no collection can have whose shard key is `number`.
 * @param sharding - held by what must not run while a collection is being sharded: 6.0.5 does not keep `convertToCapped` apart
 * from that, and leaves a collection with one UUID on one shard and another on the next (6 of 12 tries by hand).
 */
export function randomCatalogChanges(
  isSharded: boolean,
  sharding: Mutex,
): readonly (readonly [number, CatalogChange])[] {
  return isSharded
    ? changesWith(allIndexes.filter(isKept), allModifications.filter(isKept), sharding)
    : changesWith(allIndexes, allModifications, sharding);
}

function isKept(make: (random: SeededRandom) => Document): boolean {
  const made = make(new SeededRandom(1));
  return !breakingIndexes.has((made['index'] as Document | undefined)?.['name'] ?? made['name']);
}

type Makers = readonly ((random: SeededRandom) => Document)[];

function changesWith(
  indexes: Makers,
  modifications: Makers,
  sharding: Mutex,
): readonly (readonly [number, CatalogChange])[] {
  return [
    [
      6,
      async (client, db, coll, random) =>
        await client.db(db).createCollection(coll, random.weighted(options)),
    ],
    [4, async (client, db, coll) => await client.db(db).dropCollection(coll)],
    [
      5,
      async (client, db, coll, random) => {
        const to = `${db}.${random.pick(workloadCollections)}`;
        await rename(client, `${db}.${coll}`, to, random.chance(0.5));
      },
    ],
    [
      1,
      async (client, db, coll, random) => {
        const to = `${random.pick(workloadDatabases)}.${random.pick(workloadCollections)}`;
        await rename(client, `${db}.${coll}`, to, true);
      },
    ],
    [
      2,
      async (client, db, coll, random) => {
        // A swap: the first name is taken again at once.
        const names = [coll, random.pick(workloadCollections), 'between'] as const;
        for (const [from, to] of [
          [names[0], names[2]],
          [names[1], names[0]],
          [names[2], names[1]],
        ] as const)
          await rename(client, `${db}.${from}`, `${db}.${to}`, random.chance(0.3));
      },
    ],
    [
      1,
      async (client, db, coll, random) => {
        // A chain: everything moves on by one name.
        let from: string = coll;
        for (let moves = 0; moves < 3; moves++) {
          const to = random.pick(workloadCollections);
          await rename(client, `${db}.${from}`, `${db}.${to}`, true);
          await client.db(db).createCollection(from);
          from = to;
        }
      },
    ],
    [
      1,
      async (client, db, coll, random) => {
        const into = {
          db: random.pick(workloadDatabases),
          coll: random.pick(workloadCollections),
        };
        const stages = [{ $match: { number: { $lt: random.below(400) } } }];
        const last = random.chance(0.5)
          ? { $out: into }
          : { $merge: { into, whenMatched: random.pick(['replace', 'merge', 'keepExisting']) } };
        await client
          .db(db)
          .collection(coll)
          .aggregate([...stages, last])
          .toArray();
      },
    ],
    [
      0.5,
      async (client, db, coll, random) => {
        const toCollection = random.pick(workloadCollections);
        const clone = { cloneCollectionAsCapped: coll, toCollection, size: 30_000 };
        return await sharding.run(async () => await client.db(db).command(clone));
      },
    ],
    [
      0.5,
      async (client, db, coll, random) => {
        // A collection where there may be a view the next time. Not the other way round, under the names that writers use:
        // 6.0.5 ends when it is to change the size of a view (collMod with cappedSize).
        const name = `view${random.below(3)}`;
        await client.db(db).dropCollection(name);
        await client
          .db(db)
          .collection(coll)
          .aggregate([{ $limit: 5 }, { $out: name }])
          .toArray();
      },
    ],
    [
      8,
      async (client, db, coll, random) =>
        await client
          .db(db)
          .command({ createIndexes: coll, indexes: [random.pick(indexes)(random)] }),
    ],
    [
      3,
      async (client, db, coll, random) =>
        await client
          .db(db)
          .command({ dropIndexes: coll, index: String(random.pick(indexes)(random)['name']) }),
    ],
    [1, async (client, db, coll) => await client.db(db).command({ dropIndexes: coll, index: '*' })],
    [
      5,
      async (client, db, coll, random) =>
        await client.db(db).command({ collMod: coll, ...random.pick(modifications)(random) }),
    ],
    [
      1,
      async (client, db, coll) =>
        await sharding.run(async () => {
          return await client.db(db).command({ convertToCapped: coll, size: 50_000 });
        }),
    ],
    [
      2,
      async (client, db, coll, random) =>
        await client.db(db).createCollection(`view${random.below(3)}`, {
          viewOn: coll,
          pipeline: [{ $match: { number: random.below(9) } }],
        }),
    ],
    [
      1,
      async (client, db, coll, random) =>
        await client
          .db(db)
          .command({ collMod: `view${random.below(3)}`, viewOn: coll, pipeline: [] }),
    ],
    [
      1,
      async (client, db, _coll, random) =>
        await client.db(db).dropCollection(`view${random.below(3)}`),
    ],
    [0.3, async (client, db) => await client.db(db).dropDatabase()],
  ];
}
