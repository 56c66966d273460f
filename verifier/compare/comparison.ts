import type { DocumentList } from '../../mongo/document-list.ts';
import type { Amount, OfSides } from '../store/records.ts';
import type { DocumentDifferences } from './batch-matcher.ts';

/** What comparing documents came to. */
export interface Comparison extends DocumentDifferences {
  /** Documents of the source that were compared, and their bytes. */
  readonly compared: Amount;
  /** Documents of each side, where all of a range were read on both; null where it was given up, and for single ids. */
  readonly read: OfSides<number> | null;
}

/** Counts documents. */
export class AmountCounter {
  #documents = 0;
  #bytes = 0;

  get total(): Amount {
    return { documents: this.#documents, bytes: this.#bytes };
  }

  add({ count, bytes }: DocumentList): void {
    this.#documents += count;
    this.#bytes += bytes;
  }
}
