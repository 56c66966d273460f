import { compareBuckets, compareFingerprints } from '../../mongo/compared-fingerprints.ts';
import type { Sides } from '../../mongo/sides.ts';
import { cannotHash, type Fingerprint, type FingerprintReader } from '../../mongo/fingerprints.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import type { RawDocument, RawElement } from '../../mongo/raw-bson.ts';
import { errorNameOf } from '../../mongo/server-errors.ts';
import type { Logger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import type { PacedDocuments, WorkPace } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { Comparison } from '../options/command-bodies.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { AttemptFigures } from './attempt-figures.ts';
import type { CopySlots } from './copy-slots.ts';
import { FetchSize } from './fetch-size.ts';
import { maxPutTogether, putComparedIds } from './put-as-they-are.ts';

/** What the reconciler reports to, and how it compares. */
interface ReconcilerSettings {
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly pace: WorkPace;
  /** What is written at the same time counts with the batches of a copy. */
  readonly slots: CopySlots;
  readonly comparison: () => Comparison;
}

/** A range of a collection whose documents may be on the destination already. */
export interface ReconciledRange {
  readonly collection: TrackedCollection;
  /** The collection's name on the source now. */
  readonly from: Namespace;
  readonly range: IdRange;
  readonly figures: AttemptFigures;
}

/** Takes how many documents of the source a range has. */
type Compared = (documents: number) => void;

/** What reconciling a range has come to. */
interface Outcome {
  /** Documents of the source, and their bytes. */
  readonly documents: number;
  readonly bytes: number;
  /** What was brought of those that differed, or that one side did not have. */
  readonly brought: PacedDocuments;
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

  /** Reconciles a range. May be repeated from any point. */
  async reconcile({ collection, from, range, figures }: ReconciledRange): Promise<void> {
    const time = await this.#destination.timeNow();
    const sides = {
      source: this.#source.documents.fingerprints(collection, from, range),
      destination: this.#destination.documents.fingerprints(collection.namespace, range, time),
    };
    const { comparison, pace } = this.#settings;
    // Known before any of them is brought. What could not be compared by hashes is compared again by bytes.
    let known = 0;
    const compared: Compared = (count) => {
      figures.addCompared(count - known);
      known = count;
    };
    const { documents, bytes, brought } =
      comparison() === 'bytes'
        ? await this.#reconcileByBytes(collection, sides, compared)
        : await this.#reconcileByHashIfPossible(collection, sides, compared);
    // How many documents were only compared is known afterwards: the next range waits for them.
    await pace.copy({
      count: Math.max(0, documents - brought.count),
      bytes: Math.max(0, bytes - brought.bytes),
    });
    figures.addReconciled(collection.uuid, bytes);
  }

  async #reconcileByHashIfPossible(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
    compared: Compared,
  ): Promise<Outcome> {
    try {
      return await this.#reconcileByHash(collection, sides, compared);
    } catch (error) {
      if (!cannotHash(error)) throw error;
      const namespace = namespaceText(collection.namespace);
      // What the server says of a document that is too large for it may quote the document.
      this.#settings.logger.debug({ namespace, error: errorNameOf(error) }, 'comparing by bytes');
      return await this.#reconcileByBytes(collection, sides, compared);
    }
  }

  async #reconcileByHash(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
    compared: Compared,
  ): Promise<Outcome> {
    const { read, differing } = await compareBuckets(sides);
    compared(read.source.documents);
    let [count, bytes] = [0, 0];
    for (const group of differing) {
      const brought = await this.#bring(collection, sides, (side) => side.inBuckets(group));
      count += brought.count;
      bytes += brought.bytes;
    }
    return { ...read.source, brought: { count, bytes } };
  }

  async #reconcileByBytes(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
    compared: Compared,
  ): Promise<Outcome> {
    let [documents, bytes] = [0, 0];
    const read = async function* (side: FingerprintReader): AsyncGenerator<Fingerprint, void> {
      for await (const fingerprint of side.byBytes()) {
        if (side === sides.source) {
          documents += 1;
          bytes += fingerprint.bytes;
        }
        yield fingerprint;
      }
    };
    const brought = await this.#bring(collection, sides, read, () => {
      compared(documents);
    });
    return { documents, bytes, brought };
  }

  /** Puts the documents that differ as they are on the source, each batch once it may pass. */
  async #bring(
    collection: TrackedCollection,
    sides: Sides<FingerprintReader>,
    read: (side: FingerprintReader) => AsyncGenerator<Fingerprint, void>,
    onCompared?: () => void,
  ): Promise<PacedDocuments> {
    const { monitor, pace, slots } = this.#settings;
    const { differing, surplus } = await compareFingerprints(sides, read);
    onCompared?.();
    let bytes = 0;
    // Counted as they come to be equal: if the range is compared again, they no longer differ.
    let [reached, counted] = [0, 0];
    const count = (documents: number): void => {
      // The source may have got a document since that was only on the destination: it is deleted, and then brought.
      const more = Math.max(0, Math.min(documents, differing.length) - counted);
      monitor.addChanged(more);
      counted += more;
    };
    const follower = {
      deleted(ids: readonly RawElement[]): void {
        reached += ids.filter((id) => surplus.has(id)).length;
        count(reached);
      },
      async beforeInsert(documents: readonly RawDocument[]): Promise<void> {
        // Those before have been written.
        count(reached);
        reached += documents.length;
        const readBytes = documents.reduce((sum, { length }) => sum + length, 0);
        await pace.copy({ count: 0, bytes: readBytes });
        bytes += readBytes;
      },
    };
    for (let at = 0; at < differing.length;) {
      const ids = differing.slice(at, at + Math.min(maxPutTogether, pace.fetch.count));
      const slot = await slots.take(new FetchSize(collection, () => pace.fetch).expectedBytes);
      try {
        // Before anything is deleted: how large they are is known once they are read.
        await pace.copy({ count: ids.length, bytes: 0 });
        await putComparedIds(this.#source, this.#destination, collection, ids, follower);
      } finally {
        slot.giveBack();
      }
      at += ids.length;
      // With those that the source no longer has.
      reached = at;
      count(at);
    }
    return { count: differing.length, bytes };
  }
}
