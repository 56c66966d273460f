import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { isIdIndex, isTrue } from '../../mongo/replicated-form.ts';
import { canBeUnique, type ShardKey, shardKeyDocument } from '../../mongo/shard-key.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { PlacedChunk } from '../destination/destination-sharding.ts';
import type { Destination } from '../destination/destination.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';

/**
 * Shards an existing collection of the destination by its shard key, and spreads its chunks over the shards, by its zones if it
 * has any. Without a shard key there it stays as it is. May be repeated.
 *
 * An adopted collection that is on several shards keeps its chunks and zones: moving its documents would cost more than a repair.
 * The server also refuses to move a chunk to a shard that has a document with the same `_id` as one of the chunk: a process
 * that dies while a document moves to another shard leaves both (seen on 6.0.27: "Data transfer error", code 6718402).
 * @throws SyncError IncompatibleUniqueIndex.
 */
export async function shardCollection(
  source: Source,
  destination: Destination,
  tracked: TrackedCollection,
  logger: Logger,
): Promise<void> {
  const { namespace, indexes } = tracked;
  const key = destination.kind.shardKeyOf(tracked);
  if (key === null) return;
  const { sharding } = destination;
  checkUniqueIndexes(namespace, indexes, key);
  await sharding.supportShardKey({ namespace }, indexes, key);
  if (tracked.isAdopted && isSpread(await sharding.chunksOf(namespace))) return;
  const hasZones = await sharding.setZones(namespace, await source.kind.zonesOf(namespace));
  await sharding.shard(namespace, key);
  // The server has already spread a collection with a hashed shard key, or zones.
  if (!hasZones && key[0]?.kind !== 'hashed' && sharding.shards.length > 1)
    await spreadChunks(source, destination, tracked, key);
  const placed: Record<string, number> = {};
  for (const { shard } of await sharding.chunksOf(namespace))
    placed[shard] = (placed[shard] ?? 0) + 1;
  logger.debug(
    { namespace: namespaceText(namespace), key: shardKeyDocument(key), chunks: placed },
    'sharded',
  );
}

function isSpread(chunks: readonly PlacedChunk[]): boolean {
  return new Set(chunks.map(({ shard }) => shard)).size > 1;
}

/**
 * Splits a sharded collection of the destination into chunks of about the same number of documents, by a sample of the source,
 * and spreads them over the shards. May be repeated.
 */
async function spreadChunks(
  source: Source,
  { sharding }: Destination,
  { namespace, sizeBytes }: TrackedCollection,
  key: ShardKey,
): Promise<void> {
  const { shards } = sharding;
  const count = chunkCount(sizeBytes, shards.length);
  for (const middle of await source.documents.sampleShardKeys(namespace, key, count))
    await sharding.split(namespace, middle);
  for (const { chunk, to } of planMoves(await sharding.chunksOf(namespace), shards))
    await sharding.move(namespace, chunk, to);
}

/**
 * Makes sure that a collection can be sharded with the indexes that it has on the source.
 * @throws SyncError IncompatibleUniqueIndex for a unique index that the server cannot keep unique across shards.
 */
export function checkUniqueIndexes(
  namespace: Namespace,
  indexes: readonly IndexSpec[],
  key: ShardKey,
): void {
  const broken = indexes.find((spec) => {
    const isUnique = isTrue(spec['unique']) || isTrue(spec['prepareUnique']);
    return isUnique && !isIdIndex(spec) && !canBeUnique(spec, key);
  });
  if (!broken) return;
  throw new SyncError(
    'IncompatibleUniqueIndex',
    `index ${broken.name} of ${namespaceText(namespace)} is unique and does not begin with the shard key ${keyText(key)}: a sharded collection cannot have it`,
  );
}

/** A shard key as people write it. */
export function keyText(key: ShardKey): string {
  return JSON.stringify(shardKeyDocument(key));
}

/** A chunk of a sharded collection: its bounds are values of the shard key. */
export interface Chunk<Bound> {
  readonly min: Bound;
  readonly max: Bound;
  readonly shard: string;
}

/** A chunk that should be on another shard. */
export interface Move<Bound> {
  readonly chunk: Chunk<Bound>;
  readonly to: string;
}

const chunkBytes = 128 * 1024 * 1024;
const minChunksPerShard = 2;
const maxChunksPerShard = 32;

/**
 * How many chunks to split a collection of this size into: at least two for each shard, none larger than 128 MiB, at most 32
 * for each shard.
 */
export function chunkCount(sizeBytes: number, shards: number): number {
  const wanted = Math.ceil(sizeBytes / chunkBytes);
  return Math.min(maxChunksPerShard * shards, Math.max(minChunksPerShard * shards, wanted));
}

/**
 * The moves that put neighbouring chunks on different shards, in turn: documents that are written in the order of the shard key
 * go to all shards from the beginning, and the shards' numbers of chunks differ by at most one.
 * @param chunks - in the order of their bounds.
 */
export function planMoves<Bound>(
  chunks: readonly Chunk<Bound>[],
  shards: readonly string[],
): Move<Bound>[] {
  // The first chunk stays where it is.
  const first = Math.max(0, shards.indexOf(chunks[0]?.shard ?? ''));
  return chunks.flatMap((chunk, index) => {
    const to = shards[(first + index) % shards.length];
    return to === undefined || to === chunk.shard ? [] : [{ chunk, to }];
  });
}
