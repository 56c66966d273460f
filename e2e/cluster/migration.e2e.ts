import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import type { ClusterSync, ClusterSyncStatus } from '../../operator/api/clustersync.ts';
import { isConditionTrue } from '../../operator/kube/conditions.ts';
import { assertProven } from '../ground/assert-proven.ts';
import { assertEqualClusters } from '../ground/compare.ts';
import type { Deployment } from '../ground/deployment.ts';
import { shopDatabase } from '../ground/shop/shop-collections.ts';
import { startShopWriter } from '../ground/shop/shop-writer.ts';
import {
  example,
  hasCaughtUp,
  lookInto,
  syncName,
  withMigration,
  type MigrationOptions,
} from './migration.ts';
import { runApplication, written } from './writing-application.ts';

describe('a ClusterSync', () => {
  const deployments: readonly (readonly [
    what: string,
    name: string,
    options: MigrationOptions,
    ids: readonly string[],
  ])[] = [
    ['deployment', 'moves', { scale: 0.1 }, ['old']],
    [
      'sharded cluster to one with more shards',
      'shards',
      { scale: 0.05, shards: [2, 3] },
      ['old-0', 'old-1'],
    ],
  ];
  for (const [what, name, options, ids] of deployments)
    it(`moves a live ${what}, and the verification proves it`, async () => {
      await withMigration(name, options, async ({ namespace, source, destination }) => {
        const { signal } = new AbortController();
        const writer = startShopWriter(source.uri('app'), { writesPerSecond: 200, signal });
        try {
          await namespace.apply(await example('clustersync.yaml'));
          await namespace.apply(await example('syncverification.yaml'));
          const synced = await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
          assert.ok(synced.status);
          assert.equal(synced.status.totals?.percent, 100);
          assert.equal(synced.status.canWrite, false);
          assert.equal(synced.status.observedGeneration, synced.metadata.generation);
          assert.ok(isConditionTrue(synced.status.conditions, 'Ready'));
          assertInstances(synced.status, ids);
        } finally {
          await writer.stop();
        }
        await assert.rejects(writeAsApplication(destination), /blocked/i);
        await namespace.setState(syncName, 'Committed');
        const committed = await namespace.untilSync(
          syncName,
          'it is committed',
          ({ status }) => status?.phase === 'Committed',
        );
        assert.ok(isConditionTrue(committed.status?.conditions, 'Committed'));
        assert.ok(isConditionTrue(committed.status?.conditions, 'Ready'));
        assert.equal(committed.status?.canWrite, true);
        const verification = await namespace.untilVerified(syncName);
        assert.equal(verification.status?.phase, 'Succeeded');
        assert.equal(verification.status.verdict, 'Equal');
        assert.equal(verification.status.verificationStatus?.failedTasks, 0);
        const { proof } = { ...verification.status.verifier?.progress };
        await assertProven(proof, source.uri('admin'), destination.uri('admin'));
        await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
        await assert.rejects(writeAsApplication(source), /blocked/i);
        await writeAsApplication(destination);
      });
    });

  it('is committed by itself when the application has been stopped, and loses none of its writes', async () => {
    await withMigration('automatic', { scale: 0.001 }, async (migration) => {
      const { cluster, namespace, source, destination } = migration;
      const image = await cluster.loadImage();
      await runApplication(namespace, { name: 'web', image, uri: source.uri('app'), replicas: 2 });
      await namespace.apply(await example('syncverification.yaml'));
      const text = await example('clustersync-automatic.yaml');
      // Nothing but the end of its pods keeps the application from writing.
      await namespace.apply(text.replace('enableUserWriteBlocking: true', ''));
      const stopped = await namespace.untilSync(
        syncName,
        'the application is stopped',
        ({ status }) => status?.commit?.workloads !== undefined,
      );
      assert.deepEqual(stopped.status?.commit?.workloads, [
        { kind: 'Deployment', name: 'web', replicas: 2 },
      ]);
      const { spec } = await namespace.untilSync(
        syncName,
        'it is committed, and nothing is held',
        ({ status }) => status?.phase === 'Committed' && status.commit === undefined,
      );
      assert.equal(spec.state, 'Running');
      const jsonPath = '--output=jsonpath={.spec.replicas}';
      assert.equal(await namespace.kubectl(['get', 'deployment', 'web', jsonPath]), '0');
      await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
      const visits = await lookInto(destination, written.database, async (db) => {
        return await db.collection(written.collection).countDocuments();
      });
      assert.ok(visits > 0, `${visits} visits`);
      const { status } = await namespace.untilVerified(syncName);
      assert.equal(status?.verdict, 'Equal');
      const { proof } = { ...status.verifier?.progress };
      await assertProven(proof, source.uri('admin'), destination.uri('admin'));
    });
  });

  it('is checked in its pods before anything is written, and goes back, with what was written since its commit', async () => {
    const options = { scale: 0.001 };
    await withMigration('back', options, async ({ namespace, source, destination }) => {
      const text = await example('clustersync.yaml');
      const asked = 'reversible: true\n  dryRun: true';
      await namespace.apply(
        text.replace(/(?<=\n) *enableUserWriteBlocking: true\n/, `$&  ${asked}\n`),
      );
      const { status: checked } = await namespace.untilSync(
        syncName,
        'a start would be accepted',
        ({ status }) => isConditionTrue(status?.conditions, 'CanStart'),
      );
      assert.equal(checked?.phase, 'DryRun');
      const names = await lookInto(destination, 'admin', async (db) => {
        const { databases } = await db.admin().listDatabases({ nameOnly: true });
        return databases.map(({ name }) => name).sort();
      });
      assert.deepEqual(names, ['admin', 'config', 'local']);
      await namespace.changeSync(syncName, { dryRun: false });
      await namespace.setState(syncName, 'Committed');
      await assert.rejects(namespace.setState(syncName, 'Running'), /cannot be undone/);
      const isCommitted = ({ status }: ClusterSync): boolean => status?.phase === 'Committed';
      await namespace.untilSync(syncName, 'it is committed', isCommitted);
      await writeAsApplication(destination);
      await namespace.changeSync(syncName, { direction: 'Reverse', state: 'Running' });
      const back = await namespace.untilSync(
        syncName,
        'it goes back',
        (sync) => sync.status?.direction === 'Reverse' && hasCaughtUp(sync),
      );
      assert.ok(isConditionTrue(back.status?.conditions, 'InitialCopyDone'));
      assert.equal(isConditionTrue(back.status?.conditions, 'Committed'), false);
      await assert.rejects(writeAsApplication(source), /blocked/i);
      await writeAsApplication(destination);
      await namespace.setState(syncName, 'Committed');
      await namespace.untilSync(syncName, 'the way back is committed', isCommitted);
      await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
      await assert.rejects(writeAsApplication(destination), /blocked/i);
      await writeAsApplication(source);
    });
  });

  it('connects with certificates from Secrets, is paused, and continues from there', async () => {
    const options = { scale: 0.001, hasCertificates: true };
    await withMigration('paused', options, async ({ namespace, source, destination }) => {
      await namespace.apply(await example('clustersync-certificates.yaml'));
      await namespace.apply(await example('syncverification.yaml'));
      await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
      await namespace.setState(syncName, 'Paused');
      const paused = await namespace.untilSync(
        syncName,
        'it is paused',
        ({ status }) => status?.phase === 'Paused',
      );
      assert.ok(isConditionTrue(paused.status?.conditions, 'Ready'));
      assert.equal(paused.status?.instances?.[0]?.progress?.['state'], 'PAUSED');
      await using client = new MongoClient(source.uri('admin'));
      await client.db('paused').collection('notes').insertOne({ written: 'during the pause' });
      await namespace.setState(syncName, 'Committed');
      await namespace.untilSync(
        syncName,
        'it is committed',
        ({ status }) => status?.phase === 'Committed',
      );
      await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
      const { status } = await namespace.untilVerified(syncName);
      assert.equal(status?.verdict, 'Equal');
      const { proof } = { ...status.verifier?.progress };
      await assertProven(proof, source.uri('admin'), destination.uri('admin'));
    });
  });
});

