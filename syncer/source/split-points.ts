import type { Document } from 'mongodb';
import { rangesBetween } from '../../mongo/id-range.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import type { Partition, TrackedCollection } from '../store/records.ts';

const maxPartitions = 512;
const partitionsPerInstance = 4;
const maxAdoptedPartitions = 8_192;
const maxReconciledDocuments = 100_000;

/**
 * True if a collection may be read in ranges of `_id`: a capped one has to keep its order. A clustered one takes bounds of its
 * `_id` as an index does, and under a collation the server compares bounds by the collation (6.0.5).
 */
export function canPartition({ options }: Pick<TrackedCollection, 'options'>): boolean {
  return !isTrue(options['capped']);
}

/** What the number of partitions depends on, apart from the size. */
export interface PartitionSettings {
  readonly partitionMebibytes: number;
  /** How many instances copy them. */
  readonly instances: number;
}

/**
 * How many partitions to split a collection into: enough for all instances to have some, if there are many. Of an adopted one,
 * the hashes of a partition's documents are held in memory.
 */
export function partitionCount(
  {
    sizeBytes,
    documentCount,
    isAdopted,
  }: Pick<TrackedCollection, 'sizeBytes' | 'documentCount' | 'isAdopted'>,
  { partitionMebibytes, instances }: PartitionSettings,
): number {
  const atMost = isAdopted ? maxAdoptedPartitions : maxPartitions;
  const most = Math.max(atMost, instances * partitionsPerInstance);
  const byBytes = Math.ceil(sizeBytes / (partitionMebibytes * 1024 * 1024));
  const byDocuments = isAdopted ? Math.ceil(documentCount / maxReconciledDocuments) : 1;
  return Math.min(most, Math.max(1, byBytes, byDocuments));
}

/** Every n-th of the sorted samples, to make `count` ranges. Equal neighbours count once. */
export function splitPoints<T>(sorted: readonly T[], count: number): T[] {
  const points: T[] = [];
  let last = -1;
  for (let number = 1; number < count; number++) {
    const index = Math.floor((number * sorted.length) / count);
    const point = sorted[index];
    if (point !== undefined && index > last) points.push(point);
    last = Math.max(last, index);
  }
  return points;
}

/** The partitions that these points split a collection into. */
export function partitionsBetween(
  { uuid }: Pick<TrackedCollection, 'uuid'>,
  points: readonly Document[],
): Partition[] {
  return rangesBetween(points).map((range, index) => ({ collection: uuid, index, ...range }));
}
