import type { RawDocument } from '../../mongo/raw-bson.ts';
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

  add(documents: readonly RawDocument[]): void {
    this.#documents += documents.length;
    for (const document of documents) this.#bytes += document.length;
  }
}
