import { inGroupsWithin } from '../service/groups.ts';
import { exactKey } from './canonical-id.ts';
import {
  maxSummed,
  type Bucket,
  type Fingerprint,
  type FingerprintReader,
} from './fingerprints.ts';
import { valueBytes, type RawElement } from './raw-bson.ts';
import type { Sides } from './sides.ts';

/** Fingerprints of one side that are held at a time, if they are not of a single bucket; fewer where the ids may be long. */
const maxHeld = 20_000;

/** The length that an `_id` may have on average: it is at most as long as its document. */
const idBytes = 4096;

/** What the buckets of both sides tell. */
export interface ComparedBuckets {
  /** Documents of each side, and their bytes. */
  readonly read: Sides<Omit<Bucket, 'sum'>>;
  /** Documents of each side in buckets whose hashes are equal. */
  readonly equalDocuments: number;
  /** Documents of the larger side in buckets that differ. */
  readonly differingDocuments: number;
  /** The buckets that differ, in groups whose fingerprints can be held. */
  readonly differing: readonly (readonly number[])[];
}

/** What the fingerprints of both sides tell. */
export interface ComparedFingerprints {
  /** Documents of each side whose hashes are equal. */
  readonly equalDocuments: number;
  /** The ids of documents whose hashes differ, or that one side does not have; each once, by its bytes. */
  readonly differing: readonly RawElement[];
  /** Those of them that only the destination has. */
  readonly surplus: ReadonlySet<RawElement>;
}

/** Compares a range by the hashes of its buckets: no document leaves its server. @throws MongoServerError as the reader does. */
export async function compareBuckets(
  sides: Sides<Pick<FingerprintReader, 'buckets'>>,
): Promise<ComparedBuckets> {
  const { source, destination } = await bothOf(sides, async (side) => await side.buckets());
  const keys = new Set([...source.keys(), ...destination.keys()]);
  const documentsIn = (key: number): number =>
    Math.max(source.get(key)?.documents ?? 0, destination.get(key)?.documents ?? 0);
  const isEqual = (key: number): boolean => {
    const [one, other] = [source.get(key), destination.get(key)];
    if (one === undefined || other === undefined || one.documents > maxSummed) return false;
    return one.documents === other.documents && one.bytes === other.bytes && one.sum === other.sum;
  };
  const [equal, differing]: [number[], number[]] = [[], []];
  for (const key of keys) (isEqual(key) ? equal : differing).push(key);
  const roomFor = (key: number): number => {
    const bytes = Math.max(source.get(key)?.bytes ?? 0, destination.get(key)?.bytes ?? 0);
    return Math.max(documentsIn(key), bytes / idBytes);
  };
  const limits = { maxItems: Infinity, maxBytes: maxHeld, bytesOf: roomFor };
  const sumOf = (of: readonly number[]): number =>
    of.reduce((sum, key) => sum + documentsIn(key), 0);
  return {
    read: { source: totalOf(source.values()), destination: totalOf(destination.values()) },
    equalDocuments: sumOf(equal),
    differingDocuments: sumOf(differing),
    differing: [...inGroupsWithin(differing, limits)],
  };
}

function totalOf(buckets: Iterable<Bucket>): ComparedBuckets['read']['source'] {
  let [documents, bytes] = [0, 0];
  for (const bucket of buckets) {
    documents += bucket.documents;
    bytes += bucket.bytes;
  }
  return { documents, bytes };
}

/** Compares documents one by one, by their hashes. @param read - of one side; both are read at the same time. */
export async function compareFingerprints<T>(
  sides: Sides<T>,
  read: (side: T) => AsyncIterable<Fingerprint>,
): Promise<ComparedFingerprints> {
  const { source, destination } = await bothOf(sides, async (side) => await hashesOf(read(side)));
  const differing: RawElement[] = [];
  let equalDocuments = 0;
  for (const [key, { id, hash, documents }] of source) {
    const other = destination.get(key);
    if (other?.hash === hash && other.documents === documents) equalDocuments += documents;
    else differing.push(id);
  }
  const surplus = new Set<RawElement>();
  for (const [key, { id }] of destination) if (!source.has(key)) surplus.add(id);
  return { equalDocuments, differing: [...differing, ...surplus], surplus };
}

/** The documents with the same `_id`: several shards may each have one. */
interface HashOfId extends Fingerprint {
  readonly documents: number;
}

/** The hashes by `_id`. If shards have several documents with the same `_id`, it has the sum of their hashes. */
async function hashesOf(
  fingerprints: AsyncIterable<Fingerprint>,
): Promise<ReadonlyMap<string, HashOfId>> {
  const hashes = new Map<string, HashOfId>();
  for await (const { id, hash } of fingerprints) {
    const value = Uint8Array.from(valueBytes(id));
    const key = exactKey(id);
    const other = hashes.get(key) ?? { hash: 0n, documents: 0 };
    const own = { ...id, bytes: value, offset: 0, length: value.length };
    hashes.set(key, { id: own, hash: hash + other.hash, documents: 1 + other.documents });
  }
  return hashes;
}

/** Asks both sides at the same time. Throws only when neither is busy. */
async function bothOf<T, R>(sides: Sides<T>, ask: (side: T) => Promise<R>): Promise<Sides<R>> {
  const [source, destination] = await Promise.allSettled([
    ask(sides.source),
    ask(sides.destination),
  ]);
  if (source.status === 'rejected') throw source.reason;
  if (destination.status === 'rejected') throw destination.reason;
  return { source: source.value, destination: destination.value };
}
