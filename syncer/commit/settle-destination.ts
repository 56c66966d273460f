import { listIndexes } from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { type Namespace, namespaceFrom, namespaceText } from '../../mongo/namespace.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { isRefused } from '../../mongo/server-errors.ts';
import { readShardIndexes, unevenIndexes } from '../../mongo/shard-indexes.ts';
import { type ShardKey, shardKeyDocument } from '../../mongo/shard-key.ts';
import { checkedWhenSent } from '../../mongo/write-guard.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { messageOf } from '../../service/errors.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { dropIndexOf, supportShardKey } from '../ddl/shard-collection.ts';
import { retryingWrites } from '../destination/earlier-writes.ts';
import { reshardedError } from '../source/check-resharded.ts';
import { readShardKeys } from '../source/wanted-shard-key.ts';
import type { TrackedCollection } from '../store/records.ts';

/**
 * Holds the shard keys of a sharded source, once its changes are applied, against those of the destination: no event tells
 * of what becomes of them (6.0.5). One that was refined is refined there too. May be repeated.
 * @throws SyncError ChangeNotSupported for a collection that was resharded.
 */
export async function settleShardKeys(context: SyncContext): Promise<void> {
  if (!context.source.isSharded) return;
  const keys = await readShardKeys(context);
  const names = new Set([...keys.values()].map(({ namespace }) => namespace));
  for (const collection of context.catalog.collections()) {
    const { uuid, namespace, shardKey } = collection;
    if (shardKey === null) continue;
    const now = keys.get(uuid.toHexString(false))?.key;
    if (now === undefined) {
      // Without one of its name it was dropped after the commit's time.
      if (names.has(namespaceText(namespace))) throw reshardedError(namespace);
    } else if (now.length > shardKey.length) {
      await refine(context, collection, now);
    }
  }
}

async function refine(
  context: SyncContext,
  collection: TrackedCollection,
  key: ShardKey,
): Promise<void> {
  const { destination, signal, catalog, logger, requireLease, warn } = context;
  const { namespace, indexes } = collection;
  await supportShardKey(context, namespace, indexes, key);
  const command = {
    refineCollectionShardKey: namespaceText(namespace),
    key: shardKeyDocument(key),
  };
  const checked = checkedWhenSent(command, requireLease);
  try {
    await runCommand(destination.admin, checked, { signal, deadlineMs: 'none' });
  } catch (error) {
    if (!isRefused(error)) throw error;
    // Documents are where they belong by the shorter key, too. One that was made as unique asks for an index that is so.
    await warn(`${namespaceText(namespace)} keeps its shard key: ${messageOf(error)}`);
    return;
  }
  await catalog.put({ ...collection, shardKey: key });
  logger.info({ namespace: namespaceText(namespace), key: command.key }, 'shard key refined');
}

/**
 * Settles which indexes a sharded collection of the destination is to have: those that all shards of the source have alike. Any
 * other is dropped, with a warning: what the documents of one shard have refused stands on the others, and nothing says so.
 * What not all shards of the destination have is dropped there, to be built anew on all. May be repeated until users may
 * write.
 */
export async function settleIndexes(context: SyncContext): Promise<void> {
  const { catalog, destination, options, tuning } = context;
  if (!destination.isSharded || options.buildIndexes === 'never') return;
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
