import { BSON, type Document } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { boundDocument, idKey } from './id-key.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import { wholeRange } from './read-documents.ts';

/** Collections above this size are compared in ranges of about this size. */
const defaultRangeBytes = 64 * 1024 * 1024;
const maxRanges = 1000;
/** Sampled ids for each range: more of them make the ranges more equal. */
const samplesPerRange = 20;

/** Splits a collection in ranges of `_id` of about equal bytes: the first is open below, the last one above. */
export async function splitRanges(
  cluster: ClusterClient,
  namespace: Namespace,
  signal: AbortSignal,
  rangeBytes = defaultRangeBytes,
): Promise<IdRange[]> {
  const sizeBytes = await collectionBytes(cluster, namespace, signal);
  const count = Math.min(maxRanges, Math.ceil(sizeBytes / rangeBytes));
  if (count <= 1) return [wholeRange];
  const sample: Document[] = [];
  const pipeline = [
    { $sample: { size: count * samplesPerRange } },
    { $project: { _id: 1 } },
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
      if (bound) sample.push(bound);
    }
  }
  return rangesBetween(boundsOf(sample, count));
}

/** Every n-th of the sorted samples, so that `count` ranges come of them; none twice. */
export function boundsOf(sorted: readonly Document[], count: number): Document[] {
  const bounds = new Map<string, Document>();
  for (let number = 1; number < count; number++) {
    const bound = sorted[Math.floor((number * sorted.length) / count)];
    if (bound) bounds.set(Buffer.from(BSON.serialize(bound)).toString('latin1'), bound);
  }
  return [...bounds.values()];
}

function rangesBetween(bounds: readonly Document[]): IdRange[] {
  return [null, ...bounds].map((min, index) => ({ min, max: bounds[index] ?? null }));
}

async function collectionBytes(
  cluster: ClusterClient,
  { db, coll }: Namespace,
  signal: AbortSignal,
): Promise<number> {
  try {
    const ofShards = await cluster.decoded
      .db(db)
      .collection(coll)
      .aggregate([{ $collStats: { storageStats: {} } }], { signal })
      .toArray();
    return ofShards.reduce((total, stats) => total + sizeIn(stats), 0);
  } catch (error) {
    if (codeOf(error) === serverCode.namespaceNotFound) return 0;
    throw error;
  }
}

function sizeIn(stats: Document): number {
  const { size } = (stats['storageStats'] ?? {}) as { size?: unknown };
  return typeof size === 'number' ? size : 0;
}
