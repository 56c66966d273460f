import assert from 'node:assert/strict';
import type { Document, Timestamp } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { RetryWarnings } from '../../../mongo/retry-warnings.ts';
import { createLogger } from '../../../service/logger.ts';
import type { Side } from '../../../verifier/compare/sides.ts';
import { countByScan, countByStatistics } from '../../../verifier/passes/count-documents.ts';
import { prove, type ProofResult } from '../../../verifier/passes/prove.ts';
import { CoverageStore } from '../../../verifier/store/coverage-store.ts';
import { TaskStore } from '../../../verifier/store/task-store.ts';
import { until } from '../../ground/until.ts';
import { useReplicaSetPair } from './replica-set-pair.ts';

interface Row extends Document {
  readonly _id: number;
}

const namespace = { db: 'shop', coll: 'items' };
const plan = { run: 'run', generation: 3, epoch: 1 };
const nothing = { documents: 0, bytes: 0 };

describe('verifier, what proves a collection to be equal', () => {
  const pair = useReplicaSetPair({ parameters: { enableTestCommands: 1 } });
  let clusters: readonly ClusterClient[] = [];

  before(() => {
    clusters = pair.sets.map((set) =>
      createClusterClient({ uri: set.uri('admin'), option: 'uri', appName: 'proof' }),
    );
  });

  after(async () => {
    for (const cluster of clusters) await cluster[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    for (const db of [pair.source, pair.destination]) {
      await db.dropDatabase();
      const rows = Array.from({ length: 5 }, (_, _id): Row => ({ _id }));
      await db.collection<Row>('items').insertMany(rows);
    }
    await pair.clients[1]?.db('stores').dropDatabase();
  });

  async function sideOf(index: number): Promise<Side> {
    const cluster = clusters[index];
    const answer = await pair.clients[index]?.db('admin').command({ ping: 1 });
    assert.ok(cluster && answer);
    return { cluster, isSharded: false, readAfter: answer['operationTime'] as Timestamp };
  }

  /** The proof after a pass that has read five documents of each side. */
  async function proofAfter({
    isOfLast,
    isMetadataCompared = true,
    inserted = 0,
  }: {
    readonly isOfLast: boolean;
    readonly isMetadataCompared?: boolean;
    /** Documents of each side that change streams have told of since. */
    readonly inserted?: number;
  }): Promise<ProofResult> {
    const client = pair.clients[1];
    const [source, destination] = [await sideOf(0), await sideOf(1)];
    assert.ok(client);
    const { signal } = new AbortController();
    const context = {
      signal,
      logger: createLogger('verifier', 'error', () => undefined),
      monitor: { retryWarnings: new RetryWarnings(), addRetry: () => undefined },
    };
    const store = { ...context, db: client.db('stores') };
    const tasks = new TaskStore(store);
    const coverages = new CoverageStore(store);
    if (isMetadataCompared) {
      await tasks.add(plan, [{ namespace, work: { kind: 'metadata' }, expected: nothing }], 0);
      const [task] = await tasks.claim(plan, 1, { owner: 'owner', claim: 'claim' });
      assert.ok(task);
      const found = { isFailed: false, isMetadata: true, isOverflowing: false, isDisturbed: false };
      await tasks.end([{ task, ...found, compared: nothing, read: null, parts: null, noted: 0 }]);
    }
    const read = { source: 5, destination: 5, hashed: 3 };
    await coverages.add(plan.run, [{ namespace, generation: 0, isOfLast, ranges: 1, read }]);
    if (inserted > 0) {
      const tally = {
        inserted: { source: inserted, destination: inserted },
        deleted: { source: 0, destination: 0 },
      };
      await coverages.addTallies(plan.run, 1, new Map([['shop.items', tally]]));
    }
    const selects = async ({ db }: { readonly db: string }): Promise<boolean> =>
      await Promise.resolve(db === 'shop');
    const catalog = { source: source.cluster, destination: destination.cluster, selects, signal };
    return await prove(
      { ...context, stores: { tasks, coverages }, catalog, sides: { source, destination } },
      plan,
    );
  }

  function reasons({ doubts }: ProofResult): readonly string[] {
    return doubts.map(({ reason }) => reason);
  }

  async function letExpire(): Promise<void> {
    for (const db of [pair.source, pair.destination]) {
      const index = { key: { at: 1 }, expireAfterSeconds: 3600 };
      await db.collection<Row>('items').createIndexes([index]);
    }
  }

  it('is its metadata, its documents and their number', async () => {
    const result = await proofAfter({ isOfLast: false });
    assert.deepEqual(reasons(result), []);
    assert.equal(result.namespaces, 1);
    const both = { source: 5, destination: 5 };
    assert.deepEqual(result.proof, {
      collections: 1,
      ranges: 1,
      documentsCompared: both,
      documentsHashed: 3,
      documentsCounted: both,
    });
  });

  it('is not there where the last pass has not compared its metadata', async () => {
    const result = await proofAfter({ isOfLast: true, isMetadataCompared: false });
    assert.deepEqual(reasons(result), [
      'its options and indexes were not compared in the last pass',
    ]);
  });

  const missing = /^the destination counts 4 documents, and 5 were compared/;

  it('is not there where a document is gone', async () => {
    await pair.destination.collection<Row>('items').deleteOne({ _id: 1 });
    for (const isOfLast of [true, false]) {
      const [reason = '', ...others] = reasons(await proofAfter({ isOfLast }));
      assert.match(reason, missing);
      assert.equal(others.length, 0);
    }
  });

  it('is not there where statistics within the bounds are wrong', async () => {
    const client = pair.clients[1];
    assert.ok(client);
    await pair.source.collection<Row>('items').insertOne({ _id: 6 });
    await using session = client.startSession();
    // Statistics count what a transaction has inserted that may never be committed.
    session.startTransaction();
    await pair.destination.collection<Row>('items').insertOne({ _id: 7 }, { session });
    const stats = await pair.destination
      .collection('items')
      .aggregate([{ $collStats: { storageStats: {} } }])
      .toArray();
    assert.equal((stats[0]?.['storageStats'] as Document)['count'], 6);
    const result = await proofAfter({ isOfLast: false, inserted: 2 });
    await session.abortTransaction();
    assert.deepEqual(reasons(result), ['the source counts 6 documents, the destination 5']);
  });

  it('allows documents to be gone where they expire, after a last pass alone', async () => {
    await letExpire();
    await pair.destination.collection<Row>('items').deleteOne({ _id: 1 });
    const [reason = ''] = reasons(await proofAfter({ isOfLast: false }));
    assert.match(reason, missing);
    assert.deepEqual(reasons(await proofAfter({ isOfLast: true })), []);
  });

  it('allows that where documents expire on one side alone, by an index or an option', async () => {
    for (const side of [pair.source, pair.destination]) {
      const items = side.collection<Row>('items');
      await items.createIndexes([{ key: { at: 1 }, name: 'expiry', expireAfterSeconds: 3600 }]);
      await items.deleteOne({ _id: 1 });
      assert.deepEqual(reasons(await proofAfter({ isOfLast: true })), []);
      await items.insertOne({ _id: 1 });
      await items.dropIndex('expiry');
    }
    await pair.source.dropCollection('items');
    const clusteredIndex = { key: { _id: 1 }, unique: true };
    await pair.source.createCollection('items', { clusteredIndex, expireAfterSeconds: 3600 });
    assert.deepEqual(reasons(await proofAfter({ isOfLast: true })), []);
    const [reason = ''] = reasons(await proofAfter({ isOfLast: false }));
    assert.match(reason, /^the source counts 0 documents, and 5 were compared/);
  });

  it('counts after the writes that a side is read after, where a majority is not known to have them', async () => {
    const client = pair.clients[0];
    assert.ok(client);
    const admin = client.db('admin');
    const configureFailPoint = 'disableSnapshotting';
    await admin.command({ configureFailPoint, mode: 'alwaysOn' });
    try {
      const w1 = { writeConcern: { w: 1 } };
      await pair.source.collection<Row>('items').insertOne({ _id: 6 }, w1);
      let counted: number | undefined;
      const counting = countByScan(await sideOf(0), namespace, new AbortController().signal);
      const noted = counting.then((count) => (counted = count));
      const isWaiting = async (): Promise<boolean> => {
        const running = await admin
          .aggregate([
            { $currentOp: { allUsers: true } },
            { $match: { appName: 'proof', 'command.aggregate': 'items', active: true } },
          ])
          .toArray();
        return running.length > 0;
      };
      await until('the count waits', async () => counted !== undefined || (await isWaiting()));
      await admin.command({ configureFailPoint, mode: 'off' });
      await pair.source.collection('others').insertOne({});
      assert.equal(await noted, 6);
    } finally {
      await admin.command({ configureFailPoint, mode: 'off' });
    }
  });

  it('is counted one by one where the user may not read statistics', async () => {
    const [admin, uri] = [pair.clients[0]?.db('admin'), pair.sets[0]?.uri('admin')];
    assert.ok(admin && uri !== undefined);
    const resource = { db: 'shop', collection: '' };
    const privileges = [{ resource, actions: ['find', 'listCollections', 'listIndexes'] }];
    await admin.command({ createRole: 'reader', roles: [], privileges });
    await admin.command({ createUser: 'reader', pwd: 'secret', roles: ['reader'] });
    const asReader = uri.replace(/\/\/.*@/, '//reader:secret@');
    await using cluster = createClusterClient({ uri: asReader, option: 'uri', appName: 'proof' });
    const side = { ...(await sideOf(0)), cluster };
    const { signal } = new AbortController();
    assert.equal(await countByStatistics(side, namespace, signal), undefined);
    assert.equal(await countByStatistics(await sideOf(0), namespace, signal), 5);
    assert.equal(await countByScan(side, namespace, signal), 5);
    await admin.command({ dropUser: 'reader' });
    await admin.command({ dropRole: 'reader' });
  });

  it('allows no more documents than were read where they expire', async () => {
    await letExpire();
    await pair.destination.collection<Row>('items').insertOne({ _id: 6 });
    const [reason = ''] = reasons(await proofAfter({ isOfLast: true }));
    assert.match(reason, /^the destination counts 6 documents, and 5 were compared/);
  });
});
