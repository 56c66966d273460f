import assert from 'node:assert/strict';
import type { MongoClient } from 'mongodb';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import { useShardedCluster, type ShardedGround } from '../../ground/sharded/use-sharded-cluster.ts';
import { startSyncerProcess, type SyncerProcess } from '../../ground/syncer-process.ts';
import { commitAndWait, forward, namespacesOf, useClusterPair, type Side } from './cluster-pair.ts';
import { canBeSlow } from './slow-commands.ts';

const name = 'FeatureVersionNotSupported';

describe('featureCompatibilityVersion', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    const index = { key: { n: 1 }, name: 'n', unique: true };
    await shop.command({ createIndexes: 'items', indexes: [index] });
    await shop.collection('items').insertMany([{ n: 0 }, { n: 1 }]);
  });

  for (const side of ['source', 'destination'] as const) {
    const cluster = side === 'source' ? 'cluster0' : 'cluster1';

    it(`5.0 on the ${side}: refused at start, by name, and nothing is written`, async () => {
      await using syncer = await pair.syncer();
      await withVersion(pair[side].client, '5.0', async () => {
        for (const command of ['preflight', 'start'])
          await refuses(
            syncer,
            command,
            new RegExp(`${cluster} \\(.*\\) is 5\\.0; 6\\.0 is required`),
          );
        assert.equal((await syncer.progress()).state, 'IDLE');
        assert.deepEqual(await namespacesOf(pair.destination), []);
        assert.deepEqual(await statesOn(pair.destination), []);
      });
      await syncer.start(forward);
    });

    it(`5.0 on the ${side} during the sync: the commit is refused, and taken when it is 6.0 again`, async () => {
      await using syncer = await pair.syncing();
      await withVersion(pair[side].client, '5.0', async () => {
        const refused = new RegExp(`${cluster} .* is 5\\.0; 6\\.0 is required`);
        await tells(syncer, refused);
        await refuses(syncer, 'commit', refused);
        assert.equal((await syncer.progress()).state, 'RUNNING');
      });
      const { warnings } = await syncer.waitFor(({ canCommit }) => canCommit);
      assert.deepEqual(warnings, []);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

    it(`that is being changed on the ${side}: refused at start and at the commit`, async () => {
      await using syncer = await pair.syncer();
      const changing = new RegExp(`${cluster} .* is still being changed to 5\\.0`);
      await halfwayTo5(pair[side].client, async () => {
        await refuses(syncer, 'start', changing);
      });
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await halfwayTo5(pair[side].client, async () => {
        await tells(syncer, changing);
        await refuses(syncer, 'commit', changing);
      });
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  }

  it('that is 5.0 after the commit of a reversible sync: the reversal is refused', async () => {
    await using syncer = await pair.syncing({ reversible: true, enableUserWriteBlocking: true });
    await commitAndWait(syncer);
    // A server whose users are blocked cannot be downgraded.
    await withVersion(pair.destination.client, '5.0', async () => {
      await refuses(syncer, 'reverse', /cluster1 .* is 5\.0/);
      assert.equal((await syncer.progress()).state, 'COMMITTED');
    });
    assert.equal((await syncer.post('reverse', {})).status, 200);
  });

  it('that a user may not see is a missing privilege', async () => {
    const admin = pair.destination.client.db('admin');
    const { roles } = await admin.command({
      rolesInfo: ['clusterManager', 'readWriteAnyDatabase', 'restore'],
      showPrivileges: true,
      showBuiltinRoles: true,
    });
    const all = roles as { inheritedPrivileges: { resource: object; actions: string[] }[] }[];
    const privileges = all.flatMap(({ inheritedPrivileges }) =>
      inheritedPrivileges.map(({ resource, actions }) => ({
        resource,
        actions: actions.filter((action) => action !== 'getParameter'),
      })),
    );
    await admin.command({ createRole: 'blind', privileges, roles: [] });
    await admin.command({ createUser: 'blind', pwd: 'secret', roles: ['blind'] });
    try {
      const uri = pair.destination.set.uri('syncer').replace(/\/\/.*@/, '//blind:secret@');
      await using syncer = await pair.syncer({ cluster1: uri });
      const { body } = await syncer.post('start', forward);
      assert.equal(body['error'], 'MissingPrivileges');
      assert.match(String(body['errorDescription']), /cluster1 .* lacks .*getParameter/);
      await admin.command({ grantRolesToUser: 'blind', roles: ['clusterMonitor'] });
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
    } finally {
      await admin.command({ dropUser: 'blind' });
      await admin.command({ dropRole: 'blind' });
    }
  });

  context('of a sharded cluster', () => {
    const source = useShardedCluster({ shards: 2, name: 'from', parameters: canBeSlow });
    const destination = useShardedCluster({
      side: 'destination',
      shards: 2,
      parameters: canBeSlow,
    });
    const sides = { cluster0: source, cluster1: destination };
    beforeEach(async () => {
      await Promise.all([emptyCluster(source.client), emptyCluster(destination.client)]);
      await source.collection('shop.items').insertOne({ _id: 1 });
    });

    const startSyncer = async (): Promise<SyncerProcess> =>
      await startSyncerProcess({
        cluster0: source.cluster.uri('syncer'),
        cluster1: destination.cluster.uri('syncer'),
      });

    it('5.0 on either side: refused at start and at the commit', async () => {
      await using syncer = await startSyncer();
      for (const [cluster, { cluster: servers }] of Object.entries(sides)) {
        await withVersion(servers.configClient(), '5.0', async () => {
          await refuses(syncer, 'start', new RegExp(`${cluster} .* is 5\\.0`));
        });
      }
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      for (const [cluster, { cluster: servers }] of Object.entries(sides)) {
        await withVersion(servers.configClient(), '5.0', async () => {
          await tells(syncer, new RegExp(`${cluster} .* is 5\\.0`));
          await refuses(syncer, 'commit', new RegExp(`${cluster} .* is 5\\.0`));
        });
        await syncer.waitFor(({ canCommit }) => canCommit);
      }
      await commitAndWait(syncer);
      assert.equal(await destination.collection('shop.items').countDocuments(), 1);
    });

    it('older on one shard alone, of either side: refused at start and at the commit', async () => {
      await using syncer = await startSyncer();
      const refused = (cluster: string) =>
        new RegExp(`${cluster} .* is still being changed to 6\\.0`);
      for (const [cluster, side] of Object.entries(sides)) {
        await olderOnOneShard(side, async () => {
          for (const command of ['preflight', 'start'])
            await refuses(syncer, command, refused(cluster));
          assert.equal((await syncer.progress()).state, 'IDLE');
          const { databases } = await destination.admin({ listDatabases: 1, nameOnly: true });
          const names = (databases as { name: string }[]).map(({ name: db }) => db);
          assert.deepEqual(names.sort(), ['admin', 'config']);
        });
      }
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      for (const [cluster, side] of Object.entries(sides)) {
        await olderOnOneShard(side, async () => {
          await tells(syncer, refused(cluster));
          await refuses(syncer, 'commit', refused(cluster));
        });
        await syncer.waitFor(({ canCommit }) => canCommit);
      }
      await commitAndWait(syncer);
      assert.equal(await destination.collection('shop.items').countDocuments(), 1);
    });
  });
});

async function refuses(syncer: SyncerProcess, command: string, description: RegExp): Promise<void> {
  const isStart = command === 'start' || command === 'preflight';
  const { status, body } = await syncer.post(command, isStart ? forward : {});
  assert.equal(body['error'], name, JSON.stringify(body));
  assert.equal(status, 409);
  assert.match(String(body['errorDescription']), description);
}

/** What keeps a commit from being taken is told of as soon as what else it depends on. */
async function tells(syncer: SyncerProcess, description: RegExp): Promise<void> {
  const { canCommit, warnings } = await syncer.waitFor(
    (progress) => description.test(progress.warnings?.join('\n') ?? ''),
    { deadlineMs: 10_000 },
  );
  assert.equal(canCommit, false);
  assert.equal(warnings?.length, 1, JSON.stringify(warnings));
  assert.match(String(warnings[0]), /^commit: not possible now: the featureCompatibilityVersion/);
}

/** Runs something while the version is another one. */
async function withVersion(
  client: MongoClient,
  version: string,
  run: () => Promise<void>,
): Promise<void> {
  await setVersion(client, version);
  try {
    await run();
  } finally {
    await setVersion(client, '6.0');
  }
}

/** Runs something while a downgrade has stopped halfway: only then it can be ended, and taken back. */
async function halfwayTo5(client: MongoClient, run: () => Promise<void>): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ configureFailPoint: 'failDowngrading', mode: 'alwaysOn' });
  await assert.rejects(setVersion(client, '5.0'), /failDowngrading/);
  try {
    await run();
  } finally {
    await admin.command({ configureFailPoint: 'failDowngrading', mode: 'off' });
    await setVersion(client, '5.0');
    await setVersion(client, '6.0');
  }
}

