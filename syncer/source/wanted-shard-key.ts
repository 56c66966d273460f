import type { UUID } from 'mongodb';
import type { CollectionInfo } from '../../mongo/catalog.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { shardKeyFrom, type ShardKey } from '../../mongo/shard-key.ts';
import { requestedShardKey } from '../options/sharding-options.ts';
import type { SourceContext } from './source-context.ts';

/** A collection that has a shard key on a sharded source. */
export interface ShardedSource {
  readonly namespace: string;
  readonly key: ShardKey;
}

/**
 * The sharded collections of a sharded source, by their UUIDs as 32 hexadecimal digits: all, or those of some UUIDs. A
 * replica set has none.
 */
export async function readShardKeys(
  { source, signal }: Pick<SourceContext, 'source' | 'signal'>,
  uuids?: readonly UUID[],
): Promise<ReadonlyMap<string, ShardedSource>> {
  if (!source.isSharded) return new Map();
  const rows = source.decoded
    .db('config')
    .collection<{ _id: string; uuid: UUID; key: object; dropped?: boolean }>('collections')
    .find({ dropped: { $ne: true }, ...(uuids && { uuid: { $in: [...uuids] } }) }, { signal });
  const found = new Map<string, ShardedSource>();
  for await (const { _id: namespace, uuid, key } of rows)
    found.set(uuid.toHexString(false), { namespace, key: shardKeyFrom(key) });
  return found;
}

/**
 * The shard key that a collection is to have on the destination: its own on a sharded source, or what is asked for. Null
 * for none, also where none is possible.
 */
export async function wantedShardKey(
  context: Pick<SourceContext, 'source' | 'options' | 'signal' | 'warn'>,
  { uuid, namespace, options }: Pick<CollectionInfo, 'uuid' | 'namespace' | 'options'>,
  shardKeys: ReadonlyMap<string, ShardedSource>,
): Promise<ShardKey | null> {
  if (context.source.isSharded) return shardKeys.get(uuid.toHexString(false))?.key ?? null;
  const key = requestedShardKey(context.options.sharding, namespace);
  if (key === undefined) return null;
  if (!isTrue(options['capped'])) return key;
  await context.warn(`${namespaceText(namespace)} is capped: it stays unsharded`);
  return null;
}
