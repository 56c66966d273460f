import type { Document } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import type { Namespace } from './namespace.ts';
import type { RawDocument } from './raw-bson.ts';
import { RawCursor, type RawCursorOptions } from './raw-cursor.ts';

/** The size of a sample, and its form. */
export interface Sampling {
  /** How many documents; fewer if the collection has fewer. */
  readonly size: number;
  /** Pipeline stages that reduce each document to what is needed; the sample is sorted by the resulting `_id`. */
  readonly stages: readonly Document[];
  /** The collation of the sort; by default that of the collection. */
  readonly collation?: Document;
}

/**
 * A random sample of a collection, sorted by the server, as its order spans types. Each document shares the memory of its
 * batch: copy what you keep.
 */
export async function* sortedSample(
  cluster: ClusterClient,
  { db, coll }: Namespace,
  { size, stages, collation }: Sampling,
  reading: Pick<RawCursorOptions, 'signal' | 'readPreference'>,
): AsyncGenerator<RawDocument, void> {
  const pipeline = [{ $sample: { size } }, ...stages, { $sort: { _id: 1 } }];
  const command = {
    ...{ aggregate: coll, pipeline, cursor: {}, allowDiskUse: true },
    ...(collation && { collation }),
  };
  await using cursor = await RawCursor.open(cluster.raw, db, command, reading);
  for await (const { documents } of cursor.batches()) yield* documents;
}
