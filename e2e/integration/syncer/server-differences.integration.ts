import assert from 'node:assert/strict';
import { Binary, UUID, type Document } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { deploymentOf } from '../../../mongo/deployment.ts';
import { hidesAppliedOps } from '../../../mongo/oplog.ts';
import { ShardedSourceKind } from '../../../syncer/source/sharded-source.ts';
import {
  allowEverything,
  commitAndWait,
  forward,
  indexOf,
  useClusterPair,
} from './cluster-pair.ts';
import { hasOption } from '../../../mongo/server-features.ts';
import { isOlderRelease } from '../../../mongo/topology.ts';
import { mongodRelease } from '../../ground/mongod/mongod-process.ts';
import { skipBecause } from '../../runner/skip.ts';
import { featureVersionsOf, setFeatureVersion } from './feature-versions.ts';
import { failureOf } from './sharded-pair.ts';

/** For what servers of some releases do differently: each test says what it expects of the one that it runs on. */
describe('differences between servers', () => {
  const pair = useClusterPair();
  let source: ClusterClient;
  before(async () => {
    await allowEverything(pair);
    source = createClusterClient({
      uri: pair.source.set.uri('admin'),
      option: 'cluster0',
      appName: 'test',
    });
  });
  after(async () => {
    await source[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    await pair.reset();
  });

  describe('collections with Queryable Encryption', () => {
    const keyId = new UUID();
    const fields = [
      { keyId, path: 'number', bsonType: 'string', queries: { queryType: 'equality' } },
    ];
    const encrypted = (_id: number): Document => ({
      _id,
      number: new Binary(Buffer.from([7, ...keyId.buffer, 2, _id]), Binary.SUBTYPE_ENCRYPTED),
      __safeContent__: [new Binary(Buffer.alloc(32, _id))],
    });
    const insert = async (...ids: readonly number[]): Promise<void> => {
      const documents = ids.map(encrypted);
      const write = { insert: 'people', documents, bypassDocumentValidation: true };
      await pair.source.client.db('shop').command(write);
    };
    /** As a driver does. */
    const create = async (): Promise<void> => {
      const db = pair.source.client.db('shop');
      await db.command({ create: 'people', encryptedFields: { fields } });
      const clusteredIndex = { key: { _id: 1 }, unique: true };
      await db.command({ create: 'enxcol_.people.esc', clusteredIndex });
      const indexes = [{ key: { __safeContent__: 1 }, name: '__safeContent___1' }];
      await db.command({ createIndexes: 'people', indexes });
    };
    /** The server itself adds what tells the preview of 6.0 from later releases. */
    const isPreview = async (): Promise<boolean> => {
      const [info] = await pair.source.client
        .db('shop')
        .listCollections({ name: 'people' })
        .toArray();
      return JSON.stringify(info).includes('eccCollection');
    };
    const refused =
      /^CollectionNotSupported: shop\.people is encrypted as in the public preview of Queryable Encryption/;

    it('those from before are copied with their bytes, or refused in the preview', async () => {
      await create();
      await insert(1, 2);
      await using syncer = await pair.syncer();
      if (await isPreview()) {
        const { status, body } = await syncer.post('start', forward);
        assert.equal(status, 400);
        assert.match(`${String(body['error'])}: ${String(body['errorDescription'])}`, refused);
        return;
      }
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await insert(3);
      const updates = [{ q: { _id: 1 }, u: { ...encrypted(1), more: 1 } }];
      const update = { update: 'people', updates, bypassDocumentValidation: true };
      await pair.source.client.db('shop').command(update);
      await pair.source.client
        .db('shop')
        .collection('people')
        .deleteOne({ _id: 2 as never });
      await commitAndWait(syncer);
      await pair.assertEqual();
      const people = pair.destination.client.db('shop').collection('people');
      assert.equal(await people.countDocuments(), 2);
    });

    it('those created during the sync, too', async () => {
      await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
      await using syncer = await pair.syncing();
      await create();
      await insert(1, 2);
      if (await isPreview()) {
        assert.match(await failureOf(syncer), refused);
        return;
      }
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

    it('those created and dropped during the sync do not stop it', async () => {
      await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
      await using syncer = await pair.syncing();
      await syncer.post('pause', {});
      await create();
      await insert(1);
      const shop = pair.source.client.db('shop');
      await shop.collection('people').drop();
      await shop.collection('items').insertOne({ n: 2 });
      await syncer.post('resume', {});
      await syncer.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  });

  it('a time to live that is not a number is one to the server, or refused by it', async () => {
    const shop = pair.source.client.db('shop');
    const indexes = [{ key: { at: 1 }, name: 'at', expireAfterSeconds: NaN }];
    const isTaken = await shop.command({ createIndexes: 'items', indexes }).then(
      () => true,
      (error: unknown) => {
        assert.equal((error as { readonly code?: unknown }).code, 67);
        return false;
      },
    );
    if (!isTaken) return;
    await using syncer = await pair.syncing();
    await shop.command({ createIndexes: 'others', indexes });
    await commitAndWait(syncer);
    for (const coll of ['items', 'others'])
      assert.equal(
        (await indexOf(pair.destination, 'shop', coll, 'at'))?.['expireAfterSeconds'],
        2_147_483_647,
      );
    await pair.assertEqual();
  });

  describe('an option that newer servers no longer have: recordPreImages', () => {
    let isKnown: boolean;
    let refused: string;
    before(async function () {
      const [from, to] = await Promise.all([mongodRelease('source'), mongodRelease('destination')]);
      if (!hasOption(from, 'recordPreImages'))
        skipBecause(this, `MongoDB ${from} has no such option`);
      isKnown = hasOption(to, 'recordPreImages');
      refused = `CollectionNotSupported: shop.items has options that MongoDB ${to} no longer has: recordPreImages`;
    });
    beforeEach(async () => {
      await pair.source.client.db('shop').collection('others').insertOne({ n: 1 });
    });
    const create = async (): Promise<void> => {
      await pair.source.client.db('shop').command({ create: 'items', recordPreImages: true });
    };

    it('before the start: copied, or refused by name until it is turned off', async () => {
      await create();
      await using syncer = await pair.syncer();
      if (!isKnown) {
        const { status, body } = await syncer.post('start', forward);
        assert.equal(status, 400);
        assert.equal(
          `${String(body['error'])}: ${String(body['errorDescription'])}`,
          `${refused}; there may be more blockers: clustersync check lists all`,
        );
        await pair.source.client.db('shop').command({ collMod: 'items', recordPreImages: false });
      }
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

    it('of a collection that is created during the sync: copied, or the sync stops by name', async () => {
      await using syncer = await pair.syncing();
      await create();
      if (!isKnown) {
        assert.equal(await failureOf(syncer), refused);
        return;
      }
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

    it('turned on during the sync: applied, or the sync stops by name', async () => {
      await using syncer = await pair.syncing();
      await pair.source.client.db('shop').command({ collMod: 'others', recordPreImages: true });
      if (!isKnown) {
        assert.match(
          await failureOf(syncer),
          /^ChangeNotSupported: modify of shop\.others on the source is not supported with recordPreImages$/,
        );
        return;
      }
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

    it('turned off during the sync changes nothing that the destination has', async () => {
      await using syncer = await pair.syncing();
      await pair.source.client.db('shop').command({ collMod: 'others', recordPreImages: false });
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  });

  it('what applyOps writes is applied where change streams show it', async () => {
    const hidden = await hidesAppliedOps(source, AbortSignal.timeout(10_000));
    const items = pair.source.client.db('shop').collection<{ _id: number }>('items');
    await items.insertOne({ _id: 0 });
    await using syncer = await pair.syncing();
    const applyOps = [1, 2].map((_id) => ({ op: 'i', ns: 'shop.items', o: { _id } }));
    await pair.source.client.db('admin').command({ applyOps });
    if (hidden) {
      assert.match(await failureOf(syncer), /^ApplyOpsOnSource: /);
      return;
    }
    await commitAndWait(syncer);
    await pair.assertEqual();
    assert.equal(await pair.destination.client.db('shop').collection('items').countDocuments(), 3);
  });

  it('a capped size that collMod gives is the one that the source makes of it', async () => {
    const shop = pair.source.client.db('shop');
    await shop.command({ create: 'log', capped: true, size: 51_200 });
    await using syncer = await pair.syncing();
    await shop.command({ collMod: 'log', cappedSize: 50_001 });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a reversal to servers that are older by now is refused', async function () {
    const [from, to] = await Promise.all([mongodRelease('source'), mongodRelease('destination')]);
    if (!isOlderRelease(from, to)) skipBecause(this, `${from} is not older than ${to}`);
    await pair.source.client.db('shop').collection('items').insertOne({ n: 1 });
    await using syncer = await pair.syncing({ enableUserWriteBlocking: true });
    await commitAndWait(syncer);
    await syncer.kill('SIGTERM');
    // As if the destination had been upgraded since the commit, and not its feature version: at its start, a reversible sync is between
    // servers of one version.
    const state = pair.destination.client.db('clustersync_internal').collection('sync');
    const { matchedCount } = await state.updateOne({}, { $set: { 'options.reversible': true } });
    assert.equal(matchedCount, 1);
    await syncer.restart();
    const { own, older } = await featureVersionsOf('destination');
    await setFeatureVersion(pair.destination.client, older);
    const { status, body } = await syncer.post('reverse', {}).finally(async () => {
      await setFeatureVersion(pair.destination.client, own);
    });
    assert.deepEqual([status, body['error']], [409, 'ServerVersionNotSupported']);
    const said = `cluster0 \\(.*\\) runs ${from}, which is older than the source: cluster1 \\(.*\\) runs ${to}`;
    assert.match(String(body['errorDescription']), new RegExp(said));
    assert.equal((await syncer.progress()).state, 'COMMITTED');
  });

  it('an unsharded collection that was moved to another shard (8.0) is not one with a shard key', async () => {
    // The rows that a config server has, on a replica set: servers before 8.0 move no such collection.
    const config = pair.source.client.db('config');
    const row = { key: { _id: 1 }, lastmodEpoch: 1, unique: false };
    const [sharded, moved] = [new UUID(), new UUID()];
    await config.collection<{ _id: string }>('collections').insertMany([
      { _id: 'shop.sharded', uuid: sharded, ...row },
      { _id: 'shop.moved', uuid: moved, ...row, unsplittable: true },
      { _id: 'shop.dropped', uuid: new UUID(), ...row, dropped: true },
    ] as never);
    try {
      const deployment = deploymentOf(source, { kind: 'sharded', shards: ['a'] });
      const known = { receivedTime: null, appliedTime: null };
      const catalog = { collections: () => [], collectionAt: () => undefined };
      const signal = AbortSignal.timeout(10_000);
      const kind = new ShardedSourceKind(deployment, catalog, known, signal);
      for (const uuids of [undefined, [sharded, moved]])
        assert.deepEqual(
          [...(await kind.readShardKeys(uuids))],
          [
            [
              sharded.toHexString(false),
              { namespace: 'shop.sharded', key: [{ field: '_id', kind: 1 }], isUnique: false },
            ],
          ],
        );
    } finally {
      await config.collection('collections').drop();
    }
  });
});
