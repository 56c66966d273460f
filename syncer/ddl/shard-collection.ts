import { BSON } from 'mongodb';
import { listIndexes } from '../../mongo/catalog.ts';
import { readConfig } from '../../mongo/config-database.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { codeOf, isRefused, serverCode } from '../../mongo/server-errors.ts';
import {
  type ShardKey,
  shardKeyDocument,
  shardKeyIndexName,
  supportsShardKey,
} from '../../mongo/shard-key.ts';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import { checkedWhenSent } from '../../mongo/write-guard.ts';
import { messageOf } from '../../service/errors.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { checkUniqueIndexes } from './shard-key-conflicts.ts';
import { spreadChunks, type SpreadContext } from './spread-chunks.ts';
import { type Changing, dropIndex, runCreateIndexes } from '../destination/destination-catalog.ts';
import type { TrackedCollection } from '../store/records.ts';

/**
 * Shards a collection of the destination that has been created, by its shard key, and spreads its chunks over the shards, by
 * its zones where it has any. Without a shard key it stays as it is. May be repeated.
 * @throws SyncError IncompatibleUniqueIndex.
 */
export async function shardCollection(
  context: SpreadContext,
  tracked: TrackedCollection,
): Promise<void> {
  const { namespace, shardKey: key } = tracked;
  if (key === null) return;
  checkUniqueIndexes(namespace, tracked.indexes, key);
  await supportShardKey(context, namespace, tracked.indexes, key);
  const { destination, signal, requireLease } = context;
  const hasZones = await copyZones(context, namespace);
  const command = {
    shardCollection: namespaceText(namespace),
    key: shardKeyDocument(key),
    // Shard keys are compared as bytes; where the collection has a collation, that has to be said.
    collation: { locale: 'simple' },
  };
  const checked = checkedWhenSent(command, requireLease);
  await runCommand(destination.admin, checked, { signal, deadlineMs: 'none' });
  await spreadChunks(context, tracked, key, hasZones);
}

/**
 * Makes sure that an index of a destination's collection supports its shard key, and will when those are hidden that are
 * hidden on the source: otherwise a temporary one is made.
 */
export async function supportShardKey(
  context: Changing,
  namespace: Namespace,
  trueIndexes: readonly IndexSpec[],
  key: ShardKey,
): Promise<void> {
  const hidden = trueIndexes.filter((spec) => isTrue(spec['hidden'])).map(({ name }) => name);
  const present = (await listIndexes(context.destination, namespace, context.signal)) ?? [];
  if (present.some((spec) => supportsShardKey(spec, key) && !hidden.includes(spec.name))) return;
  await buildTemporaryIndex(context, namespace, key);
}

/** It has a field more than the shard key, which no document has: so it stands in the way of no index of the source. */
async function buildTemporaryIndex(
  context: Changing,
  namespace: Namespace,
  key: ShardKey,
): Promise<void> {
  const longer = [...key, { field: shardKeyIndexName, kind: 1 }] as const;
  await buildIndex(context, namespace, shardKeyIndexName, longer);
}

async function buildIndex(
  context: Changing,
  namespace: Namespace,
  name: string,
  key: ShardKey,
): Promise<void> {
  const spec = BSON.serialize({ v: 2, key: shardKeyDocument(key), name });
  await runCreateIndexes(context, namespace, [decodeIndexSpec(spec)]);
}

/** Drops an index of a destination's collection. Where its shard key has no other, one is made first. */
export async function dropIndexOf(
  context: Changing,
  { namespace, shardKey }: Pick<TrackedCollection, 'namespace' | 'shardKey'>,
  name: string,
): Promise<void> {
  try {
    await dropIndex(context, namespace, name);
  } catch (error) {
    if (codeOf(error) !== serverCode.cannotDropShardKeyIndex || shardKey === null) throw error;
    await buildTemporaryIndex(context, namespace, shardKey);
    await dropIndex(context, namespace, name);
  }
}

/**
 * Drops the index that has supported a shard key during the sync. Where the source has none for it, one on the key alone
 * takes its place: the server needs one. With `buildIndexes: never` it stays.
 */
export async function settleShardKeyIndex(
  context: Changing & Pick<SyncContext, 'options' | 'warn'>,
  namespace: Namespace,
  key: ShardKey,
): Promise<void> {
  const { destination, signal, options } = context;
  if (options.buildIndexes === 'never') return;
  const present = (await listIndexes(destination, namespace, signal)) ?? [];
  if (!present.some(({ name }) => name === shardKeyIndexName)) return;
  const isSupported = present.some(
    (spec) => spec.name !== shardKeyIndexName && supportsShardKey(spec, key),
  );
  try {
    if (!isSupported) await buildIndex(context, namespace, plainName(key), key);
    await dropIndex(context, namespace, shardKeyIndexName);
  } catch (error) {
    // A hidden index on the same keys, say.
    if (!isRefused(error)) throw error;
    await context.warn(
      `index ${shardKeyIndexName} of ${namespaceText(namespace)} stays: ${messageOf(error)}`,
    );
  }
}

/** The name that the server's shell gives. */
function plainName(key: ShardKey): string {
  return key.map(({ field, kind }) => `${field}_${kind}`).join('_');
}

/**
 * Gives a collection of the destination the zone ranges that it has on a sharded source, as far as the destination has shards
 * in zones of these names. To be called before it is sharded: its chunks are placed by them then.
 * @returns whether there are any.
 */
export async function copyZones(
  {
    source,
    destination,
    signal,
    requireLease,
  }: Pick<SyncContext, 'source' | 'destination' | 'signal' | 'requireLease'>,
  namespace: Namespace,
): Promise<boolean> {
  if (!source.isSharded) return false;
  const ns = namespaceText(namespace);
  const { shards } = await runCommand(destination.admin, { listShards: 1 }, { signal });
  const zones = new Set(
    (shards as { readonly tags?: string[] }[]).flatMap(({ tags = [] }) => tags),
  );
  const ranges = await readConfig(source, { find: 'tags', filter: { ns } }, signal);
  const mapped = ranges.filter(({ tag }) => zones.has(String(tag)));
  for (const { min, max, tag } of mapped) {
    const command = {
      updateZoneKeyRange: ns,
      min: min as unknown,
      max: max as unknown,
      zone: String(tag),
    };
    await runCommand(destination.admin, checkedWhenSent(command, requireLease), { signal });
  }
  return mapped.length > 0;
}
