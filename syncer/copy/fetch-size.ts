import type { TrackedCollection } from '../store/records.ts';

const mebibyte = 1024 * 1024;

/** The target size of one fetch in bytes. */
export const fetchBytes = 4 * mebibyte;

/** The server ends a fetch at this size, whatever the number of documents. */
const maxFetchBytes = 16 * mebibyte;

const maxDocuments = 20_000;
const minAverageBytes = 64;
const unknownAverageBytes = 1024;

/** How many documents the first fetch asks for at most of a collection that is said to have none: as many as a server sends by default. */
const firstDocuments = 100;

/** How much to fetch at a time at most. */
interface FetchBounds {
  readonly count: number;
  readonly bytes: number;
}

const unbounded: FetchBounds = { count: Infinity, bytes: Infinity };

/**
 * How many documents of a collection to fetch at a time, and how large they will be together: by the collection's statistics at
 * first, which say too little of one that has grown since, or whose server was killed, and then by what was fetched.
 */
export class FetchSize {
  readonly #collection: Pick<TrackedCollection, 'sizeBytes' | 'documentCount'>;
  readonly #most: () => FetchBounds;
  #fetchedDocuments = 0;
  #fetchedBytes = 0;
  #largestBytes = 0;

  /** @param most - how much to fetch at a time at most. */
  constructor(
    collection: Pick<TrackedCollection, 'sizeBytes' | 'documentCount'>,
    most: () => FetchBounds = () => unbounded,
  ) {
    this.#collection = collection;
    this.#most = most;
  }

  /** How many documents the next fetch should have. */
  get documents(): number {
    const most = this.#most();
    const byBytes = Math.round(Math.min(fetchBytes, most.bytes) / this.#averageBytes);
    const documents = Math.min(maxDocuments, most.count, Math.max(1, byBytes));
    if (this.#fetchedDocuments > 0) return documents;
    // All that there should be, in one fetch, and not much more.
    const { documentCount } = this.#collection;
    return Math.min(documents, Math.max(firstDocuments, 2 * documentCount));
  }

  /** How many bytes the next fetch probably has: at least as many as the largest before it. */
  get expectedBytes(): number {
    const { sizeBytes } = this.#collection;
    const expected = this.#fetchedDocuments > 0 ? fetchBytes : Math.min(fetchBytes, sizeBytes);
    return Math.min(maxFetchBytes, Math.max(expected, this.#averageBytes, this.#largestBytes));
  }

  /** Notes what a fetch has brought. */
  fetched(documents: number, bytes: number): void {
    this.#fetchedDocuments += documents;
    this.#fetchedBytes += bytes;
    this.#largestBytes = Math.max(this.#largestBytes, bytes);
  }

  get #averageBytes(): number {
    if (this.#fetchedDocuments > 0)
      return Math.max(minAverageBytes, this.#fetchedBytes / this.#fetchedDocuments);
    const { sizeBytes, documentCount } = this.#collection;
    return documentCount > 0
      ? Math.max(minAverageBytes, sizeBytes / documentCount)
      : unknownAverageBytes;
  }
}
