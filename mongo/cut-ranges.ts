import type { Document, UUID } from 'mongodb';
import { forEachConcurrently } from '../service/concurrency.ts';
import type { ClusterClient } from './cluster-client.ts';
import type { Deployment } from './deployment.ts';
import { idBound, idRangeQueries, rangesBetween, type IdRange } from './id-range.ts';
import type { Namespace } from './namespace.ts';
import { RawCursor, type RawCursorOptions } from './raw-cursor.ts';

/** How many ranges of a collection are walked at a time. */
const sideBySide = 2;

/** A range with more documents than so many times the average is cut. 1 in 50 of those between every 20th id of a random sample is so large. */
const largestFactor = 1.5;

/** What has not been walked by then stays as it is: the documents should not wait for long. */
const limitMs = 60_000;

/** A collection, and what its ranges are to be. */
export interface EvenRanges {
  readonly namespace: Namespace;
  /** Walk it only if the collection of this name has this UUID. */
  readonly collectionUUID?: UUID;
  readonly readConcern?: Document;
  /** Its documents, as its statistics say. */
  readonly documentCount: number;
  /** How many ranges are wanted. There may be up to twice as many. */
  readonly wantedRanges: number;
}

/**
 * Whether ranges can be cut at a low cost. The documents of a clustered collection are in its index on `_id`, and would all be read;
 * a router may be sent every `_id` that it skips.
 */
export function canCutRanges(
  { isSharded }: Pick<Deployment, 'isSharded'>,
  options: Document,
): boolean {
  return !isSharded && options['clusteredIndex'] === undefined;
}

/**
 * Cuts ranges of `_id` that have far more documents than the average, and leaves the others as they are.
 *
 * Bounds that come from a sample need it: `$sample` walks down a random branch of the tree at each level, so a branch with many
 * pages is drawn as rarely as one with few. Of a million documents that had just been inserted, half were in one of 16 ranges
 * (6.0.27).
 *
 * The server counts in the index on `_id`, and reads no documents: 0.2 s for a million (6.0.27). Wherever ranges are cut, they are
 * right, so nothing is retried: after an error, or a minute, the rest stays uneven.
 * @param bounds - in the order of the index.
 * @returns the bounds with those that were added, in the order of the index.
 */
export async function cutLargeRanges(
  cluster: ClusterClient,
  even: EvenRanges,
  bounds: readonly Document[],
  { signal, readPreference }: Pick<RawCursorOptions, 'signal' | 'readPreference'>,
): Promise<Document[]> {
  const average = Math.ceil(even.documentCount / even.wantedRanges);
  // The statistics know of no documents: any number would be a guess.
  if (average === 0) return [...bounds];
  const ranges = rangesBetween(bounds).map((range) => ({ range, cuts: new Array<Document>() }));
  const ended = new AbortController();
  const options = {
    signal: AbortSignal.any([signal, ended.signal, AbortSignal.timeout(limitMs)]),
    ...(readPreference && { readPreference }),
  };
  let rangesLeft = 2 * even.wantedRanges - ranges.length;
  const cut = async ({ range: { min, max }, cuts }: (typeof ranges)[number]): Promise<void> => {
    while (rangesLeft > 0) {
      const rest = { min: cuts.at(-1) ?? min, max };
      const after = async (count: number): Promise<Document | undefined> =>
        await boundAfter(cluster, even, rest, count, options);
      const isLarge = (await after(Math.ceil(largestFactor * average))) !== undefined;
      const bound = isLarge ? await after(average) : undefined;
      // Another range may have taken the last one meanwhile.
      if (bound === undefined || rangesLeft === 0) return;
      rangesLeft -= 1;
      cuts.push(bound);
    }
  };
  try {
    await forEachConcurrently(ranges, sideBySide, async (each) => {
      await cut(each).catch((error: unknown) => {
        ended.abort();
        throw error;
      });
    });
  } catch {
    signal.throwIfAborted();
  }
  return ranges.flatMap(({ range: { min }, cuts }) => (min === null ? cuts : [min, ...cuts]));
}

/** The bound after so many documents of a range; undefined if it has no more of them. */
async function boundAfter(
  cluster: ClusterClient,
  { namespace: { db, coll }, collectionUUID, readConcern }: EvenRanges,
  range: IdRange,
  count: number,
  options: RawCursorOptions,
): Promise<Document | undefined> {
  const [between] = idRangeQueries(range);
  const find = {
    ...{ find: coll, ...between, projection: { _id: 1 }, skip: count, limit: 1 },
    ...(collectionUUID && { collectionUUID }),
    ...(readConcern && { readConcern }),
  };
  await using cursor = await RawCursor.open(cluster.raw, db, find, options);
  const [found] = (await cursor.next())?.documents ?? [];
  return found && idBound(found);
}
