import type { ReadPreferenceMode, Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import type { DocumentList } from '../../mongo/document-list.ts';
import type { VerifierMonitor } from '../monitor.ts';
import type { DocumentDifferences } from './batch-matcher.ts';
import type { RateLimit } from './read-documents.ts';

/** The two sides of a comparison. */
export type SideName = 'source' | 'destination';

/** One of something for each side. */
export type OfSides<T> = Readonly<Record<SideName, T>>;

/** One side of a comparison. */
export interface Side {
  readonly cluster: ClusterClient;
  /** True for a sharded cluster, of which its routers give one view. */
  readonly isSharded: boolean;
  /** Reads see every write up to this cluster time, also from a primary that was elected meanwhile. */
  readonly readAfter: Timestamp;
}

/** The two sides as a pass reads them. */
export function sidesOf(
  clusters: OfSides<ClusterClient>,
  kinds: OfSides<Pick<Side, 'isSharded'>>,
  readAfter: OfSides<Timestamp>,
): OfSides<Side> {
  const side = (name: SideName): Side => ({
    cluster: clusters[name],
    isSharded: kinds[name].isSharded,
    readAfter: readAfter[name],
  });
  return { source: side('source'), destination: side('destination') };
}

/** How documents are compared, as the options say. */
export interface CompareSettings {
  /** Above this size a collection is compared in ranges of about this size. */
  readonly rangeBytes: number;
  /** Which members documents are read from. */
  readonly readPreference: ReadPreferenceMode;
  readonly rateLimit: RateLimit;
  /** Whether differences tell the two values. */
  readonly reportValues: boolean;
}

/** What every comparison works with. */
export interface CompareContext extends OfSides<Side>, CompareSettings {
  readonly monitor: Pick<VerifierMonitor, 'addCompared'>;
  readonly signal: AbortSignal;
}

/** Documents and bytes of the source. */
export interface Amount {
  readonly documents: number;
  readonly bytes: number;
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

/** What comparing documents came to. */
export interface Comparison extends DocumentDifferences {
  /** Documents of the source that were compared, and their bytes. */
  readonly compared: Amount;
  /** Documents of each side, where all of a range were read on both; null where it was given up, and for single ids. */
  readonly read: OfSides<number> | null;
}
