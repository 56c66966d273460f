/**
 * How many bytes a batch should have: each worker holds three. Smaller ones cost more CPU time than they save memory: a command
 * takes the program as long as comparing half a megabyte does.
 */
const wantedBytes = 1.5 * 1024 * 1024;

/** Documents of the first batch, whose size nobody knows. A server ends a batch at 16 MiB anyhow. */
const firstFetch = 16;

const maxFetch = 5000;

/** How many documents to ask for, which changes with what has come. */
export interface Fetches {
  readonly documents: number;
  /** Takes note of documents that have come. */
  readonly add: (list: { readonly count: number; readonly bytes: number }) => void;
}

/** How many documents to ask for at once: as many as make a batch of about one and a half megabytes, going by those that have come. */
export class FetchSize implements Fetches {
  #documents = 0;
  #bytes = 0;
  readonly #first: number;

  constructor(first = firstFetch) {
    this.#first = first;
  }

  get documents(): number {
    if (this.#documents === 0) return this.#first;
    const wanted = Math.floor((wantedBytes * this.#documents) / this.#bytes);
    return Math.min(maxFetch, Math.max(1, wanted));
  }

  /** The same, for a read whose batches come in step with those that are added here: they need not be counted. */
  get inStep(): Fetches {
    const of = (): number => this.documents;
    return {
      get documents() {
        return of();
      },
      add: () => undefined,
    };
  }

  /** Takes note of documents that have come. */
  add({ count, bytes }: { readonly count: number; readonly bytes: number }): void {
    this.#documents += count;
    this.#bytes += bytes;
  }
}
