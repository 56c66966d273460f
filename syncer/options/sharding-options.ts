import { namespaceText, isSameNamespace, type Namespace } from '../../mongo/namespace.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import { SyncError } from '../../service/errors.ts';

/** `sharding` of a start body (contract 2.4). */
export interface ShardingOptions {
  readonly createSupportingIndexes: boolean;
  readonly shardingEntries: readonly ShardingEntry[];
}

/** A collection that is to be sharded on the destination. */
export interface ShardingEntry {
  readonly database: string;
  readonly collection: string;
  readonly shardCollection: { readonly key: readonly Readonly<Record<string, number | string>>[] };
}

/** The collection that an entry is about. */
export function namespaceOf({ database, collection }: ShardingEntry): Namespace {
  return { db: database, coll: collection };
}

/**
 * The shard key of an entry.
 * @throws SyncError InvalidShardKey for what no server takes.
 */
export function shardKeyOf(entry: ShardingEntry): ShardKey {
  const key = entry.shardCollection.key.flatMap((part) =>
    Object.entries(part).map(([field, kind]) => {
      if (kind === 1 || kind === 'hashed') return { field, kind } as const;
      throw invalid(entry, `${field} is 1 or "hashed" in a shard key, not ${JSON.stringify(kind)}`);
    }),
  );
  if (key.filter(({ kind }) => kind === 'hashed').length > 1)
    throw invalid(entry, 'only one field of a shard key can be hashed');
  if (new Set(key.map(({ field }) => field)).size < key.length)
    throw invalid(entry, 'a field is in the shard key twice');
  return key;
}

/** The shard key that is asked for at a namespace; undefined where none is. */
export function requestedShardKey(
  sharding: ShardingOptions | undefined,
  namespace: Namespace,
): ShardKey | undefined {
  const entry = sharding?.shardingEntries.find((each) =>
    isSameNamespace(namespaceOf(each), namespace),
  );
  return entry && shardKeyOf(entry);
}

/** @throws SyncError InvalidShardKey for a key that no server takes, or a collection that is named twice. */
export function checkEntries({ shardingEntries }: ShardingOptions): void {
  const seen = new Set<string>();
  for (const entry of shardingEntries) {
    shardKeyOf(entry);
    const name = namespaceText(namespaceOf(entry));
    if (seen.has(name)) throw invalid(entry, 'the collection is listed twice');
    seen.add(name);
  }
}

function invalid(entry: ShardingEntry, problem: string): SyncError {
  return new SyncError(
    'InvalidShardKey',
    `sharding of ${namespaceText(namespaceOf(entry))}: ${problem}`,
  );
}
