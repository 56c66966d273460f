import { namespaceText } from '../../mongo/namespace.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { isRefused } from '../../mongo/server-errors.ts';
import { shardKeyDocument, type ShardKey } from '../../mongo/shard-key.ts';
import { checkedWhenSent } from '../../mongo/write-guard.ts';
import { messageOf } from '../../service/errors.ts';
import { supportShardKey } from '../ddl/shard-collection.ts';
import { readShardKeys } from '../source/wanted-shard-key.ts';
import { reshardedError } from '../source/check-resharded.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';

/**
 * Holds the shard keys of a sharded source, once its changes are applied, against those of the destination: no event tells
 * of what becomes of them (6.0.5). One that was refined is refined there too. May be repeated.
 * @throws SyncError ChangeNotSupported for a collection that was resharded.
 */
export async function settleShardKeys(context: SyncContext): Promise<void> {
  if (context.sourceShards.length === 0) return;
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
