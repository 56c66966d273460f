import assert from 'node:assert/strict';
import { assertEqualClusters } from '../ground/compare.ts';
import { operatorNamespace } from '../ground/kubernetes/operator-release.ts';
import { whileSlow } from '../ground/mongod/slow-command.ts';
import { shopDatabase } from '../ground/shop/shop-collections.ts';
import { startShopWriter } from '../ground/shop/shop-writer.ts';
import { until } from '../ground/until.ts';
import type { ReplicaSet } from '../ground/mongod/replica-set.ts';
import {
  example,
  hasCaughtUp,
  lookInto,
  operatorSelector,
  syncName,
  withMigration,
  type Migration,
} from './migration.ts';

const kill = ['--grace-period=0', '--force'];

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
          await killSyncer(migration);
          assert.equal(await phaseOf(destination), 'copy');
        });
        await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
        await killSyncer(migration);
        const writes = writer.writes;
        await until('the application has written more', () => writer.writes > writes + 200);
        assert.equal(await phaseOf(destination), 'changes');
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

/** SIGKILL, as it were of a node that dies: the pod gets no time to end. */
async function killSyncer({ namespace }: Migration): Promise<void> {
  await namespace.kubectl(['delete', 'pod', `${syncName}-syncer-0`, ...kill]);
}

async function killOperator({ cluster }: Migration): Promise<void> {
  const where = `--namespace=${operatorNamespace}`;
  await cluster.kubectl(['delete', 'pods', operatorSelector, where, ...kill]);
}

async function phaseOf(destination: ReplicaSet): Promise<unknown> {
  return await lookInto(destination, 'clustersync_internal', async (db) => {
    return (await db.collection('sync').findOne())?.['phase'] as unknown;
  });
}

async function isCopying(destination: ReplicaSet): Promise<boolean> {
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