/** Runs something while a change has ended on one shard, and has stopped on the other. */
async function olderOnOneShard(
  { cluster }: ShardedGround,
  run: () => Promise<void>,
): Promise<void> {
  const [changed, stopped] = cluster.shards.map((shard) => cluster.shardClient(shard));
  assert.ok(changed && stopped);
  const admin = stopped.db('admin');
  await setVersion(cluster.configClient(), '5.0');
  await admin.command({ configureFailPoint: 'failUpgrading', mode: 'alwaysOn' });
  try {
    await assert.rejects(setVersion(cluster.configClient(), '6.0'), /failUpgrading/);
    assert.deepEqual(await versionOf(changed), { version: '6.0' });
    assert.deepEqual(await versionOf(stopped), { version: '5.0', targetVersion: '6.0' });
    await run();
  } finally {
    await admin.command({ configureFailPoint: 'failUpgrading', mode: 'off' });
    await setVersion(cluster.configClient(), '6.0');
  }
}

async function versionOf(client: MongoClient): Promise<unknown> {
  const command = { getParameter: 1, featureCompatibilityVersion: 1 };
  return (await client.db('admin').command(command))['featureCompatibilityVersion'];
}

async function setVersion(client: MongoClient, version: string): Promise<void> {
  await client.db('admin').command({ setFeatureCompatibilityVersion: version });
}

/** What a sync has stored. */
async function statesOn({ client }: Side): Promise<unknown[]> {
  return await client.db('clustersync_internal').collection('sync').find().toArray();
}
