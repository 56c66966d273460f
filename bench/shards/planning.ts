import { type Document, ObjectId, UUID } from 'mongodb';
import { chunkCount, planMoves } from '../../syncer/ddl/shard-collection.ts';
import { isCopiedBy } from '../../syncer/instances/coordination.ts';
import {
  partitionCount,
  partitionsBetween,
  splitPoints,
} from '../../syncer/source/split-points.ts';

const chunkBytes = 128 * 1024 * 1024;

/** As many as the syncer requests from the source. */
const samplesPerPartition = 20;

/** The cost of planning a copy. */
export interface PlanningResult {
  readonly partitions: number;
  /** The chunks of the destination, and how many of them are moved. */
  readonly destinationChunks: number;
  readonly moves: number;
  readonly seconds: number;
  /** The peak resident memory of this process so far. */
  readonly peakMebibytes: number;
}

/**
 * Plans the copy of one collection with chunks on each of many shards, some with three times as many as others: divides it among
 * one instance per shard, and distributes it over as many shards of the destination.
 * @param chunks - per shard, on average.
 */
export function measurePlanning(shards: number, chunks: number): PlanningResult {
  const startedAt = performance.now();
  const sizes = Array.from({ length: shards }, (_, shard) => {
    return chunks * chunkBytes * (0.5 + shard / Math.max(1, shards - 1));
  });
  const sizeBytes = sizes.reduce((sum, bytes) => sum + bytes, 0);
  const size = { sizeBytes, documentCount: 0, isAdopted: false };
  const count = partitionCount(size, { partitionMebibytes: 64, instances: shards });
  const samples = Array.from({ length: count * samplesPerPartition }, (): Document => {
    return { _id: new ObjectId() };
  });
  const collection = { uuid: new UUID() };
  const partitions = partitionsBetween(collection, splitPoints(samples, count));
  const dealt = new Set<number>();
  for (let index = 0; index < shards; index++)
    for (const partition of partitions)
      if (isCopiedBy({ index, count: shards }, collection, partition)) dealt.add(partition.index);
  if (dealt.size !== count) throw new Error(`${dealt.size} of ${count} partitions are dealt out`);
  const names = sizes.map((_, shard) => `shard-${shard}`);
  const bounds = Array.from({ length: chunkCount(sizeBytes, shards) }, (_, index) => index);
  const made = bounds.map((min) => ({ min, max: min + 1, shard: 'shard-0' }));
  const moves = planMoves(made, names);
  return {
    partitions: partitions.length,
    destinationChunks: made.length,
    moves: moves.length,
    seconds: (performance.now() - startedAt) / 1_000,
    peakMebibytes: process.resourceUsage().maxRSS / 1_024,
  };
}
