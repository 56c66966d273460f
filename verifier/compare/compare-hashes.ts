import { compareBuckets, compareFingerprints } from '../../mongo/compared-fingerprints.ts';
import { FingerprintReader } from '../../mongo/fingerprints.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { maxDifferences } from './batch-matcher.ts';
import { compareIds, idLists, type CompareContext, type Comparison } from './compare-documents.ts';
import type { Excuse } from './expiry.ts';
import { keyOfElement, type IdKey } from './id-key.ts';
import type { DocumentDifference } from './mismatch.ts';
import { readConcernOf, type Side } from './sides.ts';

/** Documents of a range that are listed with their hashes: for every 20,000 or so, the servers read the range again. */
const maxListed = 160_000;

/**
 * Compares the documents of a range by hashes that the servers make of them: only those whose hashes differ are read, and compared
 * byte for byte. What equal hashes do not show: {@link FingerprintReader}.
 * @returns undefined if so much of the range differs that it has to be compared byte for byte.
 * @throws MongoServerError if a server refuses to hash the documents.
 */
export async function compareHashes(
  context: CompareContext,
  namespace: Namespace,
  range: IdRange,
  excuse?: Excuse,
): Promise<Comparison | undefined> {
  const { monitor, rateLimit, signal, readPreference } = context;
  const readerOf = (side: Side): FingerprintReader => {
    const query = { namespace, range, readConcern: readConcernOf(side), readPreference };
    return new FingerprintReader(side.cluster, query, signal);
  };
  const sides = { source: readerOf(context.source), destination: readerOf(context.destination) };
  const { read, equalDocuments, differingDocuments, differing } = await compareBuckets(sides);
  const { source, destination } = read;
  // The servers read the range once for its buckets, and again for each group.
  const limitRate = async (): Promise<void> => {
    await rateLimit.take(source.bytes + destination.bytes, signal);
  };
  await limitRate();
  if (differingDocuments > maxListed) return undefined;
  const found: DocumentDifference[] = [];
  const told = new Set<IdKey>();
  let hashed = equalDocuments;
  /** Of the source, byte for byte: they have been reported. */
  let [count, bytes] = [0, 0];
  for (const group of differing) {
    const compared = await compareFingerprints(sides, (side) => side.inBuckets(group));
    await limitRate();
    hashed += compared.equalDocuments;
    for (const ids of idLists(compared.differing.map(keyOfElement))) {
      const differences = await compareIds(context, namespace, ids, excuse);
      count += differences.compared.documents;
      bytes += differences.compared.bytes;
      // A look-up of 1.0 finds 1, too, which may have been in another list.
      const others = differences.found.filter(({ id }) => !told.has(id));
      for (const { id } of others) told.add(id);
      found.push(...others);
      if (differences.isOverflowing || found.length > maxDifferences)
        return { found, isOverflowing: true, compared: source, read: null };
    }
  }
  monitor.addCompared({
    count: Math.max(0, source.documents - count),
    bytes: Math.max(0, source.bytes - bytes),
  });
  const documents = { source: source.documents, destination: destination.documents };
  // What was written between the two reads is compared again.
  hashed = Math.min(hashed, documents.source, documents.destination);
  return { found, isOverflowing: false, compared: source, read: { ...documents, hashed } };
}
