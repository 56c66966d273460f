import assert from 'node:assert/strict';
import type { Db, Document } from 'mongodb';
import { until } from '../../ground/until.ts';
import { commitAndWait, indexOf, useClusterPair } from './cluster-pair.ts';

const maxInt = 2_147_483_647;

/** One index: how it is created on the source, and what of it is different on the destination during the sync. */
interface IndexCase {
  readonly name: string;
  readonly key: Document;
  readonly options: Document;
  /** undefined: the option is not there. */
  readonly during: Document;
}

const cases: Readonly<Record<string, IndexCase>> = {
  'an ordinary index': { name: 'plain', key: { a: 1 }, options: {}, during: {} },
  'a descending compound index': { name: 'both', key: { a: -1, b: 1 }, options: {}, during: {} },
  'a multikey index of a path': { name: 'path', key: { 'list.part': 1 }, options: {}, during: {} },
  'a unique index': {
    name: 'unique',
    key: { u: 1 },
    options: { unique: true },
    during: { unique: undefined },
  },
  'a unique compound index with a partial filter': {
    name: 'uniquePartial',
    key: { u: 1, a: 1 },
    options: { unique: true, partialFilterExpression: { u: { $gt: 3 } } },
    during: { unique: undefined },
  },
  'a TTL index': {
    name: 'ttl',
    key: { at: 1 },
    options: { expireAfterSeconds: 60 },
    during: { expireAfterSeconds: maxInt },
  },
  'a TTL index of 0 seconds': {
    name: 'ttlZero',
    key: { expiresAt: 1 },
    options: { expireAfterSeconds: 0 },
    during: { expireAfterSeconds: maxInt },
  },
  'a hidden index': {
    name: 'hidden',
    key: { h: 1 },
    options: { hidden: true },
    during: { hidden: undefined },
  },
  'an index that is unique, hidden and TTL': {
    name: 'all',
    key: { expires2: 1 },
    options: { unique: true, hidden: true, sparse: true, expireAfterSeconds: 120 },
    during: { unique: undefined, hidden: undefined, expireAfterSeconds: maxInt },
  },
  'an index prepared to be unique': {
    name: 'prepared',
    key: { p: 1 },
    options: { prepareUnique: true },
    during: { prepareUnique: undefined },
  },
  'a partial index': {
    name: 'partial',
    key: { a: 1, c: 1 },
    options: { partialFilterExpression: { a: { $gt: 5, $lt: 1e12 }, 'd.$e': { $exists: true } } },
    during: {},
  },
  'a sparse index': { name: 'sparse', key: { s: 1 }, options: { sparse: true }, during: {} },
  'a text index with weights': {
    name: 'text',
    key: { title: 'text', body: 'text', a: 1 },
    options: {
      weights: { title: 10, body: 2 },
      default_language: 'german',
      language_override: 'lang',
    },
    during: {},
  },
  'a 2dsphere index': { name: 'geo', key: { place: '2dsphere' }, options: {}, during: {} },
  'a 2d index with bounds': {
    name: 'flat',
    key: { point: '2d' },
    options: { min: -500, max: 500, bits: 20 },
    during: {},
  },
  'a hashed index': { name: 'hashed', key: { k: 'hashed' }, options: {}, during: {} },
  'a wildcard index': { name: 'wild', key: { 'attributes.$**': 1 }, options: {}, during: {} },
  'a wildcard index with a projection': {
    name: 'wildProjection',
    key: { '$**': 1 },
    options: { wildcardProjection: { a: 1, 'b.c': 1 } },
    during: {},
  },
  'an index with a collation': {
    name: 'collated',
    key: { word: 1 },
    options: { collation: { locale: 'fr', strength: 2, backwards: true } },
    during: {},
  },
  'an index with storage options': {
    name: 'stored',
    key: { z: 1 },
    options: { storageEngine: { wiredTiger: { configString: 'internal_page_max=8k' } } },
    during: {},
  },
};

