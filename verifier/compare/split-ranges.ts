import { BSON, type Document } from 'mongodb';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { checkedRow } from '../../mongo/checked-value.ts';
import { canonicalKey } from '../../mongo/canonical-id.ts';
import { isNoCollection } from '../../mongo/catalog.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { canCutRanges, cutLargeRanges } from '../../mongo/cut-ranges.ts';
import { rangesBetween, type IdRange, wholeRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { elementsOf, idElement, type RawElement } from '../../mongo/raw-bson.ts';
import { hostsOf } from '../../mongo/raw-cursor.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { sortedSample } from '../../mongo/sample.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import { boundDocument, idKey } from './id-key.ts';
import type { ReadContext } from './read-documents.ts';
import type { Amount, Side } from './sides.ts';

const maxRanges = 1000;
/** Sampled ids for each range: more samples make the ranges more equal. */
const samplesPerRange = 20;

/** A place in the order of `_id`, and the weight of the document there. */
export interface Sample {
  readonly bound: Document;
  readonly bytes: number;
}

/** A collection to split. */
export interface SplitCollection {
  readonly namespace: Namespace;
  /** Its options on the source. */
  readonly options: Document;
  /** All its documents. */
  readonly amount: Amount;
}

/**
 * Splits a collection into ranges of `_id` of about equal bytes, none of which has far more documents than the average: the first
 * has no lower bound, the last no upper one.
 * @param rangeBytes - of a range.
 */
export async function splitRanges(
  { cluster, isSharded }: Pick<Side, 'cluster' | 'isSharded'>,
  { namespace, options, amount }: SplitCollection,
  rangeBytes: number,
  { signal, readPreference }: Pick<ReadContext, 'signal' | 'readPreference'>,
): Promise<IdRange[]> {
  const count = Math.min(maxRanges, Math.ceil(amount.bytes / rangeBytes));
  if (count <= 1) return [wholeRange];
  const reading = { signal, readPreference };
  const samples: Sample[] = [];
  const sampling = {
    size: count * samplesPerRange,
    stages: [{ $project: { _id: 1, bytes: { $bsonSize: '$$ROOT' } } }],
  };
  const server = hostsOf(cluster.raw);
  for await (const document of sortedSample(cluster, namespace, sampling, reading)) {
    const bound = boundDocument(idKey(document));
    const bytes = elementsOf(document).find(({ name }) => name === 'bytes');
    if (bytes === undefined) throw new MalformedAnswer('a sample without bytes', server);
    if (bound) samples.push({ bound, bytes: bytesIn(bytes, server) });
  }
  const sampled = boundsOf(samples, count);
  if (!canCutRanges({ isSharded }, options)) return rangesBetween(sampled);
  const even = { namespace, documentCount: amount.documents, wantedRanges: count };
  return rangesBetween(await cutLargeRanges(cluster, even, sampled, reading));
}

/** Bounds that split the sorted samples into `count` ranges of about equal weight; no `_id` twice, of any type. */
export function boundsOf(sorted: readonly Sample[], count: number): Document[] {
  const total = sorted.reduce((sum, { bytes }) => sum + bytes, 0);
  const bounds = new Map<string, Document>();
  let number = 1;
  let weight = 0;
  for (const { bound, bytes } of sorted) {
    if (number < count && weight >= (total * number) / count) {
      // The first of ids that a server may consider equal: with a later one a range could be empty.
      const key = canonicalKey(idElement(BSON.serialize(bound)));
      if (!bounds.has(key)) bounds.set(key, bound);
      while (number < count && weight >= (total * number) / count) number += 1;
    }
    weight += bytes;
  }
  return [...bounds.values()];
}

/** The contents of a collection, from its statistics; zero if there is no collection. */
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
    const collection = cluster.decoded.db(db).collection(coll);
    const [row] = await readWhole(collection.aggregate(pipeline, { signal }));
    // There is no sum of no rows.
    if (row === undefined) return { documents: 0, bytes: 0 };
    const sums = checkedRow(row, 'an answer to $collStats', hostsOf(cluster.decoded));
    return { documents: sums.field('count').count(), bytes: sums.field('size').count() };
  } catch (error) {
    if (isNoCollection(error)) return { documents: 0, bytes: 0 };
    throw error;
  }
}

function bytesIn(bytes: RawElement, server: string): number {
  return checkedRow({ bytes: decodeElement(bytes) }, 'a sample', server)
    .field('bytes')
    .count();
}

function sumsOf(...names: string[]): Document {
  return Object.fromEntries(names.map((name) => [name, { $sum: `$storageStats.${name}` }]));
}
