import { ObjectId, UUID, type Document } from 'mongodb';
import { isCopiedBy } from '../../syncer/coordination/share.ts';
import { partitionCount, rangesBetween, splitPoints } from '../../syncer/copy/split-points.ts';

const chunkBytes = 128 * 1024 * 1024;

/** As many as the syncer asks the source for. */
const samplesPerPartition = 20;

/** What the planning of a copy takes. */
export interface PlanningResult {
  readonly partitions: number;
  readonly seconds: number;
  /** The most that was resident in this process up to now. */
  readonly peakMebibytes: number;
}

/** Plans the copy of one collection with chunks on all of many shards, and deals it out to an instance for each. */
export function measurePlanning(shards: number, chunks: number): PlanningResult {
  const startedAt = performance.now();
  const count = partitionCount(shards * chunks * chunkBytes, {
    partitionMebibytes: 64,
    instances: shards,
  });
  const samples = Array.from({ length: count * samplesPerPartition }, (): Document => {
    return { _id: new ObjectId() };
  });
  const collection = { uuid: new UUID() };
  const partitions = rangesBetween(collection, splitPoints(samples, count));
  const dealt = new Set<number>();
  for (let index = 0; index < shards; index++)
    for (const partition of partitions)
      if (isCopiedBy({ index, count: shards }, collection, partition)) dealt.add(partition.index);
  if (dealt.size !== count) throw new Error(`${dealt.size} of ${count} partitions are dealt out`);
  return {
    partitions: partitions.length,
    seconds: (performance.now() - startedAt) / 1_000,
    peakMebibytes: process.resourceUsage().maxRSS / 1_024,
  };
}
