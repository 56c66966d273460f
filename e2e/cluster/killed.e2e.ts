import assert from 'node:assert/strict';
import { assertEqualClusters } from '../ground/compare.ts';
import { operatorNamespace } from '../ground/kubernetes/operator-release.ts';
import { whileSlow } from '../ground/mongod/slow-command.ts';
import { shopDatabase } from '../ground/shop/shop-collections.ts';
import { startShopWriter } from '../ground/shop/shop-writer.ts';
import { until } from '../ground/until.ts';
import type { Deployment } from '../ground/deployment.ts';
import {
  example,
  hasCaughtUp,
  lookInto,
  operatorSelector,
  syncName,
  withMigration,
  type Migration,
} from './migration.ts';

const syncerPod = `${syncName}-syncer-0`;

describe('a sync whose processes are killed', () => {
  it('ends equal after its syncer was killed during the copy and during change events', async () => {
    await withMigration('syncer-killed', { scale: 0.3 }, async (migration) => {
      const { namespace, source, destination } = migration;
      const { signal } = new AbortController();
      const writer = startShopWriter(source.uri('app'), { writesPerSecond: 200, signal });
      try {
        const slow = { command: 'insert', delayMs: 1_000 };
        await whileSlow(destination.uri('admin'), slow, async () => {
          await namespace.apply(await example('clustersync.yaml'));
          await until(
            'documents are being copied',
            async () => await isCopying(destination),
            60_000,
          );
          await killSyncer(migration, 'container');
          assert.equal(await phaseOf(destination), 'copy');
        });
        await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
        for (const what of ['container', 'pod'] as const) {
          await killSyncer(migration, what);
          assert.equal(await phaseOf(destination), 'changes');
          const { writes } = writer;
          await until('the application has written more', () => writer.writes > writes + 200);
        }
        await namespace.untilSync(syncName, 'it has caught up again', hasCaughtUp);
      } finally {
        await writer.stop();
      }
      await commit(migration);
    });
  });

  it('loses nothing when the operator is killed, and has the right status again', async () => {
    await withMigration('operator-killed', { scale: 0.05 }, async (migration) => {
      const { namespace, source } = migration;
      const { signal } = new AbortController();
      const writer = startShopWriter(source.uri('app'), { writesPerSecond: 200, signal });
      try {
        await namespace.apply(await example('clustersync.yaml'));
        const before = await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
        await killOperator(migration);
        const applied = eventsApplied(before.status?.instances);
        const after = await namespace.untilSync(
          syncName,
          'its figures move on',
          (sync) => eventsApplied(sync.status?.instances) > applied + 200 && hasCaughtUp(sync),
        );
        assert.equal(after.status?.startedAt, before.status?.startedAt);
        assert.equal(after.status?.phase, 'ChangeApplication');
      } finally {
        await writer.stop();
      }
      await namespace.setState(syncName, 'Committed');
      await killOperator(migration);
      await commit(migration);
    });
  });
});

async function commit({ namespace, source, destination }: Migration): Promise<void> {
  await namespace.setState(syncName, 'Committed');
  await namespace.untilSync(
    syncName,
    'it is committed',
    ({ status }) => status?.phase === 'Committed',
  );
  await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
}

/** Kills the syncer and waits until another process has taken its place. */
async function killSyncer(migration: Migration, what: 'container' | 'pod'): Promise<void> {
  const { cluster, namespace, destination } = migration;
  const before = await incarnationOf(destination);
  if (what === 'container') {
    await cluster.killContainer(syncerPod, { namespace: namespace.name });
  } else {
    // As when its node is lost.
    await namespace.kubectl(['delete', 'pod', syncerPod, '--grace-period=0', '--force']);
  }
  await until(
    'another process goes on',
    async () => (await incarnationOf(destination)) !== before,
    60_000,
  );
}

async function incarnationOf(destination: Deployment): Promise<unknown> {
  return await lookInto(destination, 'clustersync_internal', async (db) => {
    return (await db.collection('instances').findOne())?.['incarnation'] as unknown;
  });
}

/** The operator's one pod. */
async function operatorPod({ cluster }: Migration): Promise<string> {
  const name = '--output=jsonpath={.items[0].metadata.name}';
  const where = `--namespace=${operatorNamespace}`;
  return await cluster.kubectl(['get', 'pods', operatorSelector, where, name]);
}

async function killOperator(migration: Migration): Promise<void> {
  await migration.cluster.killContainer(await operatorPod(migration), {
    namespace: operatorNamespace,
  });
}

async function phaseOf(destination: Deployment): Promise<unknown> {
  return await lookInto(destination, 'clustersync_internal', async (db) => {
    return (await db.collection('sync').findOne())?.['phase'] as unknown;
  });
}

async function isCopying(destination: Deployment): Promise<boolean> {
  if ((await phaseOf(destination)) !== 'copy') return false;
  return await lookInto(destination, shopDatabase, async (db) => {
    return (await db.collection('orders').countDocuments({}, { limit: 1 })) > 0;
  });
}

function eventsApplied(
  instances: readonly { readonly progress?: Readonly<Record<string, unknown>> }[] | undefined,
): number {
  return Number(instances?.[0]?.progress?.['totalEventsApplied'] ?? 0);
}
