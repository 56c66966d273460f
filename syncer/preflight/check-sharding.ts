import type { Document } from 'mongodb';
import { listIndexes, type NamespaceInfo } from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { isSameNamespace, namespaceText } from '../../mongo/namespace.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { supportsShardKey } from '../../mongo/shard-key.ts';
import { SyncError } from '../../service/errors.ts';
import { namespaceOf, shardKeyOf, type ShardingOptions } from '../options/sharding-options.ts';
import { checkUniqueIndexes, keyText } from '../ddl/shard-collection.ts';

/**
 * Holds what is to be sharded on the destination against what is on the source (contract 4.1, rules 5 and 6). What is not
 * there yet is not looked at.
 * @param selected - what of the source is synced.
 * @throws SyncError InvalidShardKey, ShardKeyIndexMissing or IncompatibleUniqueIndex.
 */
export async function checkSharding(
  source: ClusterClient,
  { shardingEntries, createSupportingIndexes }: ShardingOptions,
  selected: readonly NamespaceInfo[],
  signal: AbortSignal,
): Promise<void> {
  for (const entry of shardingEntries) {
    const namespace = namespaceOf(entry);
    const info = selected.find((each) => isSameNamespace(each.namespace, namespace));
    if (!info) continue;
    const what = info.kind !== 'collection' ? info.kind : cappedText(info.options);
    if (what !== undefined) {
      throw new SyncError(
        'InvalidShardKey',
        `${namespaceText(namespace)} is a ${what}, and cannot be sharded`,
      );
    }
    const indexes = (await listIndexes(source, namespace, signal)) ?? [];
    const key = shardKeyOf(entry);
    checkUniqueIndexes(namespace, indexes, key);
    if (createSupportingIndexes || indexes.some((spec) => supportsShardKey(spec, key))) continue;
    throw new SyncError(
      'ShardKeyIndexMissing',
      `${namespaceText(namespace)} has no index that begins with ${keyText(key)}, holds every document, is not hidden, and has the simple collation`,
    );
  }
}

function cappedText(options: Document): string | undefined {
  return isTrue(options['capped']) ? 'capped collection' : undefined;
}
