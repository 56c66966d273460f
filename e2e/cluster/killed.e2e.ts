import assert from 'node:assert/strict';
import { clusterDeadlineMs } from '../ground/default-deadline.ts';
import { operatorNamespace } from '../ground/kubernetes/operator-release.ts';
import { whileSlow } from '../ground/mongod/slow-command.ts';
import { startShopWriter } from '../ground/shop/shop-writer.ts';
import { until } from '../ground/until.ts';
import {
  example,
  hasCaughtUp,
  operatorSelector,
  syncName,
  withMigration,
  type Migration,
} from './migration.ts';
import { commit, heldCopy, isCopying, killSyncer } from './syncer-pods.ts';

describe('a sync whose processes are killed', () => {
  it('ends equal after its syncer was killed during the copy and during change events', async () => {
    await withMigration('syncer-killed', { scale: 0.3 }, async (migration) => {
      const { namespace, source, destination } = migration;
      const { signal } = new AbortController();
      const writer = startShopWriter(source.uri('app'), { writesPerSecond: 200, signal });
      try {
        await whileSlow(destination.uri('admin'), heldCopy(60_000), async () => {
          await namespace.apply(await example('clustersync.yaml'));
          await until(
            'documents are being copied',
            async () => await isCopying(destination),
            clusterDeadlineMs,
          );
          assert.equal(await killSyncer(migration, 'container'), 'copy');
        });
        await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
        for (const what of ['container', 'pod'] as const) {
          assert.equal(await killSyncer(migration, what), 'changes');
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

function eventsApplied(
  instances: readonly { readonly progress?: Readonly<Record<string, unknown>> }[] | undefined,
): number {
  return Number(instances?.[0]?.progress?.['totalEventsApplied'] ?? 0);
}