/** Each of these has a pod, and their reports of the sync that they share agree. */
function assertInstances(status: ClusterSyncStatus, ids: readonly string[]): void {
  const { instances = [], coordinatorID = '', totals } = status;
  assert.deepEqual(
    instances.map(({ id, pod, ready }) => [id, pod, ready]),
    ids.map((id, index) => [id, `${syncName}-syncer-${index}`, true]),
  );
  assert.ok(ids.includes(coordinatorID), coordinatorID);
  let copiedBytes = 0;
  for (const { id, image, progress } of instances) {
    assert.match(image ?? '', /sha256:[0-9a-f]{64}/, `image of ${id}`);
    assert.equal(progress?.['state'], 'RUNNING', `state of ${id}`);
    assert.equal(progress['info'], 'change event application', `info of ${id}`);
    assert.equal(progress['syncerID'], id);
    assert.equal(progress['coordinatorID'], coordinatorID, `coordinator of ${id}`);
    const { estimatedTotalBytes, estimatedCopiedBytes } = progress['collectionCopy'] as Readonly<
      Record<string, number>
    >;
    assert.equal(estimatedTotalBytes, totals?.estimatedTotalBytes, `total bytes of ${id}`);
    // Each collection is one partition here, and the hash of its UUID decides who copies it: one instance may copy nothing.
    // That each one copies is asserted by several-instances.integration.ts.
    assert.ok(estimatedCopiedBytes !== undefined, `copied bytes of ${id}`);
    copiedBytes += estimatedCopiedBytes;
  }
  assert.ok(copiedBytes > 0, 'nothing was copied');
  assert.equal(copiedBytes, totals?.estimatedCopiedBytes);
}

async function writeAsApplication(deployment: Deployment): Promise<void> {
  await using client = new MongoClient(deployment.uri('app'));
  await client.db(shopDatabase).collection('orders').insertOne({ status: 'open' });
}
