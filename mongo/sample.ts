import type { Document } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import type { Namespace } from './namespace.ts';
import type { RawDocument } from './raw-bson.ts';
import { RawCursor } from './raw-cursor.ts';

/** Which documents a sample has, and what of them. */
export interface Sampling {
  /** How many there are; fewer where the collection has fewer. */
  readonly size: number;
  /** Stages of a pipeline that make of each document what is needed; its `_id` is what the sample is sorted by. */
  readonly stages: readonly Document[];
  /** By which the server sorts; by default that of the collection. */
  readonly collation?: Document;
}

/**
 * A random sample of a collection, sorted by the server: its order goes across types. Each document shares the memory of its
 * batch: what is kept of one is to be a copy.
 */
export async function* sortedSample(
  cluster: ClusterClient,
  { db, coll }: Namespace,
  { size, stages, collation }: Sampling,
  signal: AbortSignal,
): AsyncGenerator<RawDocument, void> {
  const pipeline = [{ $sample: { size } }, ...stages, { $sort: { _id: 1 } }];
  const command = {
    ...{ aggregate: coll, pipeline, cursor: {}, allowDiskUse: true },
    ...(collation && { collation }),
  };
  await using cursor = await RawCursor.open(cluster.raw, db, command, { signal });
  for await (const { documents } of cursor.batches()) yield* documents;
}
