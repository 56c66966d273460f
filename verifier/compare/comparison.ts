import type { DocumentList } from '../../mongo/document-list.ts';
import type { Amount } from '../state/records.ts';
import type { DocumentDifferences } from './batch-matcher.ts';

/** What comparing documents came to. */
export interface Comparison extends DocumentDifferences {
  /** Documents of the source that were compared, and their bytes. */
  readonly compared: Amount;
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
