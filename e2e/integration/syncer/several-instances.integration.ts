import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { MongoServerError, type Document } from 'mongodb';
import { majorVersion } from '../../../mongo/topology.ts';
import { mongodRelease } from '../../ground/mongod/mongod-process.ts';
import type { Answer, SyncerProgress } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { forward } from './cluster-pair.ts';
import { startInstances, startNumbered, type Instances } from './instances.ts';
import { commitUnlessStopped, useShardedPair } from './sharded-pair.ts';
import { skipUnlessReversible } from './skip-reversal.ts';
import { slowOnShards } from './slow-commands.ts';

interface Row {
  readonly _id: number | string;
  readonly [field: string]: unknown;
}

describe('several instances on one sync', () => {
  const pair = useShardedPair(2, 2);
  const first = 'from-0';
  const second = 'from-1';

  beforeEach(async () => {
    await pair.reset();
    const { client } = pair.source;
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'shop', primaryShard: first });
    await admin.command({ shardCollection: 'shop.items', key: { _id: 'hashed' } });
    await client.db('shop').collection<Row>('items').insertMany(rows(0, 2_000));
    await client.db('shop').collection<Row>('plain').insertMany(rows(0, 500));
  });

  const rows = (from: number, count: number): Row[] =>
    Array.from({ length: count }, (_, index) => ({
      _id: from + index,
      number: index,
      text: 'x'.repeat(100),
    }));

  const shop = () => pair.source.client.db('shop');

  async function syncing(
    options: Readonly<Record<string, string | number>> = {},
  ): Promise<Instances> {
    const instances = await startInstances(pair, { options });
    try {
      await instances.start();
      await instances.waitFor(({ canCommit }) => canCommit);
      return instances;
    } catch (error) {
      await instances[Symbol.asyncDispose]();
      throw error;
    }
  }

  async function commit(instances: Instances): Promise<void> {
    await instances.waitFor(({ canCommit }) => canCommit);
    await instances.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
  }

  it('copies and follows as one: each its part, one coordinator, one result', async () => {
    await using instances = await syncing({ partitionMebibytes: 0.05 });
    const copied = await instances.waitFor(({ coordinatorID }) => coordinatorID !== null);
    assert.deepEqual(
      copied.map(({ syncerID }) => syncerID),
      [first, second],
    );
    assert.equal(new Set(copied.map(({ coordinatorID }) => coordinatorID)).size, 1);
    const totals = copied.map(({ collectionCopy }) => collectionCopy?.estimatedTotalBytes);
    assert.equal(totals[0], totals[1]);
    const bytes = copied.map(({ collectionCopy }) => collectionCopy?.estimatedCopiedBytes ?? 0);
    assert.ok(
      bytes.every((part) => part > 0),
      JSON.stringify(bytes),
    );
    assert.equal((bytes[0] ?? 0) + (bytes[1] ?? 0), totals[0]);

    const items = shop().collection<Row>('items');
    await items.insertMany(rows(2_000, 500));
    await items.updateMany({ _id: { $lt: 300 } }, { $set: { changed: true } });
    await items.createIndexes([{ key: { number: 1 } }]);
    await items.deleteMany({ _id: { $gte: 1_900, $lt: 2_100 } });
    await shop().collection('plain').rename('renamed');
    await shop().createCollection<Row>('words', { collation: { locale: 'en', strength: 2 } });
    const words = shop().collection<Row>('words');
    for (const word of ['a', 'A', 'b', 'B'].flatMap((one) => [one, one])) {
      await words.deleteOne({ _id: word });
      await words.insertOne({ _id: word, from: 'before' });
    }
    await shop().collection<Row>('renamed').insertMany(rows(500, 100));
    await commit(instances);
    await pair.assertEqual();
    const applied = await Promise.all(instances.all.map(async (one) => await one.progress()));
    assert.ok(applied.every(({ totalEventsApplied }) => (totalEventsApplied ?? 0) > 100));
  });

  it('are as many as are named, whatever the shards are called', async () => {
    await using instances = await startNumbered(pair, 3, { options: { partitionMebibytes: 0.05 } });
    await instances.start();
    const copied = await instances.waitFor(({ canCommit }) => canCommit);
    for (const { collectionCopy } of copied)
      assert.ok((collectionCopy?.estimatedCopiedBytes ?? 0) > 0, JSON.stringify(collectionCopy));
    await shop().collection<Row>('items').insertMany(rows(2_000, 500));
    await shop().collection('plain').rename('renamed');
    await commit(instances);
    await pair.assertEqual();
    const applied = await Promise.all(instances.all.map(async (one) => await one.progress()));
    for (const { totalEventsApplied } of applied)
      assert.ok((totalEventsApplied ?? 0) > 80, String(totalEventsApplied));
  });

  it('waits for an instance that was not started or given a command, and says so', async () => {
    await using instances = await startInstances(pair);
    const [one, other] = instances.all;
    assert.ok(one && other);
    assert.equal((await one.progress()).coordinatorID, null);
    await one.start(forward);
    await one.waitFor(({ warnings }) => hasWarning(warnings, `${second} has not received start`));
    await one.waitFor(({ coordinatorID }) => coordinatorID === first);
    assert.equal((await one.progress()).info, 'collection copy');
    const { state, coordinatorID } = await other.progress();
    assert.deepEqual({ state, coordinatorID }, { state: 'IDLE', coordinatorID: null });
    const refused = await other.post('start', { ...forward, buildIndexes: 'never' });
    assert.equal(refused.body['error'], 'OtherStartOptions');
    await other.start(forward);
    await instances.waitFor(({ canCommit, coordinatorID: id }) => canCommit && id === first);
    assert.equal((await one.post('start', forward)).body['error'], 'InvalidStateTransition');

    await other.commit();
    assert.equal((await other.progress()).state, 'COMMITTING');
    await one.kill();
    await one.restart();
    const before = await one.waitFor(({ canCommit }) => canCommit);
    assert.equal(before.state, 'RUNNING');
    await shop().collection<Row>('items').insertMany(rows(5_000, 100));
    await one.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
    await one.kill();
    await one.restart();
    assert.equal((await one.progress()).state, 'COMMITTED');
  });

  it('join a commit that another has sent, and that waits for a majority: every answer tells of it', async () => {
    await using instances = await syncing();
    const [one, other] = instances.all;
    assert.ok(one && other);
    const { cluster } = pair.destination;
    const stores = cluster.shards.map((shard) =>
      cluster.shardClient(shard).db('clustersync_internal').collection('sync'),
    );
    const isOnPrimary = async (): Promise<boolean> => {
      const read = { readConcern: { level: 'local' } } as const;
      const found = await Promise.all(
        stores.map(async (store) => await store.findOne({ state: 'COMMITTING' }, read)),
      );
      return found.some((record) => record !== null);
    };
    // No majority has anything that is written from then on.
    const setSnapshots = async (mode: 'alwaysOn' | 'off'): Promise<void> => {
      for (const shard of cluster.shards) {
        const admin = cluster.shardClient(shard).db('admin');
        await admin.command({ configureFailPoint: 'disableSnapshotting', mode });
      }
    };
    let answers: Promise<readonly Answer[]>;
    try {
      await setSnapshots('alwaysOn');
      const first = one.post('commit', {});
      await until('the commit is on the primary', isOnPrimary);
      const sent = /^commit: it was sent to the store.* cannot be undone/m;
      await other.waitFor(({ warnings }) => sent.test(warnings?.join('\n') ?? ''));
      answers = Promise.all([first, other.post('commit', {})]);
      for (const progress of [...(await progressOf(instances)), ...(await progressOf(instances))]) {
        const { state, canCommit, commitUnderWay, warnings } = progress;
        assert.deepEqual([state, canCommit, commitUnderWay], ['RUNNING', false, true]);
        assert.match(warnings?.join('\n') ?? '', sent);
      }
    } finally {
      await setSnapshots('off');
    }
    for (const { status, body } of await answers) assert.equal(status, 200, JSON.stringify(body));
    await instances.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  });

  it('say that a commit is under way which others have taken, also while they are paused', async () => {
    await using instances = await syncing();
    const [one, other] = instances.all;
    assert.ok(one && other);
    await one.waitFor(({ canCommit }) => canCommit);
    assert.equal((await other.post('pause', {})).status, 200);
    // Soon: after a few seconds none would accept it, as it would wait for the one that is paused.
    await other.waitFor(({ commitUnderWay }) => commitUnderWay === false);
    await one.commit();
    const taken = `other instances have accepted it; send it to ${second}, too`;
    const told = await other.waitFor(({ warnings }) => hasWarning(warnings, taken));
    assert.deepEqual([told.state, told.commitUnderWay], ['PAUSED', true]);
    assert.equal((await other.post('resume', {})).status, 200);
    await other.waitFor(({ canCommit }) => canCommit);
    await other.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  });

  const progressOf = async ({ all }: Instances): Promise<readonly SyncerProgress[]> =>
    await Promise.all(all.map(async (one) => await one.progress()));

  it('lets a change of the catalog wait for an instance that is paused, and refuses others', async () => {
    await using instances = await syncing();
    const [one, other] = instances.all;
    assert.ok(one && other);
    const copy = pair.destination.client.db('shop');
    const names = async (): Promise<string[]> =>
      (await copy.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name).sort();
    const changes: readonly (readonly [
      change: () => Promise<unknown>,
      seen: () => Promise<unknown>,
    ])[] = [
      [
        async () =>
          await shop()
            .collection('items')
            .createIndexes([{ key: { text: 1 } }]),
        async () => (await copy.collection('items').indexes()).map(({ name }) => name),
      ],
      [async () => await shop().collection('plain').rename('renamed'), names],
      [async () => await shop().collection('renamed').drop(), names],
    ];
    for (const [change, seen] of changes) {
      assert.equal((await other.post('pause', {})).status, 200);
      assert.equal((await other.progress()).state, 'PAUSED');
      assert.equal((await one.progress()).state, 'RUNNING');
      const before = await seen();
      await change();
      await one.waitFor(({ warnings }) => hasWarning(warnings, `${second} (paused) has not`));
      assert.deepEqual(await seen(), before);
      assert.equal((await other.post('resume', {})).status, 200);
      await until('the change is made', async () => !isDeepStrictEqual(await seen(), before));
    }
    assert.equal((await other.post('pause', {})).status, 200);
    await using outsider = await pair.syncer({ options: { id: 'other' }, until: 'listening' });
    await until('the refusal of another name', async () =>
      String((await outsider.getProgress()).body['error']).startsWith('NotAnInstance'),
    );
    assert.equal((await one.post('pause', {})).status, 200);
    for (const each of instances.all) assert.equal((await each.post('resume', {})).status, 200);
    await commit(instances);
    await pair.assertEqual();
  });

  it('reverses once all have the command, even if one is killed in the meantime', async function () {
    await skipUnlessReversible(this);
    await using instances = await startInstances(pair);
    await instances.start({ reversible: true, enableUserWriteBlocking: true });
    await instances.waitFor(({ canCommit }) => canCommit);
    await commit(instances);
    await instances.waitFor(({ canWrite }) => canWrite === true);
    const fresh = pair.destination.client.db('shop');
    await fresh.collection<Row>('items').insertMany(rows(7_000, 200));
    await fresh.collection<Row>('items').deleteMany({ _id: { $lt: 100 } });
    await fresh.collection('plain').rename('renamed');
    const [one, other] = instances.all;
    assert.ok(one && other);
    assert.equal((await other.post('reverse', {})).status, 200);
    await other.waitFor(({ warnings }) =>
      hasWarning(warnings, `${first} has not received reverse`),
    );
    const waiting = await one.progress();
    assert.deepEqual([waiting.state, waiting.info], ['COMMITTED', 'commit completed']);
    assert.equal((await one.post('reverse', {})).status, 200);
    await other.kill();
    await other.restart();
    await instances.waitFor(({ canCommit }) => canCommit);
    await fresh.collection<Row>('renamed').insertMany(rows(8_000, 50));
    await commit(instances);
    await pair.assertEqual();
    const { directionMapping } = await one.progress();
    assert.match(directionMapping?.Source ?? '', /^cluster1: /);
  });

  it('reverses at once when both show the commit, though one has not ended its own work on it', async function () {
    await skipUnlessReversible(this);
    await using instances = await startInstances(pair);
    await instances.start({ reversible: true, enableUserWriteBlocking: true });
    await instances.waitFor(({ canCommit }) => canCommit);
    const namespace = 'clustersync_internal.collections';
    const slow = await slowOnShards(pair.destination, ['find', 'clusterFind'], 3_000, {
      namespace,
    });
    await instances.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
    await instances.send('reverse');
    await slow[Symbol.asyncDispose]();
    await instances.waitFor(({ canCommit }) => canCommit);
    await pair.destination.client.db('shop').collection<Row>('items').insertMany(rows(8_000, 50));
    await commit(instances);
    await pair.assertEqual();
  });

  it('continues when the coordinator is killed or stopped before a change of the catalog', async () => {
    await using instances = await syncing();
    const [{ coordinatorID } = { coordinatorID: null }] = await instances.waitFor(
      ({ coordinatorID: id }) => id !== null,
    );
    const coordinator = instances.all[coordinatorID === first ? 0 : 1];
    const other = instances.all[coordinatorID === first ? 1 : 0];
    assert.ok(coordinator && other);
    await coordinator.kill('SIGSTOP');
    for (const name of ['a', 'b', 'c']) await shop().createCollection(name);
    await shop().collection<Row>('items').insertMany(rows(3_000, 200));
    await other.waitFor(({ coordinatorID: now }) => now !== coordinatorID);
    await coordinator.kill('SIGCONT');
    await instances.waitFor(({ coordinatorID: now }) => now !== coordinatorID);
    await other.kill();
    await shop().collection('b').drop();
    await shop().collection('a').rename('z');
    await other.restart();
    await commit(instances);
    await pair.assertEqual();
  });

  it('stops with a named error if a collection was resharded, and both instances report it', async () => {
    await using instances = await syncing();
    const admin = pair.source.client.db('admin');
    await admin.command({ reshardCollection: 'shop.items', key: { number: 1 } });
    await Promise.all(instances.all.map(commitUnlessStopped));
    // The one that finds it, as an error; the other, as what it waits for.
    const told = async (): Promise<string[]> =>
      await Promise.all(
        instances.all.map(async (one) => JSON.stringify((await one.getProgress()).body)),
      );
    await until('both to tell of it', async () =>
      (await told()).every((text) => text.includes('ChangeNotSupported')),
    );
    assert.match(
      (await told()).join('\n'),
      /"error":"ChangeNotSupported: (?:shop\.items was resharded|reshardCollection of shop\.items)/,
    );
  });

  it('leaves out, with a warning, each index that not all shards of the source have', async () => {
    const items = shop().collection<Row>('placed');
    const admin = pair.source.client.db('admin');
    await admin.command({ shardCollection: 'shop.placed', key: { k: 1 } });
    await admin.command({ split: 'shop.placed', middle: { k: 0 } });
    await admin.command({ moveChunk: 'shop.placed', find: { k: 0 }, to: second });
    const index = async (name: string, key: Document, options: Document = {}): Promise<void> => {
      await items.createIndexes([{ key, name, ...options }]);
    };
    const refused = async (name: string, key: Document, options: Document = {}): Promise<void> => {
      await assert.rejects(index(name, key, options), MongoServerError);
    };
    await items.insertMany([
      ...Array.from({ length: 50 }, (_, n) => ({ _id: n, k: n - 25, v: n })),
      { _id: 'lines', k: -100, a: [1, 2], b: [1, 2] },
      { _id: 'words', k: 100, language: 'klingon', text: 'x' },
      { _id: 'place', k: 101, place: 'nowhere' },
      { _id: 'twice', k: -102, u: 1 },
      { _id: 'again', k: -102, u: 1 },
    ]);
    await refused('arrays', { a: 1, b: 1 });
    await refused('text', { text: 'text' });
    await index('all', { v: 1 }, { hidden: true });
    await using instances = await syncing();
    await refused('unique', { k: 1, u: 1 }, { unique: true });
    await refused('near', { place: '2dsphere' });
    await index('later', { k: 1, _id: 1 }, { unique: true });
    // A 7.0 server refuses that beside a unique index that one shard has.
    const key = { k: 1, ...(majorVersion(await mongodRelease('source')) < 7 && { _id: 1 }) };
    if ('_id' in key) await admin.command({ refineCollectionShardKey: 'shop.placed', key });
    await items.insertOne({ _id: 'refined', k: 1_000 });
    // As where a router dies while it asks the shards for an index.
    const { cluster } = pair.destination;
    const [copies] = cluster.shards.map((id) => cluster.shardClient(id).db('shop'));
    await copies?.collection('placed').dropIndex('all');
    await commit(instances);
    const left = (await instances.all[0]?.progress())?.warnings ?? [];
    assert.deepEqual(left.toSorted(), [
      `index arrays of shop.placed is omitted: it is not on ${first} of the source`,
      `index near of shop.placed is omitted: it is not on ${second} of the source`,
      `index text of shop.placed is omitted: it is not on ${second} of the source`,
      `index unique of shop.placed is omitted: it is not on ${first} of the source`,
    ]);
    for (const shard of cluster.shards) {
      const there = await cluster.shardClient(shard).db('shop').collection('placed').indexes();
      const names = there.map(({ name }) => String(name)).sort();
      assert.deepEqual(names, ['_id_', 'all', 'k_1', 'later'], shard);
    }
    assert.deepEqual(await pair.shardKey('shop.placed'), key);
    await pair.assertEqual();
  });

  function hasWarning(warnings: readonly string[] | null, text: string): boolean {
    return warnings?.some((warning) => warning.includes(text)) ?? false;
  }
});
