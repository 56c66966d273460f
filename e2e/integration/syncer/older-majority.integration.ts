import assert from 'node:assert/strict';
import { MongoClient, Timestamp, type Document } from 'mongodb';
import { assertEqualClusters } from '../../ground/compare.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { startReplicaSet, type Member, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { startSyncerProcess, type SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward } from './cluster-pair.ts';
import { commandKind, commandOf } from './command-kind.ts';
import { insertRaw, raw } from './raw-documents.ts';

const mebibyte = 1024 * 1024;

describe('a primary that does not know yet that a majority has what its predecessor has told of', () => {
  let source: ProxiedReplicaSet;
  let destination: ReplicaSet;
  let client: MongoClient;
  let former: Member;
  let next: Member;
  let onNext: MongoClient;
  let syncer: SyncerProcess;
  /** The kinds of commands that the syncer has sent to the next primary. */
  let sentToNext: Set<string>;
  /** Those that list something. */
  let listedOnNext: Document[];

  beforeEach(async () => {
    [source, destination] = await Promise.all([
      startProxiedReplicaSet({
        name: 'source',
        members: 3,
        parameters: { enableTestCommands: 1 },
      }),
      startReplicaSet({ name: 'destination', members: 1 }),
    ]);
    client = new MongoClient(source.set.uri('admin', { w: '3' }));
    former = await source.set.primary();
    const other = source.set.members.find((member) => member !== former);
    assert.ok(other);
    next = other;
    onNext = new MongoClient(source.set.directUri('admin', next));
    // The servers of the tests have little cache, in which one document of the largest size hardly fits.
    for (const member of source.set.members) {
      await using direct = new MongoClient(source.set.directUri('admin', member));
      const more = { setParameter: 1, wiredTigerEngineRuntimeConfig: 'cache_size=1G' };
      await direct.db('admin').command(more);
    }
    sentToNext = new Set();
    listedOnNext = [];
    source.proxy(next).strandAt((bytes) => {
      const kind = commandKind(bytes) ?? '';
      sentToNext.add(kind);
      const command = kind.startsWith('list') ? commandOf(bytes) : undefined;
      if (command) listedOnNext.push(command);
      return false;
    });
    syncer = await startSyncerProcess({
      cluster0: source.set.uri('syncer'),
      cluster1: destination.uri('syncer'),
    });
  });
  afterEach(async () => {
    await syncer[Symbol.asyncDispose]();
    await onNext.close();
    await client.close();
    await source[Symbol.asyncDispose]();
    await destination.stop();
  });

  it('the copy has what was written before the sync began', async () => {
    const items = client.db('shop').collection<{ _id: number }>('items');
    await items.insertOne({ _id: 1 });
    await keepSnapshotOfNext();
    await items.insertOne({ _id: 2 });
    strandOnFormer((kind, bytes) => kind === 'find' && bytes.includes('items'));
    await syncer.start(forward);
    await until('the copy reads', () => source.proxy(former).stranded > 0);
    await changePrimary();
    source.proxy(former).release();
    await until('the copy reads from the next primary', () => sentToNext.has('find'));
    await endAsEqual();
  });

  it('the document of an event that is too large is as it was written', async () => {
    const shop = client.db('shop');
    await shop.createCollection('rows');
    await syncer.start(forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await keepSnapshotOfNext();
    // The stream is read in short once an event was too large.
    let isInShort = false;
    strandOnFormer((kind, bytes) => {
      if (kind === 'aggregate $changeStream') isInShort = bytes.includes('$bsonSize');
      return isInShort && kind === 'getMore of the change stream';
    });
    const id = 'i'.repeat(20 * 1024);
    const rest = raw(['_id', id], ['filler', '']).bytes.length;
    const filler = 'f'.repeat(16 * mebibyte - 6 * 1024 - rest);
    await insertRaw(shop, 'rows', raw(['_id', id], ['filler', filler]));
    await until('the event is about to be read', () => source.proxy(former).stranded > 0);
    await changePrimary();
    await until('the syncer knows the next primary', () => sentToNext.has('hello'));
    assert.ok(!sentToNext.has('find'));
    source.proxy(former).release();
    await until('the document is read from the next primary', () => sentToNext.has('find'));
    await endAsEqual();
  });

  it('the catalog of a collection that a rename brings into the filter is not older than the rename', async () => {
    const shop = client.db('shop');
    await shop.collection('hidden').insertMany([{ n: 1 }, { n: 2 }]);
    await syncer.start({
      ...forward,
      excludeNamespaces: [{ database: 'shop', collections: ['hidden'] }],
    });
    await syncer.waitFor(({ canCommit }) => canCommit);
    await keepSnapshotOfNext();
    strandOnFormer((kind) => kind === 'getMore of the change stream');
    await until('the stream is read', () => source.proxy(former).stranded > 0);
    await shop.collection('hidden').rename('goods');
    const renamed = await client
      .db('local')
      .collection('oplog.rs')
      .findOne({ 'o.renameCollection': 'shop.hidden' }, { projection: { ts: 1 } });
    const time: unknown = renamed?.['ts'];
    assert.ok(time instanceof Timestamp);
    await changePrimary();
    await until('the syncer knows the next primary', () => sentToNext.has('hello'));
    listedOnNext.length = 0;
    source.proxy(former).release();
    // It stays unproven who was the primary, and nothing is copied, until a majority has a write of the next one.
    await until('the catalog is read from the next primary', () => listedOnNext.length >= 4);
    const listed = listedOnNext.map((command) => Object.keys(command)[0]);
    const expected = ['listDatabases', 'listCollections', 'listIndexes', 'listCollections'];
    assert.deepEqual(listed, expected);
    for (const command of listedOnNext) {
      const { readConcern } = command as { readConcern?: { afterClusterTime?: unknown } };
      const after = readConcern?.afterClusterTime;
      const isLater = after instanceof Timestamp && after.greaterThanOrEqual(time);
      assert.ok(isLater, `${JSON.stringify(command)} is too early`);
    }
    await endAsEqual();
  });

  /** From now on, what the next primary takes a majority to have stays as it is, whatever it has itself. */
  async function keepSnapshotOfNext(): Promise<void> {
    const { last } = await timesOf(client);
    await until('it knows that a majority has all', async () => {
      return (await timesOf(onNext)).majority.greaterThanOrEqual(last);
    });
    await setSnapshots('alwaysOn');
  }

  async function setSnapshots(disabled: 'alwaysOn' | 'off'): Promise<void> {
    await onNext.db('admin').command({ configureFailPoint: 'disableSnapshotting', mode: disabled });
  }

  async function timesOf(
    of: MongoClient,
  ): Promise<{ readonly last: Timestamp; readonly majority: Timestamp }> {
    const { lastWrite } = (await of.db('admin').command({ hello: 1 })) as {
      lastWrite: Record<'opTime' | 'majorityOpTime', { ts: Timestamp }>;
    };
    return { last: lastWrite.opTime.ts, majority: lastWrite.majorityOpTime.ts };
  }

  function strandOnFormer(isOfKind: (kind: string, bytes: Buffer) => boolean): void {
    source.proxy(former).strandAt((bytes) => {
      const kind = commandKind(bytes);
      return kind !== undefined && isOfKind(kind, bytes);
    });
  }

  async function changePrimary(): Promise<void> {
    const { majority: before } = await timesOf(client);
    await until('the next primary is elected', async () => {
      await onNext
        .db('admin')
        .command({ replSetStepUp: 1 })
        .catch(() => undefined);
      const { isWritablePrimary } = await onNext.db('admin').command({ hello: 1 });
      return isWritablePrimary === true;
    });
    assert.ok((await timesOf(onNext)).majority.lessThan(before), 'its majority is older');
  }

  /** Lets the next primary learn what a majority has, and the sync continue to its end. */
  async function endAsEqual(): Promise<void> {
    await setSnapshots('off');
    await client.db('other').collection('late').insertOne({});
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await assertEqualClusters(source.set.uri('admin'), destination.uri('admin'));
  }
});
