import { assertEqualClusters } from '../ground/compare.ts';
import { clusterDeadlineMs } from '../ground/default-deadline.ts';
import type { Deployment } from '../ground/deployment.ts';
import type { SlowCommand } from '../ground/mongod/slow-command.ts';
import { shopDatabase } from '../ground/shop/shop-collections.ts';
import { until } from '../ground/until.ts';
import { lookInto, syncName, type Migration } from './migration.ts';

/** Has the sync committed, and compares both sides. */
export async function commit({ namespace, source, destination }: Migration): Promise<void> {
  await namespace.setState(syncName, 'Committed');
  await namespace.untilSync(
    syncName,
    'it is committed',
    ({ status }) => status?.phase === 'Committed',
  );
  await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
}

/** Deletes the pod of a syncer, by its index, as when its node is lost. */
export async function loseSyncer({ namespace }: Migration, index = 0): Promise<void> {
  await namespace.kubectl(['delete', 'pod', podName(index), '--grace-period=0', '--force']);
}

/**
 * Kills a syncer and waits until another process has taken its place.
 * @param index - of its pod.
 * @returns the phase that the sync was in when it was killed.
 */
export async function killSyncer(
  migration: Migration,
  what: 'container' | 'pod',
  index = 0,
): Promise<unknown> {
  const { cluster, namespace, destination } = migration;
  const before = await incarnationOf(destination, index);
  if (what === 'container')
    await cluster.killContainer(podName(index), { namespace: namespace.name });
  else await loseSyncer(migration, index);
  const phase = await phaseOf(destination);
  await until(
    'another process continues',
    async () => (await incarnationOf(destination, index)) !== before,
    clusterDeadlineMs,
  );
  return phase;
}

function podName(index: number): string {
  return `${syncName}-syncer-${index}`;
}

/** Who the process is that works in a syncer's pod; undefined before any has. Pods are in the order of their names. */
export async function incarnationOf(destination: Deployment, index: number): Promise<unknown> {
  return await lookInto(destination, 'clustersync_internal', async (db) => {
    const instances = await db.collection('instances').find().sort({ _id: 1 }).toArray();
    return instances[index]?.['incarnation'] as unknown;
  });
}

/** The phase that the sync is in; undefined before it has begun. */
export async function phaseOf(destination: Deployment): Promise<unknown> {
  return await lookInto(destination, 'clustersync_internal', async (db) => {
    return (await db.collection('sync').findOne({ phase: { $exists: true } }))?.[
      'phase'
    ] as unknown;
  });
}

/** Holds the copy for a time, once some documents are copied: the first batch of this collection passes. */
export function heldCopy(delayMs: number): SlowCommand {
  return { command: 'insert', namespace: `${shopDatabase}.orders`, skipped: 1, delayMs };
}

/** True while documents are being copied, from when there are some. */
export async function isCopying(destination: Deployment): Promise<boolean> {
  if ((await phaseOf(destination)) !== 'copy') return false;
  return await lookInto(destination, shopDatabase, async (db) => {
    return (await db.collection('orders').countDocuments({}, { limit: 1 })) > 0;
  });
}
