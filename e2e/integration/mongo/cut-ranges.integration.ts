import assert from 'node:assert/strict';
import { BSON, MaxKey, MinKey, MongoClient, ObjectId, UUID, type Document } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { canCutRanges, cutLargeRanges, type EvenRanges } from '../../../mongo/cut-ranges.ts';
import { idBound, idRangeQueries, rangesBetween } from '../../../mongo/id-range.ts';
import { RawCursor } from '../../../mongo/raw-cursor.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';

const namespace = { db: 'shop', coll: 'orders' };
const wantedRanges = 27;
const { signal } = new AbortController();

/** Ids of several types, most of them in one part of their order. */
const ids: readonly unknown[] = [
  ...Array.from({ length: 900 }, (_, index) => index),
  ...Array.from({ length: 60 }, (_, index) => `order ${index}`),
  ...Array.from({ length: 300 }, () => new ObjectId()),
  ...[new MinKey(), new MaxKey()],
];

/** One and a half times the average. */
const maxDocuments = Math.ceil((1.5 * ids.length) / wantedRanges) + 1;

describe('canCutRanges', () => {
  it('is where the index on _id has no documents, and no router is between', () => {
    const clustered = { clusteredIndex: { key: { _id: 1 }, unique: true } };
    assert.equal(canCutRanges({ isSharded: false }, {}), true);
    assert.equal(canCutRanges({ isSharded: true }, {}), false);
    assert.equal(canCutRanges({ isSharded: false }, clustered), false);
  });
});