describe('contract 4.2: indexes that exist before the sync', function () {
  const pair = useClusterPair();
  const during = new Map<string, Document | undefined>();

  before(async () => {
    await pair.reset();
    const collection = pair.source.client.db('shop').collection('items');
    await pair.source.client.db('shop').command({
      createIndexes: 'items',
      indexes: Object.values(cases).map(({ name, key, options }) => ({ name, key, ...options })),
    });
    await collection.insertMany(Array.from({ length: 50 }, (_, number) => itemOf(number)));
    await using syncer = await pair.syncing();
    for (const { name } of Object.values(cases))
      during.set(name, await indexOf(pair.destination, 'shop', 'items', name));
    await collection.insertMany(Array.from({ length: 50 }, (_, number) => itemOf(50 + number)));
    await commitAndWait(syncer);
  });

  for (const [what, { name, during: changed }] of Object.entries(cases)) {
    it(`${what} is as it should be during the sync, and as on the source after commit`, async () => {
      const there = await indexOf(pair.source, 'shop', 'items', name);
      assert.ok(there);
      assert.deepEqual(withoutUndefined({ ...there, ...changed }), during.get(name));
      assert.deepEqual(await indexOf(pair.destination, 'shop', 'items', name), there);
    });
  }

  it('all documents and indexes are equal after commit', async () => {
    await pair.assertEqual();
  });

  it('a unique index refuses duplicates on the destination after commit', async () => {
    const items = pair.destination.client
      .db('shop')
      .collection<{ _id: number; u: number }>('items');
    await assert.rejects(items.insertOne({ _id: 1_000, u: 3 }), { code: 11_000 });
  });
});

