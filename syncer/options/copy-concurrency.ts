import { exactly, type ConcurrencyRange } from '../../service/concurrency-limit.ts';

/** How much of a copy happens side by side. */
export interface CopyConcurrency {
  /** What makes the destination itself work: index builds, comparisons of documents that are there. */
  readonly workers: number;
  /** Partitions and large collections that are read. */
  readonly readers: number;
  /** Small collections that are copied, of those that are recorded together. */
  readonly smallReaders: number;
  /** Batches under way, each from the request to the source to the answer of the destination. */
  readonly batches: ConcurrencyRange;
}

/** One batch is fetched for each reader while the destination writes one and has the next on its way. */
const batchesForEach = 3;

/**
 * Two groups of small collections are copied side by side. With a round trip of 50 ms, 16 collections at a time are 300 a second,
 * more than a server creates.
 */
const smallReaders = 8;

/**
 * Each needs a connection, of which a pool has 256 (cluster-client.ts): commands that hold some wait for one that confirms the
 * right to write.
 */
const maxBatches = 192;

/**
 * As requested by `--copyWorkers`.
 * @param fitting - writers that fit the destination's cores: no more than these index builds, and comparisons of what is there, load it.
 */
export function requestedConcurrency(copyWorkers: number, fitting: number): CopyConcurrency {
  return {
    workers: Math.min(copyWorkers, fitting),
    readers: copyWorkers,
    smallReaders: copyWorkers,
    batches: exactly(Math.min(maxBatches, batchesForEach * copyWorkers)),
  };
}

/**
 * Enough readers for a server far away, and as many batches under way as raise the throughput.
 * @param workers - writers that fit the destination's cores. At first there are as many batches as keep them busy if it is near.
 */
export function fittingConcurrency(workers: number): CopyConcurrency {
  return {
    workers,
    readers: 4 * workers,
    smallReaders,
    batches: { min: workers, initial: batchesForEach * workers, max: 64 },
  };
}

/** What runs side by side, in the copy and apart from it. */
export interface FittedConcurrency {
  readonly concurrency: CopyConcurrency;
  /** What fits the destination, whatever the copy was asked for: users wait for a commit. */
  readonly fittingWorkers: number;
}

/** @param copyWorkers - as requested; undefined for what fits. @param fittingWorkers - writers that fit the destination's cores. */
export function fittedConcurrency(
  copyWorkers: number | undefined,
  fittingWorkers: number,
): FittedConcurrency {
  const concurrency =
    copyWorkers === undefined
      ? fittingConcurrency(fittingWorkers)
      : requestedConcurrency(copyWorkers, fittingWorkers);
  return { concurrency, fittingWorkers };
}
