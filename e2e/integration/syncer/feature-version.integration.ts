import assert from 'node:assert/strict';
import type { MongoClient } from 'mongodb';
import { hasFeature } from '../../../mongo/server-features.ts';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import { useShardedCluster, type ShardedGround } from '../../ground/sharded/use-sharded-cluster.ts';
import { startSyncerProcess, type SyncerProcess } from '../../ground/syncer-process.ts';
import { skipBecause } from '../../runner/skip.ts';
import { commitAndWait, forward, namespacesOf, useClusterPair, type Side } from './cluster-pair.ts';
import { featureVersionsOf, setFeatureVersion, type FeatureVersions } from './feature-versions.ts';
import { skipUnlessReversible } from './skip-reversal.ts';
import { canBeSlow } from './slow-commands.ts';

const name = 'FeatureVersionNotSupported';

const sideNames = ['source', 'destination'] as const;
type SideName = (typeof sideNames)[number];
const optionOf = (side: SideName): string => (side === 'source' ? 'cluster0' : 'cluster1');

describe('featureCompatibilityVersion', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  let versions: Record<SideName, FeatureVersions>;
  before(async () => {
    const [source, destination] = await Promise.all(sideNames.map(featureVersionsOf));
    assert.ok(source && destination);
    versions = { source, destination };
  });
  /** What is said of the older version of a side; undefined if a sync can work with it. */
  const refusalOf = (side: SideName): RegExp | undefined => {
    const { own, older } = versions[side];
    const is = `${optionOf(side)} \\(.*\\) is ${older}`;
    if (older === '5.0') return new RegExp(`${is}; 6\\.0 is required`);
    if (side === 'source' || versions.source.own !== own) return undefined;
    return new RegExp(`${is}, below that of the source, cluster0 \\(.*\\): ${own}`);
  };
  const requireRefusal = (context: Mocha.Context, side: SideName): RegExp =>
    refusalOf(side) ??
    skipBecause(context, `a sync works with ${versions[side].older} on this ${side}`);
  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    const index = { key: { n: 1 }, name: 'n', unique: true };
    await shop.command({ createIndexes: 'items', indexes: [index] });
    await shop.collection('items').insertMany([{ n: 0 }, { n: 1 }]);
  });

  for (const side of sideNames) {
    it(`older than it may be on the ${side}: refused at start, by name, and nothing is written`, async function () {
      const refused = requireRefusal(this, side);
      await using syncer = await pair.syncer();
      await withOlder(pair[side].client, versions[side], async () => {
        for (const command of ['preflight', 'start']) await refuses(syncer, command, refused);
        assert.equal((await syncer.progress()).state, 'IDLE');
        assert.deepEqual(await namespacesOf(pair.destination), []);
        assert.deepEqual(await statesOn(pair.destination), []);
      });
      await syncer.start(forward);
    });

    it(`older than it may be on the ${side} during the sync: the commit is refused, and taken when it is as before`, async function () {
      const refused = requireRefusal(this, side);
      await using syncer = await pair.syncing();
      await withOlder(pair[side].client, versions[side], async () => {
        await tells(syncer, refused);
        await refuses(syncer, 'commit', refused);
        assert.equal((await syncer.progress()).state, 'RUNNING');
      });
      await syncer.waitFor(({ canCommit, warnings }) => canCommit && warnings?.length === 0);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

    it(`older, but not too old, on the ${side}: syncs to the commit`, async function () {
      if (refusalOf(side))
        skipBecause(this, `a sync refuses ${versions[side].older} on this ${side}`);
      await withOlder(pair[side].client, versions[side], async () => {
        await using syncer = await pair.syncing();
        await commitAndWait(syncer);
        await pair.assertEqual();
      });
    });

    it(`that is being changed on the ${side}: refused at start and at the commit`, async () => {
      await using syncer = await pair.syncer();
      const { older } = versions[side];
      const changing = new RegExp(`${optionOf(side)} .* is still being changed to ${older}`);
      await halfwayToOlder(pair[side].client, versions[side], async () => {
        await refuses(syncer, 'start', changing);
      });
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      await halfwayToOlder(pair[side].client, versions[side], async () => {
        await tells(syncer, changing);
        await refuses(syncer, 'commit', changing);
      });
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  }

  it('older than it may be after the commit of a reversible sync: the reversal is refused', async function () {
    await skipUnlessReversible(this);
    const { own, older } = versions.destination;
    if (older !== '5.0') skipBecause(this, `a sync works with ${older} on the new source`);
    await using syncer = await pair.syncing({ reversible: true, enableUserWriteBlocking: true });
    await commitAndWait(syncer);
    // A server whose users are blocked cannot be downgraded.
    await withOlder(pair.destination.client, { own, older }, async () => {
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
    const sides = { source, destination };
    beforeEach(async () => {
      await Promise.all([emptyCluster(source.client), emptyCluster(destination.client)]);
      await source.collection('shop.items').insertOne({ _id: 1 });
    });

    const startSyncer = async (): Promise<SyncerProcess> =>
      await startSyncerProcess({
        cluster0: source.cluster.uri('syncer'),
        cluster1: destination.cluster.uri('syncer'),
      });

    for (const side of sideNames)
      it(`older than it may be on the ${side}: refused at start and at the commit`, async function () {
        const refused = requireRefusal(this, side);
        const config = sides[side].cluster.configClient();
        await using syncer = await startSyncer();
        await withOlder(config, versions[side], async () => {
          await refuses(syncer, 'start', refused);
        });
        await syncer.start(forward);
        await syncer.waitFor(({ canCommit }) => canCommit);
        await withOlder(config, versions[side], async () => {
          await tells(syncer, refused);
          await refuses(syncer, 'commit', refused);
        });
        await commitAndWait(syncer);
        assert.equal(await destination.collection('shop.items').countDocuments(), 1);
      });

    it('older on one shard alone, of either side: refused at start and at the commit', async () => {
      await using syncer = await startSyncer();
      const refused = (side: SideName) =>
        new RegExp(`${optionOf(side)} .* is still being changed to ${versions[side].own}`);
      for (const side of sideNames) {
        await olderOnOneShard(sides[side], versions[side], async () => {
          for (const command of ['preflight', 'start'])
            await refuses(syncer, command, refused(side));
          assert.equal((await syncer.progress()).state, 'IDLE');
          const { databases } = await destination.admin({ listDatabases: 1, nameOnly: true });
          const names = (databases as { name: string }[]).map(({ name: db }) => db);
          assert.deepEqual(names.sort(), ['admin', 'config']);
        });
      }
      await syncer.start(forward);
      await syncer.waitFor(({ canCommit }) => canCommit);
      for (const side of sideNames) {
        await olderOnOneShard(sides[side], versions[side], async () => {
          await tells(syncer, refused(side));
          await refuses(syncer, 'commit', refused(side));
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

/** What prevents a commit is reported as soon as the other conditions of a commit. */
async function tells(syncer: SyncerProcess, description: RegExp): Promise<void> {
  const { canCommit, warnings } = await syncer.waitFor(
    // On a busy machine, a proof may be too old beside it.
    ({ warnings: told }) => told?.length === 1 && description.test(told[0] ?? ''),
  );
  assert.equal(canCommit, false);
  assert.match(String(warnings?.[0]), /^commit: not possible now: the featureCompatibilityVersion/);
}

/** Runs something while the version is the older one. */
async function withOlder(
  client: MongoClient,
  { own, older }: FeatureVersions,
  run: () => Promise<void>,
): Promise<void> {
  await setFeatureVersion(client, older);
  try {
    await run();
  } finally {
    await setFeatureVersion(client, own);
  }
}

/** Runs something while a downgrade has stopped halfway: only then it can be ended, and taken back. */
async function halfwayToOlder(
  client: MongoClient,
  { own, older }: FeatureVersions,
  run: () => Promise<void>,
): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ configureFailPoint: 'failDowngrading', mode: 'alwaysOn' });
  await assert.rejects(setFeatureVersion(client, older), /failDowngrading/);
  try {
    await run();
  } finally {
    await admin.command({ configureFailPoint: 'failDowngrading', mode: 'off' });
    await setFeatureVersion(client, older);
    await setFeatureVersion(client, own);
  }
}

/** Runs something while a change has stopped on one shard, and has gone on as far as it can on the other. */
async function olderOnOneShard(
  { cluster }: ShardedGround,
  { own, older }: FeatureVersions,
  run: () => Promise<void>,
): Promise<void> {
  const [changed, stopped] = cluster.shards.map((shard) => cluster.shardClient(shard));
  assert.ok(changed && stopped);
  const admin = stopped.db('admin');
  await setFeatureVersion(cluster.configClient(), older);
  await admin.command({ configureFailPoint: 'failUpgrading', mode: 'alwaysOn' });
  try {
    await assert.rejects(setFeatureVersion(cluster.configClient(), own), /failUpgrading/);
    const between = { version: older, targetVersion: own };
    const isInPhases = hasFeature(own, 'featureVersionsInPhases');
    assert.deepEqual(await versionOf(changed), isInPhases ? between : { version: own });
    assert.deepEqual(await versionOf(stopped), between);
    await run();
  } finally {
    await admin.command({ configureFailPoint: 'failUpgrading', mode: 'off' });
    await setFeatureVersion(cluster.configClient(), own);
  }
}

async function versionOf(client: MongoClient): Promise<unknown> {
  const command = { getParameter: 1, featureCompatibilityVersion: 1 };
  return (await client.db('admin').command(command))['featureCompatibilityVersion'];
}

/** What a sync has stored. */
async function statesOn({ client }: Side): Promise<unknown[]> {
  return await client.db('clustersync_internal').collection('sync').find().toArray();
}
