import type { Document } from 'mongodb';
import { idBound } from '../../mongo/id-range.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import type { Partition, TrackedCollection } from '../store/records.ts';
import type { SourceContext } from './source-context.ts';

/** Sampled ids for each partition: more of them make the partitions more equal. */
const samplesPerPartition = 20;
const maxPartitions = 512;
const partitionsPerInstance = 4;

/**
 * True where a collection may be read in ranges of `_id`: a capped one has to keep its order. A clustered one takes bounds
 * of its `_id` as an index does, and under a collation the server compares bounds by that (6.0.5).
 */
export function canPartition({ options }: Pick<TrackedCollection, 'options'>): boolean {
  return !isTrue(options['capped']);
}

/** What the number of partitions goes by, besides the size. */
export interface PartitionSettings {
  readonly partitionMebibytes: number;
  /** How many instances copy them. */
  readonly instances: number;
}

/** Into how many partitions a collection is split: enough for all instances to have some where there are many. */
export function partitionCount(
  sizeBytes: number,
  { partitionMebibytes, instances }: PartitionSettings,
): number {
  const most = Math.max(maxPartitions, instances * partitionsPerInstance);
  return Math.min(most, Math.max(1, Math.ceil(sizeBytes / (partitionMebibytes * 1024 * 1024))));
}

/**
 * Splits a collection in `count` ranges of `_id` of about the same number of documents, by a sample that the server sorts: its
 * order goes across types. The first range is open below and the last one above.
 */
export async function splitCollection(
  { source, signal }: Pick<SourceContext, 'source' | 'signal'>,
  collection: TrackedCollection,
  count: number,
): Promise<Partition[]> {
  const { db, coll } = collection.namespace;
  const pipeline = [
    { $sample: { size: count * samplesPerPartition } },
    { $project: { _id: 1 } },
    { $sort: { _id: 1 } },
  ];
  const bounds: Document[] = [];
  await using cursor = await RawCursor.open(
    source.raw,
    db,
    { aggregate: coll, pipeline, cursor: {}, allowDiskUse: true },
    { signal },
  );
  for await (const { documents } of cursor.batches())
    for (const document of documents) bounds.push(...boundOf(document));
  return rangesBetween(collection, splitPoints(bounds, count));
}

/** The bound that a sampled id makes: a copy, as the rest of the fetch is not kept with it. */
function boundOf(document: RawDocument): Document[] {
  const bound = idBound(Uint8Array.from(document));
  return bound === undefined ? [] : [bound];
}

/** Every n-th of the sorted samples, so that `count` ranges come of them; equal neighbours are taken once. */
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

/** The ranges that some points split a collection in. */
export function rangesBetween(
  { uuid }: Pick<TrackedCollection, 'uuid'>,
  points: readonly Document[],
): Partition[] {
  return [null, ...points].map((min, index) => ({
    collection: uuid,
    index,
    min,
    max: points[index] ?? null,
  }));
}
