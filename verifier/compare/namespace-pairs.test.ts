import assert from 'node:assert/strict';
import { UUID, type Document } from 'mongodb';
import type { CollectionInfo, NamespaceInfo, ViewInfo } from '../../mongo/catalog.ts';
import { fakeCluster, wholeCursor } from '../../mongo/testing/fake-cluster.ts';
import {
  CatalogCache,
  hasCommonOrder,
  isCapped,
  isCollectionPair,
  readNamespacePairs,
  sourceCollection,
  type NamespacePair,
} from './namespace-pairs.ts';

const { signal } = new AbortController();
const namespace = { db: 'shop', coll: 'items' };

function collection(options: Document = {}): CollectionInfo {
  return { kind: 'collection', namespace, uuid: new UUID(), options };
}

const view: ViewInfo = { kind: 'view', namespace, options: { viewOn: 'a', pipeline: [] } };

function pair(source?: NamespaceInfo, destination?: NamespaceInfo): NamespacePair {
  return { namespace, source, destination };
}

describe('isCollectionPair', () => {
  it('is true only where both sides have a collection', () => {
    assert.equal(isCollectionPair(pair(collection(), collection())), true);
    for (const [source, destination] of [
      [collection(), view],
      [view, collection()],
      [view, view],
      [collection(), undefined],
      [undefined, collection()],
    ])
      assert.equal(isCollectionPair(pair(source, destination)), false);
  });
});

describe('isCapped', () => {
  it('depends on the collection of the source alone', () => {
    const capped = collection({ capped: true, size: 4096 });
    assert.equal(isCapped(pair(capped, collection())), true);
    assert.equal(isCapped(pair(collection({ capped: false }), capped)), false);
    assert.equal(isCapped(pair(collection(), capped)), false);
    assert.equal(isCapped(pair(undefined, capped)), false);
    assert.equal(isCapped(pair({ ...view, options: { capped: true } })), false);
  });
});

describe('hasCommonOrder', () => {
  const french = { collation: { locale: 'fr' } };

  it('is true of the same collation, and of none', () => {
    assert.equal(hasCommonOrder(pair(collection(), collection())), true);
    assert.equal(hasCommonOrder(pair(collection(french), collection(french))), true);
    for (const [source, destination] of [
      [collection(french), collection()],
      [collection(), collection(french)],
      [collection(french), collection({ collation: { locale: 'de' } })],
    ])
      assert.equal(hasCommonOrder(pair(source, destination)), false);
  });

  it('does not look at what else differs', () => {
    const other = { ...french, validator: { a: 1 } };
    assert.equal(hasCommonOrder(pair(collection(french), collection(other))), true);
  });
});

describe('sourceCollection', () => {
  it('is none where the source has a view, or nothing', () => {
    const there = collection();
    assert.equal(sourceCollection(pair(there)), there);
    assert.equal(sourceCollection(pair(view, there)), undefined);
    assert.equal(sourceCollection(pair(undefined, there)), undefined);
  });
});

/** The catalog of a cluster, by database. */
type Catalog = Readonly<Record<string, readonly Document[]>>;

function entry(name: string, type = 'collection', options: Document = {}): Document {
  return { name, type, options, info: { uuid: new UUID() } };
}

/** Counts how often each database is listed in `listed`. */
function clusterWith(catalog: Catalog, listed: string[] = []) {
  return fakeCluster(({ listDatabases }, db) => {
    if (listDatabases !== undefined)
      return { databases: Object.keys(catalog).map((name) => ({ name })) };
    listed.push(db);
    return wholeCursor(catalog[db] ?? []);
  });
}

function contextOf(source: Catalog, destination: Catalog, listed: string[] = []) {
  return {
    source: clusterWith(source, listed),
    destination: clusterWith(destination),
    selects: ({ coll }: { readonly coll: string }) => Promise.resolve(!coll.startsWith('left')),
    signal,
  };
}

describe('readNamespacePairs', () => {
  async function read(source: Catalog, destination: Catalog, databases: string[] | 'all' = 'all') {
    const pairs = await readNamespacePairs(contextOf(source, destination), databases);
    return Object.fromEntries(
      [...pairs].map(([name, each]) => [name, [each.source?.kind, each.destination?.kind]]),
    );
  }

  it('has what either side has under a name, in the databases of both', async () => {
    const source = { a: [entry('both'), entry('old')], b: [entry('gone')] };
    const destination = { a: [entry('both', 'view'), entry('new')], c: [entry('added')] };
    const ofA = {
      'a.both': ['collection', 'view'],
      'a.old': ['collection', undefined],
      'a.new': [undefined, 'collection'],
    };
    assert.deepEqual(await read(source, destination), {
      ...ofA,
      'b.gone': ['collection', undefined],
      'c.added': [undefined, 'collection'],
    });
    assert.deepEqual(await read(source, destination, ['a']), ofA);
  });

  it('leaves out what is not selected, whatever that is', async () => {
    const catalog = { a: [entry('left'), entry('leftSeries', 'timeseries'), entry('right')] };
    assert.deepEqual(await read(catalog, catalog), { 'a.right': ['collection', 'collection'] });
  });

  it('leaves out what the source keeps for a command, and not what only the destination keeps', async () => {
    const kept = { a: [entry('a', 'collection', { temp: true })] };
    const other = { a: [entry('a')] };
    assert.deepEqual(await read(kept, other), {});
    assert.deepEqual(await read(other, kept), { 'a.a': ['collection', 'collection'] });
    assert.deepEqual(await read({}, kept), { 'a.a': [undefined, 'collection'] });
  });

  it('refuses a time-series collection of either side by its name', async () => {
    const series = { a: [entry('heat', 'timeseries')] };
    for (const [source, destination] of [
      [series, {}],
      [{}, series],
    ] as const)
      await assert.rejects(read(source, destination), {
        name: 'TimeSeriesNotSupported',
        message: /a\.heat/,
      });
  });
});

describe('CatalogCache', () => {
  const catalog = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((db) => [db, [entry('items')]]));

  it('reads a database once, and drops the one that it has read first when there are more than four', async () => {
    const listed: string[] = [];
    const cache = new CatalogCache(contextOf(catalog, catalog, listed));
    for (const db of ['a', 'b', 'c', 'd', 'a', 'd', 'e', 'b', 'a', 'c'])
      await cache.pair({ db, coll: 'items' });
    assert.deepEqual(listed, ['a', 'b', 'c', 'd', 'e', 'a']);
  });

  it('has nothing of either side where there is nothing', async () => {
    const cache = new CatalogCache(contextOf(catalog, {}));
    const items = await cache.pair({ db: 'a', coll: 'items' });
    assert.deepEqual([items.source?.kind, items.destination], ['collection', undefined]);
    const none = { db: 'a', coll: 'none' };
    assert.deepEqual(await cache.pair(none), {
      ...{ namespace: none, source: undefined, destination: undefined },
    });
  });

  it('reads again what could not be read', async () => {
    let isBroken = true;
    const context = contextOf(catalog, catalog);
    const cache = new CatalogCache({
      ...context,
      selects: async (each) => {
        if (isBroken) throw new Error('not now');
        return await context.selects(each);
      },
    });
    const items = { db: 'a', coll: 'items' };
    await assert.rejects(cache.pair(items), /not now/);
    isBroken = false;
    assert.equal((await cache.pair(items)).source?.kind, 'collection');
  });
});
