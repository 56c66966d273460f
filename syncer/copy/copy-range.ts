import type { Document, WriteConcernSettings } from 'mongodb';
import { type IdRange, idRangeQueries, wholeRange } from '../../mongo/id-range.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { idElement } from '../../mongo/raw-bson.ts';
import type { RawBatch, RawCursor } from '../../mongo/raw-cursor.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { codeOf, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { ConcurrencyLimit } from '../../service/concurrency-limit.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { Logger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import type { WorkPace } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { Comparison } from '../options/command-bodies.ts';
import type { CopyConcurrency } from '../options/copy-concurrency.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import { AttemptFigures } from './attempt-figures.ts';
import { putIdsAsTheyAre, putUnlessEqual } from './put-as-they-are.ts';
import { type CopySlot, CopySlots } from './copy-slots.ts';
import { fetchBytes, FetchSize } from './fetch-size.ts';
import { RangeReconciler } from './reconcile-range.ts';

/** Which documents of a collection: all, or those of a partition. */
export type Range = IdRange | 'all';

/** Settings for copying a range. */
interface CopySettings {
  /** The write concern of inserts, for a caller that waits for a majority itself. */
  readonly concern?: WriteConcernSettings;
  /** An attempt that was interrupted may have left documents of the range on the destination. */
  readonly isRepeated?: boolean;
}

/** The documents to copy from a collection, with its name on the source now. */
interface CopiedDocuments {
  readonly collection: TrackedCollection;
  readonly from: Namespace;
  readonly range: Range;
  readonly mayBeThere: boolean;
  readonly figures: AttemptFigures;
}

/** Copies documents from the source to the destination as bytes, unchanged. */
export class RangeCopier {
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #monitor: SyncMonitor;
  readonly #logger: Logger;
  readonly #concurrency: CopyConcurrency;
  readonly #pace: WorkPace;
  readonly #slots: CopySlots;
  readonly #reconciler: RangeReconciler;

  constructor(source: Source, destination: Destination, settings: CopierSettings) {
    this.#source = source;
    this.#destination = destination;
    this.#monitor = settings.monitor;
    this.#logger = settings.logger;
    this.#concurrency = settings.concurrency;
    this.#pace = settings.pace;
    const limit = new ConcurrencyLimit(settings.concurrency.batches);
    this.#slots = new CopySlots(limit, () => settings.pace.concurrentBatches);
    const slots = this.#slots;
    this.#reconciler = new RangeReconciler(source, destination, { ...settings, slots });
  }

  /**
   * Copies documents of a collection to where it is on the destination, as bytes. Finds the collection by its UUID, whatever
   * its name is now; one that is gone has nothing to copy. After a temporary error it starts over: what is there already
   * stays. A collection that was on the destination before the copy is reconciled.
   * @returns the bytes read.
   */
  async copyRange(
    collection: TrackedCollection,
    range: Range,
    settings: CopySettings = {},
  ): Promise<number> {
    return (await this.#copyRange(collection, range, settings)).bytes;
  }

  /**
   * Copies small collections as a whole, several at a time, with a single wait for a majority.
   * @returns the bytes read.
   */
  async copyTogether(collections: readonly TrackedCollection[]): Promise<number> {
    const { smallReaders } = this.#concurrency;
    const copy = async (attempt: number): Promise<AttemptFigures> =>
      await AttemptFigures.during(this.#monitor, async (figures) => {
        await this.#destination.together(async (concern) => {
          const settings = { concern, isRepeated: attempt > 0 };
          await forEachConcurrently(collections, smallReaders, async (collection) => {
            figures.include(await this.#copyRange(collection, 'all', settings));
          });
        });
      });
    return (await this.#destination.transfer('copy', copy)).bytes;
  }

  async #copyRange(
    collection: TrackedCollection,
    range: Range,
    { concern, isRepeated = false }: CopySettings,
  ): Promise<AttemptFigures> {
    let from: Namespace | undefined = collection.namespace;
    let searches = 0;
    const copy = async (attempt: number, figures: AttemptFigures): Promise<void> => {
      from ??= (await this.#source.catalog.locate(collection.uuid, searches++))?.namespace;
      if (!from) {
        this.#logger.debug(
          { namespace: namespaceText(collection.namespace) },
          'dropped on the source during the copy',
        );
        return;
      }
      if (collection.isAdopted) {
        const idRange = range === 'all' ? wholeRange : range;
        await this.#reconciler.reconcile({ collection, from, range: idRange, figures });
        return;
      }
      const mayBeThere = isRepeated || attempt > 0 || this.#monitor.restarts > 0;
      const documents = { collection, from, range, mayBeThere, figures };
      if (concern === undefined) await this.#copyAcknowledged(documents);
      else await this.#copyOnce(documents, concern);
    };
    const counted = async (attempt: number): Promise<AttemptFigures> =>
      await AttemptFigures.during(this.#monitor, async (figures) => {
        await copy(attempt, figures);
      });
    return await this.#destination.transfer('copy', counted, (error) => {
      const gone = isGone(error);
      // Renamed or dropped: the next attempt looks for the UUID.
      if (gone) from = undefined;
      return gone || isTransient(error);
    });
  }

  async #copyAcknowledged(documents: CopiedDocuments): Promise<void> {
    const copy = async (concern: WriteConcernSettings): Promise<void> => {
      await this.#copyOnce(documents, concern);
    };
    // One insert that waits for a majority costs less than the wait that several without would need afterwards.
    if (documents.collection.sizeBytes <= fetchBytes) await copy({ w: 'majority' });
    else await this.#destination.together(copy);
  }

  async #copyOnce(documents: CopiedDocuments, concern: WriteConcernSettings): Promise<void> {
    const { collection, from, range } = documents;
    const size = new FetchSize(collection, () => this.#pace.fetch);
    // Only one insert at a time keeps the order of a capped collection.
    const isCapped = isTrue(collection.options['capped']);
    const inFlight = new InFlight(isCapped ? 1 : Infinity);
    const insert = async (batch: RawBatch, fetched: CopySlot): Promise<void> => {
      let insertedBytes: number | undefined;
      try {
        await this.#pace.copy({ count: batch.list.count, bytes: batch.bytes });
        insertedBytes = await this.#insert(documents, batch, concern);
      } finally {
        fetched.giveBack(insertedBytes);
      }
    };
    // Apart from the loop, which would hold a batch while it waits for the next slot.
    const copyNext = async (cursor: RawCursor, taken: CopySlot): Promise<boolean> => {
      const batch = await nextOf(cursor, size);
      if (batch === undefined) return false;
      size.fetched(batch.list.count, batch.bytes);
      taken.holds(batch.bytes);
      await inFlight.add(async () => {
        await insert(batch, taken);
      });
      return true;
    };
    let slot = await this.#slots.take(size.expectedBytes);
    try {
      for (const bounds of boundsOf(range)) {
        const query = { collection, from, bounds, batchSize: size.documents };
        await using cursor = await this.#source.documents.open(query);
        while (await copyNext(cursor, slot)) slot = await this.#slots.take(size.expectedBytes);
      }
    } finally {
      slot.giveBack();
      await inFlight.settled();
    }
    inFlight.throwFailure();
  }

  /** @returns the bytes of the batch. */
  async #insert(
    { collection, mayBeThere, figures }: CopiedDocuments,
    batch: RawBatch,
    concern: WriteConcernSettings,
  ): Promise<number> {
    const { documents } = this.#destination;
    const { kind } = this.#source;
    const addressing = kind.addressingOf(collection);
    // A document on another shard does not make an insert fail. If the source is sharded, change events report each shard key
    // that a document has had.
    if (mayBeThere && addressing === 'onEveryShard')
      await documents.delete(collection, batch.documents.map(idElement));
    const { count, totalBytes, taken } = await documents.insertBatch(collection.namespace, batch, {
      writeConcern: concern,
      isInOrder: isTrue(collection.options['capped']),
      isTakenSame: addressing === 'byId',
    });
    figures.addCopied(collection.uuid, count, totalBytes);
    switch (addressing) {
      case 'byId':
        break;
      case 'byShardKey':
        await putUnlessEqual(this.#source, this.#destination, collection, taken);
        break;
      case 'onEveryShard':
        // It was put again meanwhile and so read twice; or there is an orphan.
        await putIdsAsTheyAre(this.#source, this.#destination, collection, taken.map(idElement));
        break;
    }
    return totalBytes;
  }
}

/** What the copier reports to, and how much it does at a time. */
interface CopierSettings {
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly concurrency: CopyConcurrency;
  readonly pace: WorkPace;
  /** How to compare documents that are on the destination already. */
  readonly comparison: () => Comparison;
}

/**
 * The bounds of the finds that read a range, one after the other: all documents come in natural order, which is the fastest.
 */
function boundsOf(range: Range): Document[] {
  const isAll = range === 'all' || (range.min === null && range.max === null);
  return isAll ? [{ hint: { $natural: 1 } }] : idRangeQueries(range);
}

/** The next batch that has documents. */
async function nextOf(cursor: RawCursor, { documents }: FetchSize): Promise<RawBatch | undefined> {
  let batch = await cursor.next(documents);
  while (batch?.isEmpty) batch = await cursor.next(documents);
  return batch;
}

function isGone(error: unknown): boolean {
  const code = codeOf(error);
  return code === serverCode.collectionUuidMismatch || code === serverCode.namespaceNotFound;
}

/** Runs a bounded number of tasks side by side; keeps the first failure until it is asked for. */
class InFlight {
  readonly #limit: number;
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Starts a task as soon as there is room. Throws the failure of an earlier one. */
  async add(task: () => Promise<void>): Promise<void> {
    while (this.#running.size >= this.#limit) await Promise.race(this.#running);
    this.throwFailure();
    const running = task()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  throwFailure(): void {
    if (this.#failure) throw this.#failure.error;
  }
}
