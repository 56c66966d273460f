import { compareBuckets, compareFingerprints } from '../../mongo/compared-fingerprints.ts';
import type { Sides } from '../../mongo/sides.ts';
import { cannotHash, type Fingerprint, type FingerprintReader } from '../../mongo/fingerprints.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { errorNameOf } from '../../mongo/server-errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import type { WorkPace } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { Comparison } from '../options/command-bodies.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import { putIdsAsTheyAre } from './put-as-they-are.ts';

/** What the reconciler reports to, and how it compares. */
interface ReconcilerSettings {
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly pace: WorkPace;
  readonly comparison: () => Comparison;
}

/** A range of a collection whose documents may be on the destination already. */
export interface ReconciledRange {
  readonly collection: TrackedCollection;
  /** The collection's name on the source now. */
  readonly from: Namespace;
  readonly range: IdRange;
}

/** What reconciling a range has come to. */
interface Outcome {
  /** Documents of the source, and their bytes. */
  readonly documents: number;
  readonly bytes: number;
  /** Documents that differed, or that one side did not have. */
  readonly differing: number;
}

/**
 * Makes the destination's documents equal to the source's without copying those that already are: both servers hash their
 * documents, and only those whose hashes differ are read and written, or deleted.
 *
 * This is as right as copying: afterwards each document of the range is on the destination as it was on the source at some time
 * since the start of the change events, or it is absent as it was then; nobody else writes there. A server without the hash has
 * its documents read.
 */
export class RangeReconciler {
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #settings: ReconcilerSettings;

  constructor(source: Source, destination: Destination, settings: ReconcilerSettings) {
    this.#source = source;
    this.#destination = destination;
    this.#settings = settings;
  }

  /**
   * Reconciles a range. May be repeated from any point.
   * @returns the bytes of the source's documents.
   */
  async reconcile({ collection, from, range }: ReconciledRange): Promise<number> {
    const time = await this.#destination.timeNow();
    const sides = {
      source: this.#source.documents.fingerprints(collection, from, range),
      destination: this.#destination.documents.fingerprints(collection.namespace, range, time),
    };
    const { comparison, monitor, pace } = this.#settings;
    const { documents, bytes, differing } =
      comparison() === 'bytes'
        ? await this.#reconcileByBytes(collection, sides)
        : await this.#reconcileByHashIfPossible(collection, sides);
    // How many documents the range has is known only afterwards: the next one waits for them.
    await pace.copy({ count: documents, bytes });
    monitor.addReconciled(documents, bytes, differing);
    monitor.copyTally.addCopied(collection.uuid, bytes);
    return bytes;
  }

  async #reconcileByHashIfPossible(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
  ): Promise<Outcome> {
    try {
      return await this.#reconcileByHash(collection, sides);
    } catch (error) {
      if (!cannotHash(error)) throw error;
      const namespace = namespaceText(collection.namespace);
      // What the server says of a document that is too large for it may quote the document.
      this.#settings.logger.debug({ namespace, error: errorNameOf(error) }, 'comparing by bytes');
      return await this.#reconcileByBytes(collection, sides);
    }
  }

  async #reconcileByHash(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
  ): Promise<Outcome> {
    const { read, differing } = await compareBuckets(sides);
    let differences = 0;
    for (const group of differing)
      differences += await this.#bring(collection, sides, (side) => side.inBuckets(group));
    return { ...read.source, differing: differences };
  }

  async #reconcileByBytes(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
  ): Promise<Outcome> {
    let [documents, bytes] = [0, 0];
    const differing = await this.#bring(collection, sides, async function* (side) {
      for await (const fingerprint of side.byBytes()) {
        if (side === sides.source) {
          documents += 1;
          bytes += fingerprint.bytes;
        }
        yield fingerprint;
      }
    });
    return { documents, bytes, differing };
  }

  /** Puts the documents that differ as they are on the source. Returns how many there were. */
  async #bring(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
    read: (side: FingerprintReader) => AsyncGenerator<Fingerprint, void>,
  ): Promise<number> {
    const { differing } = await compareFingerprints(sides, read);
    await putIdsAsTheyAre(this.#source, this.#destination, collection, differing);
    return differing.length;
  }
}