describe('contract 4.2: indexes on the same keys, and changed during the sync', () => {
  const pair = useClusterPair({ parameters: { ttlMonitorSleepSecs: 1 } });
  beforeEach(async () => {
    await pair.reset();
  });

  it('a unique and a non-unique index on the same keys are both there after commit', async () => {
    const shop = pair.source.client.db('shop');
    const items = shop.collection<Numbered>('items');
    await createIndex(shop, 'items', { key: { a: 1 }, name: 'plain' });
    await createIndex(shop, 'items', { key: { a: 1 }, name: 'unique', unique: true });
    await createIndex(shop, 'items', { key: { b: 1 }, name: 'unique b', unique: true });
    await items.insertMany(numbered(0, 20));
    await using syncer = await pair.syncing();
    await createIndex(shop, 'items', { key: { b: 1 }, name: 'plain b' });
    await items.insertMany(numbered(20, 20));
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('indexes created during the sync are altered as well, and restored by commit', async () => {
    const shop = pair.source.client.db('shop');
    const items = shop.collection<Numbered>('items');
    await items.insertMany(numbered(0, 20));
    await using syncer = await pair.syncing();
    await createIndex(shop, 'items', { key: { a: 1 }, name: 'unique', unique: true });
    await createIndex(shop, 'items', { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 3600 });
    await createIndex(shop, 'items', { key: { b: 1 }, name: 'hidden', hidden: true });
    await items.insertMany(numbered(20, 20));
    const at = async (name: string): Promise<Document | undefined> =>
      await indexOf(pair.destination, 'shop', 'items', name);
    await until('the last one', async () => (await at('hidden')) !== undefined);
    assert.equal((await at('unique'))?.['unique'], undefined);
    assert.equal((await at('ttl'))?.['expireAfterSeconds'], maxInt);
    assert.equal((await at('hidden'))?.['hidden'], undefined);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('characteristics changed by collMod during the sync are those that commit restores', async () => {
    const shop = pair.source.client.db('shop');
    const items = shop.collection<Numbered>('items');
    await items.insertMany(numbered(0, 20));
    await createIndex(shop, 'items', { key: { a: 1 }, name: 'becomes unique' });
    await createIndex(shop, 'items', { key: { b: 1 }, name: 'stays prepared' });
    await createIndex(shop, 'items', { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 3600 });
    await createIndex(shop, 'items', { key: { at2: 1 }, name: 'becomes ttl' });
    await createIndex(shop, 'items', { key: { c: 1 }, name: 'becomes hidden' });
    await createIndex(shop, 'items', { key: { d: 1 }, name: 'becomes visible', hidden: true });
    await createIndex(shop, 'items', {
      key: { e: 1 },
      name: 'prepared no more',
      prepareUnique: true,
    });
    await using syncer = await pair.syncing();
    const modify = async (index: Document): Promise<void> => {
      await shop.command({ collMod: 'items', index });
    };
    await modify({ name: 'becomes unique', prepareUnique: true });
    await modify({ name: 'becomes unique', unique: true });
    await modify({ name: 'stays prepared', prepareUnique: true });
    await modify({ name: 'ttl', expireAfterSeconds: 7200 });
    await modify({ name: 'becomes ttl', expireAfterSeconds: 1800 });
    await modify({ name: 'becomes hidden', hidden: true });
    await modify({ keyPattern: { d: 1 }, hidden: false });
    await modify({ name: 'prepared no more', prepareUnique: false });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a TTL index lets nothing expire on the destination before commit', async () => {
    const shop = pair.source.client.db('shop');
    const sourceAdmin = pair.source.client.db('admin');
    await createIndex(shop, 'events', { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 60 });
    await sourceAdmin.command({ setParameter: 1, ttlMonitorEnabled: false });
    const passes = async (): Promise<number> => {
      const { metrics } = await pair.destination.client.db('admin').command({ serverStatus: 1 });
      return Number((metrics as { ttl: { passes: unknown } }).ttl.passes);
    };
    const copies = pair.destination.client.db('shop').collection('events');
    try {
      await shop.collection('events').insertOne({ at: new Date(0) });
      await using syncer = await pair.syncing();
      const passed = await passes();
      await until('two passes of the TTL monitor', async () => (await passes()) >= passed + 2);
      assert.equal(await copies.countDocuments(), 1);
      await commitAndWait(syncer);
      await until('it expires', async () => (await copies.countDocuments()) === 0);
    } finally {
      await sourceAdmin.command({ setParameter: 1, ttlMonitorEnabled: true });
    }
  });

  it('UniqueIndexViolation names the index and documents; without them the commit continues', async () => {
    const shop = pair.source.client.db('shop');
    const items = shop.collection<Numbered>('items');
    await createIndex(shop, 'items', { key: { a: 1 }, name: 'unique a', unique: true });
    await items.insertMany(numbered(0, 20));
    await using syncer = await pair.syncing();
    // Somebody writes to the destination although canWrite is false.
    const copies = pair.destination.client.db('shop').collection<Numbered>('items');
    await copies.insertOne({ _id: 777, a: 5, b: 5 });
    await syncer.commit();
    await assert.rejects(
      syncer.waitFor(({ state }) => state === 'COMMITTED'),
      /UniqueIndexViolation: index unique a of shop\.items .*(5, 777|777, 5)/,
    );
    assert.ok(syncer.pid);
    const again = await syncer.post('commit', {});
    assert.deepEqual([again.status, again.body['error']], [500, 'UniqueIndexViolation']);
    await copies.deleteOne({ _id: 777 });
    await syncer.kill('SIGTERM');
    await syncer.restart();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  });

  it('IndexBuildRefused names the index, before users may write; when it can be built the commit continues', async () => {
    const shop = pair.source.client.db('shop');
    await createIndex(shop, 'items', { key: { a: 1, b: 1 }, name: 'two' });
    await shop.collection<Numbered>('items').insertMany(numbered(0, 20));
    await using syncer = await pair.syncing();
    const copies = pair.destination.client.db('shop').collection('items');
    await copies.dropIndex('two');
    const parallel = await copies.insertOne({ a: [1, 2], b: [3, 4] });
    await syncer.commit();
    await assert.rejects(
      syncer.waitFor(({ state }) => state === 'COMMITTED'),
      /IndexBuildRefused: index two of shop\.items cannot be built: .*parallel arrays/,
    );
    assert.match(await syncer.log(), /committing/);
    assert.doesNotMatch(await syncer.log(), /users may write/);
    await copies.deleteOne({ _id: parallel.insertedId });
    await syncer.kill('SIGTERM');
    await syncer.restart();
    await syncer.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  });
});

interface Numbered {
  readonly _id: number;
  readonly a: number;
  readonly b: number;
}

async function createIndex(db: Db, coll: string, spec: Document): Promise<void> {
  await db.command({ createIndexes: coll, indexes: [spec] });
}

function numbered(first: number, count: number): Numbered[] {
  return Array.from({ length: count }, (_, index) => {
    const _id = first + index;
    return { _id, a: _id, b: _id };
  });
}

function itemOf(number: number): Document {
  return {
    a: number % 7,
    b: number,
    c: `c${number}`,
    list: [{ part: number }, { part: -number }],
    u: number,
    // Nothing expires before the end of the test, however long that takes.
    at: new Date(Date.now() + 3_600_000 + number),
    expiresAt: new Date(Date.now() + 3_600_000 + number),
    ...(number % 2 === 0 ? { expires2: new Date(Date.now() + 7_200_000 + number) } : {}),
    p: number,
    h: number,
    s: number % 3 === 0 ? number : undefined,
    title: `Titel ${number}`,
    body: 'wird gesucht',
    place: { type: 'Point', coordinates: [number, number / 2] },
    point: [number, -number],
    k: number,
    attributes: { size: number, colours: ['red', `c${number}`] },
    word: `cot${number}é`,
    z: number,
  };
}

function withoutUndefined(document: Document): Document {
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined));
}
