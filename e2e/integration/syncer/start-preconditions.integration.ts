import assert from 'node:assert/strict';
import type { MongoClient } from 'mongodb';
import type { CheckAnswer } from '../../../sync-api/json.ts';
import { otherSync } from './other-sync.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, namespacesOf, useClusterPair } from './cluster-pair.ts';
import { isOtherWayPossible, isReversiblePair } from './skip-reversal.ts';

describe('contract 4.1: what start refuses because of the clusters', () => {
  const pair = useClusterPair();
  beforeEach(async () => {
    await pair.reset();
  });

  /** Start is refused by this name, the process is unharmed, and nothing was written to the destination. */
  async function refuses(
    syncer: SyncerProcess,
    body: object,
    status: number,
    error: string,
    description: RegExp,
  ): Promise<void> {
    const before = await namespacesOf(pair.destination);
    const answer = await syncer.post('start', { ...forward, ...body });
    assert.equal(answer.body['error'], error, JSON.stringify(answer.body));
    assert.equal(answer.status, status);
    assert.equal(answer.body['success'], false);
    assert.match(String(answer.body['errorDescription']), description);
    assert.equal((await syncer.progress()).state, 'IDLE');
    assert.deepEqual(await namespacesOf(pair.destination), before);
    assert.deepEqual(await writeBlockMode(pair.destination.client), 1);
  }

  it('rule 1: buildIndexes never with reversible', async () => {
    await using syncer = await pair.syncer();
    const body = { buildIndexes: 'never', reversible: true, enableUserWriteBlocking: true };
    await refuses(syncer, body, 400, 'NeverWithReversible', /never/);
    const without = { reversible: true };
    await refuses(syncer, without, 400, 'ReversibleNeedsWriteBlocking', /enableUserWriteBlocking/);
  });

  it('rule 3: sharding for a destination that is not sharded', async () => {
    await using syncer = await pair.syncer();
    const sharding = { shardingEntries: [] };
    await refuses(syncer, { sharding }, 400, 'ShardingNotAllowed', /sharding/);
  });

  it('unknown cluster names, and one cluster twice', async () => {
    await using syncer = await pair.syncer();
    await refuses(syncer, { source: 'cluster2' }, 400, 'UnknownCluster', /source.*cluster2/);
    await refuses(syncer, { destination: 'source' }, 400, 'UnknownCluster', /destination/);
    await refuses(syncer, { destination: 'cluster0' }, 400, 'UnknownCluster', /both cluster0/);
  });

  it('two connection strings of the same replica set', async () => {
    const [member] = pair.source.set.members;
    assert.ok(member);
    await using syncer = await pair.syncer({
      cluster1: pair.source.set.directUri('syncer', member),
    });
    await refuses(syncer, {}, 409, 'SameCluster', /same deployment, source/);
  });

  it('a destination that has data in the selected namespaces, and no other', async () => {
    await pair.destination.client.db('shop').collection('there').insertOne({});
    await pair.destination.client.db('other').collection('there').insertOne({});
    await pair.source.client.db('shop').collection('items').insertOne({});
    await using syncer = await pair.syncer();
    const shop = { includeNamespaces: [{ database: 'shop' }] };
    await refuses(syncer, {}, 409, 'DestinationNotEmpty', /other\.there.*shop\.there/);
    await refuses(syncer, shop, 409, 'DestinationNotEmpty', /: shop\.there;/);
    await pair.destination.client.db('shop').dropDatabase();
    await syncer.start({ ...forward, ...shop });
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    await pair.assertEqual({ exclude: ['other'] });
  });

  it('an empty collection or a view on the destination is data too', async () => {
    await pair.destination.client.db('shop').createCollection('empty');
    await using syncer = await pair.syncer();
    await refuses(syncer, {}, 409, 'DestinationNotEmpty', /shop\.empty/);
    await pair.destination.client.db('shop').dropDatabase();
    await pair.destination.client
      .db('shop')
      .command({ create: 'view', viewOn: 'nothing', pipeline: [] });
    await refuses(syncer, {}, 409, 'DestinationNotEmpty', /shop\.view/);
  });

  it('the state of another sync on the destination', async () => {
    const internal = pair.destination.client.db('clustersync_internal');
    await internal
      .collection<{ _id: string }>('sync')
      .insertOne(otherSync({ name: 'cluster1', clusterId: 'another' }));
    await using syncer = await pair.syncer();
    await refuses(syncer, {}, 409, 'OtherSyncUnfinished', /another sync/);
    assert.equal(await internal.collection('sync').countDocuments(), 1);
    await internal.dropDatabase();
    await syncer.start(forward);
  });

  it('privileges that are missing on the source, on the destination, and for write blocking', async () => {
    await createUser(pair.source.client, 'reader', ['readAnyDatabase', 'clusterMonitor']);
    await createUser(pair.destination.client, 'writer', ['readWriteAnyDatabase', 'clusterMonitor']);
    await createUser(pair.destination.client, 'nobody', []);
    // All that the destination needs, but nothing for write blocking.
    await pair.destination.client.db('admin').command({
      createRole: 'noBlocking',
      privileges: [
        {
          resource: { db: '', collection: '' },
          actions: ['bypassDocumentValidation', 'collMod', 'listIndexes', 'renameCollectionSameDB'],
        },
        { resource: { cluster: true }, actions: ['appendOplogNote'] },
      ],
      roles: ['readWriteAnyDatabase', 'clusterMonitor'],
    });
    await createUser(pair.destination.client, 'unblocking', ['noBlocking']);
    // All that the source needs with write blocking, but nothing for being the destination of a reversed sync.
    await pair.source.client.db('admin').command({
      createRole: 'onlyBlocking',
      privileges: [
        {
          resource: { cluster: true },
          actions: ['setUserWriteBlockMode', 'bypassWriteBlockingMode'],
        },
      ],
      roles: ['backup', 'clusterMonitor', 'readAnyDatabase'],
    });
    await createUser(pair.source.client, 'forward', ['onlyBlocking']);
    try {
      const as = (side: 'source' | 'destination', user: string): string =>
        pair[side].set.uri('syncer').replace(/\/\/.*@/, `//${user}:secret@`);
      await using noSource = await pair.syncer({ cluster0: as('source', 'reader') });
      await refuses(noSource, {}, 409, 'MissingPrivileges', /cluster0.*appendOplogNote/);
      await using noDestination = await pair.syncer({ cluster1: as('destination', 'writer') });
      await refuses(noDestination, {}, 409, 'MissingPrivileges', /cluster1.*bypassDocument/);
      await using nothing = await pair.syncer({
        cluster1: as('destination', 'nobody'),
        until: 'listening',
      });
      await until('an answer', async () => {
        const { body } = await nothing.getProgress();
        const named = 'MissingPrivileges: cluster1 (spec.destination): not authorized on admin';
        return String(body['error']).startsWith(named);
      });
      assert.equal((await nothing.post('start', forward)).body['error'], 'MissingPrivileges');
      await using noReverse = await pair.syncer({ cluster0: as('source', 'forward') });
      // Between other servers, the versions are refused before.
      if (await isReversiblePair())
        await refuses(
          noReverse,
          { enableUserWriteBlocking: true, reversible: true },
          409,
          'MissingPrivileges',
          /cluster0 lacks the actions insert, update, remove/,
        );
      await using noBlocking = await pair.syncer({ cluster1: as('destination', 'unblocking') });
      const body = { enableUserWriteBlocking: true };
      await refuses(
        noBlocking,
        body,
        409,
        'MissingPrivileges',
        /cluster1 lacks the actions setUserWriteBlockMode, bypassWriteBlockingMode;/,
      );
      await noBlocking.start(forward);
      await noBlocking.waitFor(({ canCommit }) => canCommit);
    } finally {
      await pair.source.client.db('admin').command({ dropUser: 'reader' });
      await pair.source.client.db('admin').command({ dropUser: 'forward' });
      await pair.source.client.db('admin').command({ dropRole: 'onlyBlocking' });
      const admin = pair.destination.client.db('admin');
      await admin.command({ dropUser: 'writer' });
      await admin.command({ dropUser: 'nobody' });
      await admin.command({ dropUser: 'unblocking' });
      await admin.command({ dropRole: 'noBlocking' });
    }
  });

  it('time-series collections, unless they are excluded', async () => {
    const db = pair.source.client.db('metrics');
    await db.createCollection('ticks', { timeseries: { timeField: 't' } });
    await db.collection('rows').insertOne({});
    await using syncer = await pair.syncer();
    await refuses(syncer, {}, 400, 'TimeSeriesNotSupported', /metrics\.ticks/);
    const excludeNamespaces = [{ database: 'metrics', collections: ['ticks'] }];
    await syncer.start({ ...forward, excludeNamespaces });
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(await namespacesOf(pair.destination), ['metrics.rows']);
  });

  it('says where all blockers are listed: it stops at the first, also of those that a server reports', async () => {
    const db = pair.source.client.db('metrics');
    await db.createCollection('ticks', { timeseries: { timeField: 't' } });
    await pair.destination.client.db('shop').collection('there').insertOne({});
    const hint = '; there may be more blockers: clustersync check lists all';
    const listed = new RegExp(`${hint}$`);
    await using syncer = await pair.syncer();
    await refuses(syncer, {}, 400, 'TimeSeriesNotSupported', listed);
    const answer = await syncer.post('preflight', forward);
    assert.match(String(answer.body['errorDescription']), listed);
    const includeNamespaces = [{ databaseRegex: { pattern: '[' } }];
    await refuses(syncer, { includeNamespaces }, 400, 'InvalidNamespaceFilter', listed);
    // The check itself does not.
    const { findings } = (await syncer.post('check', forward)).body as unknown as CheckAnswer;
    assert.deepEqual(
      findings.map(({ name, message }) => [name, message.endsWith(hint)]),
      [
        ['TimeSeriesNotSupported', false],
        ['DestinationNotEmpty', false],
      ],
    );
  });

  it('a pattern that the server cannot compile', async () => {
    await using syncer = await pair.syncer();
    for (const field of ['includeNamespaces', 'excludeNamespaces']) {
      for (const entry of [
        { database: 'a', collectionsRegex: { pattern: '(' } },
        { databaseRegex: { pattern: '[' } },
      ])
        await refuses(syncer, { [field]: [entry] }, 400, 'InvalidNamespaceFilter', /regular exp/i);
    }
  });

  it('either of the two clusters can be the source, unless its servers are newer', async () => {
    await pair.destination.client.db('shop').collection('items').insertOne({ n: 1 });
    await using syncer = await pair.syncer();
    const otherWay = { source: 'cluster1', destination: 'cluster0' } as const;
    if (!(await isOtherWayPossible())) {
      const { status, body } = await syncer.post('start', otherWay);
      assert.deepEqual([status, body['error']], [409, 'ServerVersionNotSupported']);
      assert.match(
        String(body['errorDescription']),
        /^cluster0 .*, which is older than the source/,
      );
      assert.deepEqual(await namespacesOf(pair.source), []);
      return;
    }
    await syncer.start(otherWay);
    const { directionMapping } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(directionMapping, {
      Source: `cluster1: ${pair.destination.set.members[0]?.address ?? ''}`,
      Destination: `cluster0: ${pair.source.set.members[0]?.address ?? ''}`,
    });
    await commitAndWait(syncer);
    await pair.assertEqual();
    await syncer.kill();
    await syncer.restart();
    assert.equal((await syncer.progress()).state, 'COMMITTED');
  });
});

async function createUser(client: MongoClient, user: string, roles: string[]): Promise<void> {
  await client.db('admin').command({ createUser: user, pwd: 'secret', roles });
}

/** 1: nobody is blocked. 2: blocked. */
async function writeBlockMode(client: MongoClient): Promise<unknown> {
  const status = await client.db('admin').command({ serverStatus: 1, repl: 1 });
  return (status['repl'] as { userWriteBlockMode: unknown }).userWriteBlockMode;
}