describe('cutLargeRanges', () => {
  let set: ReplicaSet;
  let client: MongoClient;
  let cluster: ClusterClient;

  before(async () => {
    set = await startReplicaSet({
      members: 1,
      name: 'ranges',
      parameters: { enableTestCommands: 1 },
    });
    client = new MongoClient(set.uri('admin'), { ignoreUndefined: false });
    cluster = createClusterClient({ uri: set.uri('syncer'), option: 'uri', appName: 'ranges' });
    const documents: Document[] = ids.map((_id) => ({ _id }));
    await client.db(namespace.db).collection(namespace.coll).insertMany(documents);
  });

  after(async () => {
    await cluster[Symbol.asyncDispose]();
    await client.close();
    await set[Symbol.asyncDispose]();
  });

  /** How many documents each range has, read as a copy reads them. */
  async function documentsIn(bounds: readonly Document[]): Promise<number[]> {
    const read: string[] = [];
    const counts: number[] = [];
    for (const range of rangesBetween(bounds)) {
      const before = read.length;
      for (const query of idRangeQueries(range)) {
        const find = { find: namespace.coll, ...query };
        await using cursor = await RawCursor.open(cluster.raw, namespace.db, find, { signal });
        for await (const batch of cursor.batches())
          read.push(...batch.documents.map((document) => Buffer.from(document).toString('hex')));
      }
      counts.push(read.length - before);
    }
    assert.equal(new Set(read).size, ids.length);
    assert.equal(read.length, ids.length);
    return counts;
  }

  async function cut(
    bounds: readonly Document[],
    other: Partial<EvenRanges & { readonly signal: AbortSignal }> = {},
  ): Promise<Document[]> {
    const even = { namespace, documentCount: ids.length, wantedRanges, ...other };
    return await cutLargeRanges(cluster, even, bounds, { signal, ...other });
  }

  const boundAt = (_id: unknown): Document => {
    const bound = idBound(BSON.serialize({ _id }));
    assert.ok(bound);
    return bound;
  };

  for (const [what, bounds] of [
    ['the whole collection', []],
    ['ranges that a sample has made uneven', [boundAt(5), boundAt(20), boundAt('order 3')]],
    ['a range at each end', [boundAt(-1), boundAt(new ObjectId('f'.repeat(24)))]],
  ] as const)
    it(`leaves no range with more documents, and each document in one: ${what}`, async () => {
      const cuts = await cut(bounds);
      const counts = await documentsIn(cuts);
      // MaxKey cannot be a bound: its document is read with the last range.
      assert.ok(
        counts.every((count) => count <= maxDocuments + 1),
        counts.join(' '),
      );
      assert.ok(counts.length >= Math.floor(ids.length / maxDocuments), `${counts.length} ranges`);
      assert.ok(counts.length <= wantedRanges + bounds.length + 1, `${counts.length} ranges`);
    });

  it('leaves ranges that are small enough as they are', async () => {
    const even = await cut([]);
    assert.deepEqual(await cut(even), even);
  });

  it('makes at most twice as many ranges as are wanted, where the statistics know of few documents', async () => {
    const few = { documentCount: 9, wantedRanges: 3 };
    // Two ranges at a time may want the last one: repeated, so that they do.
    for (let repetition = 0; repetition < 20; repetition++)
      assert.equal((await documentsIn(await cut([boundAt(5), boundAt(20)], few))).length, 6);
  });

  it('cuts nothing where the statistics know of no documents', async () => {
    const bounds = [boundAt(5), boundAt(20)];
    assert.deepEqual(await cut(bounds, { documentCount: 0 }), bounds);
  });

  it('keeps what is cut when a read fails', async () => {
    const all = await cut([]);
    const admin = client.db('admin');
    // Each cut takes two finds.
    const mode = { skip: 10 };
    const data = { failCommands: ['find'], errorCode: 11601, appName: 'ranges' };
    await admin.command({ configureFailPoint: 'failCommand', mode, data });
    let cuts: Document[];
    try {
      cuts = await cut([]);
      assert.deepEqual(await cut([]), []);
    } finally {
      await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
    }
    assert.equal(cuts.length, 5);
    assert.deepEqual(cuts, all.slice(0, 5));
    assert.equal((await documentsIn(cuts)).length, 6);
  });

  it('cuts nothing where another collection has the name by now', async () => {
    const bounds = [boundAt(5)];
    assert.deepEqual(await cut(bounds, { collectionUUID: new UUID() }), bounds);
    const view = { db: namespace.db, coll: 'view' };
    await client.db(view.db).createCollection(view.coll, { viewOn: namespace.coll, pipeline: [] });
    assert.deepEqual(await cut(bounds, { namespace: view }), bounds);
  });

  it('cuts by the order of a collation', async () => {
    const coll = 'names';
    const names = client.db(namespace.db).collection<{ _id: string }>(coll, {});
    await client.db(namespace.db).createCollection(coll, { collation: { locale: 'fr' } });
    await names.insertMany(
      Array.from({ length: 400 }, (_, index) => ({ _id: `${index % 2 ? 'É' : 'e'} ${index}` })),
    );
    const even = { namespace: { ...namespace, coll }, documentCount: 400, wantedRanges: 4 };
    const cuts = (await cut([], even)).map((bound) => BSON.deserialize(BSON.serialize(bound)));
    const sorted = (await names.find().sort({ _id: 1 }).toArray()).map(({ _id }) => ({ _id }));
    assert.deepEqual(cuts, [sorted[100], sorted[200], sorted[300]]);
  });

  it('ends with its caller', async () => {
    const reason = new Error('stopped');
    await assert.rejects(cut([], { signal: AbortSignal.abort(reason) }), reason);
  });

  it('reads no documents', async () => {
    const scanned = async (): Promise<Document> => {
      const { metrics } = await client.db('admin').command({ serverStatus: 1 });
      return (metrics as Document)['queryExecutor'] as Document;
    };
    const { scanned: keys, scannedObjects: documents } = await scanned();
    assert.ok((await cut([])).length > 10);
    const { scanned: keysNow, scannedObjects: documentsNow } = await scanned();
    assert.ok(Number(keysNow) - Number(keys) >= ids.length - maxDocuments);
    assert.ok(Number(documentsNow) - Number(documents) < ids.length / 2);
  });
});
