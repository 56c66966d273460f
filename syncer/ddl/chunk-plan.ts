/** A chunk of a sharded collection: its bounds are values of the shard key. */
export interface Chunk<Bound> {
  readonly min: Bound;
  readonly max: Bound;
  readonly shard: string;
}

/** A chunk that is to be on another shard. */
export interface Move<Bound> {
  readonly chunk: Chunk<Bound>;
  readonly to: string;
}

const chunkBytes = 128 * 1024 * 1024;
const minChunksPerShard = 2;
const maxChunksPerShard = 32;

/** How many chunks a collection of so many bytes is split into: at least two for each shard, none larger than 128 MiB, 32 for each shard at the most. */
export function chunkCount(sizeBytes: number, shards: number): number {
  const wanted = Math.ceil(sizeBytes / chunkBytes);
  return Math.min(maxChunksPerShard * shards, Math.max(minChunksPerShard * shards, wanted));
}

/**
 * The moves after which neighbouring chunks are on different shards, in turn: documents that are written in the order of the
 * shard key go to all shards from the beginning, and each shard has as many chunks as any other, or one more.
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
