import { listIndexes } from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { namespaceFrom, namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { readShardIndexes, unevenIndexes } from '../../mongo/shard-indexes.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { dropIndexOf } from '../ddl/shard-collection.ts';
import { readShardKeys } from '../source/wanted-shard-key.ts';
import { retryingWrites } from '../destination/earlier-writes.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';

/**
 * Settles which indexes a sharded collection of the destination is to have: those that all shards of the source have alike. Any
 * other is dropped, with a warning: what the documents of one shard have refused stands on the others, and nothing says so.
 * What not all shards of the destination have is dropped there, to be built anew on all. May be repeated until users may
 * write.
 */
export async function settleIndexes(context: SyncContext): Promise<void> {
  const { catalog, destinationShards, options, tuning } = context;
  if (destinationShards.length === 0 || options.buildIndexes === 'never') return;
  const keys = await readShardKeys(context);
  await forEachConcurrently(
    catalog.collections().filter(({ shardKey }) => shardKey !== null),
    tuning.copyWorkers,
    async (collection) => {
      await retryingWrites(context, 'restore', async () => {
        // One that is gone by now had its indexes at the commit's time.
        const now = keys.get(collection.uuid.toHexString(false));
        const settled = now
          ? await leaveOutUneven(context, collection, namespaceFrom(now.namespace))
          : collection;
        await dropUneven(context, settled);
      });
    },
  );
}

async function leaveOutUneven(
  context: SyncContext,
  collection: TrackedCollection,
  onSource: Namespace,
): Promise<TrackedCollection> {
  const uneven = await unevenOn(context, context.source, onSource);
  for (const [name, where] of uneven) {
    await context.warn(
      `index ${name} of ${namespaceText(collection.namespace)} is left out: it is ${where} of the source`,
    );
  }
  const leftOut = collection.indexes.filter(({ name }) => uneven.has(name));
  if (leftOut.length === 0) return collection;
  for (const { name } of leftOut) await dropIndexOf(context, collection, name);
  const indexes = collection.indexes.filter((spec) => !leftOut.includes(spec));
  const settled = { ...collection, indexes };
  await context.catalog.put(settled);
  return settled;
}

async function dropUneven(context: SyncContext, collection: TrackedCollection): Promise<void> {
  const { indexes, namespace } = collection;
  const uneven = await unevenOn(context, context.destination, namespace);
  for (const { name } of indexes)
    if (uneven.has(name)) await dropIndexOf(context, collection, name);
}

async function unevenOn(
  { signal }: SyncContext,
  cluster: ClusterClient,
  namespace: Namespace,
): Promise<ReadonlyMap<string, string>> {
  const listed = (await listIndexes(cluster, namespace, signal)) ?? [];
  return unevenIndexes(await readShardIndexes(cluster, namespace, listed, signal));
}
