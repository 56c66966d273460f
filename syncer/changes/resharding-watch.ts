import type { Timestamp } from 'mongodb';
import { isAtMost, majorityTime } from '../../mongo/cluster-time.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { readShardKeys, type ShardedSource } from '../source/wanted-shard-key.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { reshardedError } from '../source/check-resharded.ts';

/** Collections that have lost their names to others: both UUIDs, as 32 hexadecimal digits. */
type Suspects = ReadonlyMap<string, string>;

/**
 * Finds collections of a sharded source that were resharded and not written to since, of which no event tells (6.0.5),
 * before somebody commits. At a drop, at a rename, and when a collection is made anew under its name, the source shows the same
 * for a while: what was seen counts when all changes until then are applied, the collection is still there, and
 * the same is seen once more.
 */
export class ReshardingWatch {
  readonly #context: SyncContext;
  #seen: { readonly suspects: Suspects; readonly time: Timestamp } | undefined;

  constructor(context: SyncContext) {
    this.#context = context;
  }

  /** To be called every few seconds. @throws SyncError ChangeNotSupported. */
  async look(): Promise<void> {
    const { source, catalog, monitor, signal } = this.#context;
    if (!source.isSharded) return;
    const seen = this.#seen;
    // Thrown away, it would never be seen twice on a source that is always a little ahead.
    if (seen && !(monitor.appliedTime && isAtMost(seen.time, monitor.appliedTime))) return;
    const suspects = suspectsOf(catalog.collections(), await readShardKeys(this.#context));
    for (const { uuid, namespace } of catalog.collections()) {
      const other = suspects.get(uuid.toHexString(false));
      if (other !== undefined && seen?.suspects.get(uuid.toHexString(false)) === other)
        throw reshardedError(namespace);
    }
    this.#seen =
      suspects.size === 0 ? undefined : { suspects, time: await majorityTime(source, signal) };
  }
}

/**
 * The collections with a shard key that the source does not know by their UUIDs, while it knows others by their names.
 * @param sharded - what the source has, by UUID.
 */
export function suspectsOf(
  collections: readonly TrackedCollection[],
  sharded: ReadonlyMap<string, ShardedSource>,
): Suspects {
  const byName = new Map([...sharded].map(([uuid, { namespace }]) => [namespace, uuid]));
  const suspects = new Map<string, string>();
  for (const { uuid, namespace, shardKey } of collections) {
    const other = byName.get(namespaceText(namespace));
    if (shardKey === null || other === undefined || sharded.has(uuid.toHexString(false))) continue;
    suspects.set(uuid.toHexString(false), other);
  }
  return suspects;
}
