import { BSON, type Document } from 'mongodb';
import { canonicalKey } from '../../mongo/canonical-id.ts';
import { isNoCollection } from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { elementsOf, idElement } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { boundDocument, idKey } from './id-key.ts';
import { wholeRange } from './read-documents.ts';
import type { Amount } from './sides.ts';

const maxRanges = 1000;
/** Sampled ids for each range: more of them make the ranges more equal. */
const samplesPerRange = 20;

/** A place in the order of `_id`, and what the document there weighs. */
export interface Sample {
  readonly bound: Document;
  readonly bytes: number;
}

/**
 * Splits a collection in ranges of `_id` of about equal bytes: the first is open below, the last one above.
 * @param sizeBytes - of all its documents.
 * @param rangeBytes - of a range.
 */
export async function splitRanges(
  cluster: ClusterClient,
  namespace: Namespace,
  { sizeBytes, rangeBytes }: { readonly sizeBytes: number; readonly rangeBytes: number },
  signal: AbortSignal,
): Promise<IdRange[]> {
  const count = Math.min(maxRanges, Math.ceil(sizeBytes / rangeBytes));
  if (count <= 1) return [wholeRange];
  const samples: Sample[] = [];
  const pipeline = [
    { $sample: { size: count * samplesPerRange } },
    { $project: { _id: 1, bytes: { $bsonSize: '$$ROOT' } } },
    { $sort: { _id: 1 } },
  ];
  await using cursor = await RawCursor.open(
    cluster.raw,
    namespace.db,
    { aggregate: namespace.coll, pipeline, cursor: {}, allowDiskUse: true },
    { signal },
  );
  for await (const { documents } of cursor.batches()) {
    for (const document of documents) {
      const bound = boundDocument(idKey(document));
      const bytes = elementsOf(document).find(({ name }) => name === 'bytes');
      if (bound && bytes) samples.push({ bound, bytes: Number(decodeElement(bytes)) });
    }
  }
  return rangesBetween(boundsOf(samples, count));
}

/** Bounds between which the sorted samples weigh about the same, so that `count` ranges come of them; no `_id` twice, of whatever type. */
export function boundsOf(sorted: readonly Sample[], count: number): Document[] {
  const total = sorted.reduce((sum, { bytes }) => sum + bytes, 0);
  const bounds = new Map<string, Document>();
  let number = 1;
  let weight = 0;
  for (const { bound, bytes } of sorted) {
    if (number < count && weight >= (total * number) / count) {
      // The first of what a server may hold for the same: the next one may be the same place, which makes a range of nothing.
      const key = canonicalKey(idElement(BSON.serialize(bound)));
      if (!bounds.has(key)) bounds.set(key, bound);
      while (number < count && weight >= (total * number) / count) number += 1;
    }
    weight += bytes;
  }
  return [...bounds.values()];
}

function rangesBetween(bounds: readonly Document[]): IdRange[] {
  return [null, ...bounds].map((min, index) => ({ min, max: bounds[index] ?? null }));
}

/** What a collection holds, as its statistics have it; nothing where there is none. */
export async function collectionAmount(
  cluster: ClusterClient,
  { db, coll }: Namespace,
  signal: AbortSignal,
): Promise<Amount> {
  const pipeline = [
    { $collStats: { storageStats: {} } },
    { $group: { _id: null, ...sumsOf('count', 'size') } },
  ];
  try {
    const [row] = await cluster.decoded
      .db(db)
      .collection(coll)
      .aggregate(pipeline, { signal })
      .toArray();
    return { documents: Number(row?.['count'] ?? 0), bytes: Number(row?.['size'] ?? 0) };
  } catch (error) {
    if (isNoCollection(error)) return { documents: 0, bytes: 0 };
    throw error;
  }
}

function sumsOf(...names: string[]): Document {
  return Object.fromEntries(names.map((name) => [name, { $sum: `$storageStats.${name}` }]));
}
