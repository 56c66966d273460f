import type { Document, WriteConcernSettings } from 'mongodb';
import { type IdRange, idRangeQueries } from '../../mongo/id-range.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { acknowledgedTogether } from '../../mongo/one-primary.ts';
import { idElement } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { retrying } from '../../mongo/retrying.ts';
import { codeOf, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { putIdsAsTheyAre } from './put-as-they-are.ts';
import { deleteDocuments } from '../destination/delete-documents.ts';
import { awaitEarlierWrites } from '../destination/earlier-writes.ts';
import { insertBatch } from '../destination/insert-documents.ts';
import { checkDuplicateIds } from '../source/check-duplicate-ids.ts';
import { locateCollection } from '../source/locate-collection.ts';
import { latestKnownTime } from '../source/read-concern.ts';
import { isScattered, type TrackedCollection } from '../store/records.ts';

/** Bytes that one fetch aims at; the server ends it at 16 MiB, whatever the documents' size. */
const fetchBytes = 4 * 1024 * 1024;

/** Inserts under way for each reader: the destination writes one batch while the next is on its way. */
const insertsInFlight = 2;

/** Which documents of a collection: all of them, or those of a partition. */
export type Range = IdRange | 'all';

/** How a range is copied. */
interface CopySettings {
  /** How inserts are acknowledged, where the caller makes sure of a majority. */
  readonly concern?: WriteConcernSettings;
  /** Documents of the range may be on the destination already, from an attempt that was broken off. */
  readonly isRepeated?: boolean;
}

/**
 * Copies documents of a collection to where it is on the destination, as bytes. The collection is found by its UUID,
 * whatever its name is by now; one that is gone has nothing to copy. After an error that passes it begins again: what
 * is there already stays.
 * @returns the bytes read.
 */
export async function copyRange(
  context: SyncContext,
  collection: TrackedCollection,
  range: Range,
  { concern, isRepeated = false }: CopySettings = {},
): Promise<number> {
  let bytes = 0;
  let from: Namespace | undefined = collection.namespace;
  let searches = 0;
  await retrying(
    context,
    'copy',
    async (attempt) => {
      if (attempt > 0) await awaitEarlierWrites(context);
      from ??= (await locateCollection(context, collection.uuid, searches++))?.namespace;
      if (!from) {
        context.logger.debug(
          { namespace: namespaceText(collection.namespace) },
          'dropped on the source during the copy',
        );
        return;
      }
      const mayBeThere = isRepeated || attempt > 0 || context.monitor.restarts > 0;
      const documents = { collection, from, range, mayBeThere };
      bytes +=
        concern === undefined
          ? await copyAcknowledged(context, documents)
          : await copyOnce(context, documents, concern);
    },
    (error) => {
      const gone = isGone(error);
      // Renamed or dropped: the next attempt looks for the UUID.
      if (gone) from = undefined;
      return gone || isTransient(error);
    },
  );
  return bytes;
}

/**
 * Copies small collections as a whole, several at a time, with one wait for a majority for all of them.
 * @returns the bytes read.
 */
export async function copyTogether(
  context: SyncContext,
  collections: readonly TrackedCollection[],
): Promise<number> {
  const { destination, signal, tuning } = context;
  let bytes = 0;
  await retrying(context, 'copy', async (attempt) => {
    if (attempt > 0) await awaitEarlierWrites(context);
    await acknowledgedTogether(destination, signal, async (concern) => {
      await forEachConcurrently(collections, tuning.copyWorkers, async (collection) => {
        const settings = { concern, isRepeated: attempt > 0 };
        const copied = await copyRange(context, collection, 'all', settings);
        bytes += copied;
      });
    });
  });
  return bytes;
}

/** Documents to copy: of a collection, which is called so on the source now. */
interface CopiedDocuments {
  readonly collection: TrackedCollection;
  readonly from: Namespace;
  readonly range: Range;
  readonly mayBeThere: boolean;
}

async function copyAcknowledged(context: SyncContext, documents: CopiedDocuments): Promise<number> {
  const copy = async (concern: WriteConcernSettings): Promise<number> =>
    await copyOnce(context, documents, concern);
  // One insert that waits for a majority costs less than what makes up for several that do not.
  return documents.collection.sizeBytes <= fetchBytes
    ? await copy({ w: 'majority' })
    : await acknowledgedTogether(context.destination, context.signal, copy);
}

async function copyOnce(
  context: SyncContext,
  { collection, from, range, mayBeThere }: CopiedDocuments,
  concern: WriteConcernSettings,
): Promise<number> {
  const batchSize = documentsPerFetch(collection);
  // The order of a capped collection is kept by one insert at a time.
  const isCapped = isTrue(collection.options['capped']);
  const inFlight = new InFlight(isCapped ? 1 : insertsInFlight);
  let bytes = 0;
  try {
    for (const bounds of boundsOf(range)) {
      await using cursor = await RawCursor.open(
        context.source.raw,
        from.db,
        {
          find: from.coll,
          ...bounds,
          batchSize,
          collectionUUID: collection.uuid,
          readConcern: { level: 'majority', ...notBefore(context, collection) },
        },
        { signal: context.signal, batchSize },
      );
      for await (const batch of cursor.batches()) {
        await inFlight.add(async () => {
          const isOnShards = context.source.isSharded;
          // On other shards an insert is not refused because of them. Where the source is sharded, change events tell of each
          // shard key that a document has had.
          if (mayBeThere && !isOnShards && isScattered(collection))
            await deleteDocuments(context, collection, batch.documents.map(idElement));
          const sums = await insertBatch(context, collection.namespace, batch, {
            writeConcern: concern,
            isInOrder: isCapped,
          });
          context.monitor.addCopied(sums.count, sums.totalBytes);
          context.monitor.copyTally.addCopied(collection.uuid, sums.totalBytes);
          bytes += sums.totalBytes;
          if (!isScattered(collection)) return;
          if (isOnShards) await checkDuplicateIds(context, collection, sums.taken);
          // Read twice, as it was put again meanwhile; or an orphan is there.
          else await putIdsAsTheyAre(context, collection, sums.taken);
        });
      }
    }
  } finally {
    await inFlight.settled();
  }
  inFlight.throwFailure();
  return bytes;
}

/**
 * Not older than where the change events of the collection begin: what was written between would be in neither. (Where a
 * transaction is prepared, which only shards do, the read waits for its end.)
 */
function notBefore(context: SyncContext, { namedAt }: TrackedCollection): Document {
  return { afterClusterTime: latestKnownTime(context, namedAt) };
}

/** What to find, one after the other, to read a range: all documents come in natural order, which is the fastest. */
function boundsOf(range: Range): Document[] {
  const isAll = range === 'all' || (range.min === null && range.max === null);
  return isAll ? [{ hint: { $natural: 1 } }] : idRangeQueries(range);
}

function documentsPerFetch({ sizeBytes, documentCount }: TrackedCollection): number {
  const averageBytes = Math.max(64, documentCount > 0 ? sizeBytes / documentCount : 1024);
  return Math.min(20_000, Math.max(16, Math.round(fetchBytes / averageBytes)));
}

function isGone(error: unknown): boolean {
  const code = codeOf(error);
  return code === serverCode.collectionUuidMismatch || code === serverCode.namespaceNotFound;
}

/** Runs a bounded number of tasks side by side; the first failure is kept until it is asked for. */
class InFlight {
  readonly #limit: number;
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Begins a task, once there is room. Throws the failure of an earlier one. */
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
