import type { UUID } from 'mongodb';
import { listNamespaces } from '../../mongo/catalog.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { documentSequence } from '../../mongo/document-sequence.ts';
import { namespaceText, syncDatabase, type Namespace } from '../../mongo/namespace.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { isIdIndex, replicatedIndex } from '../../mongo/replicated-form.ts';
import { codeOf, isIndexRefused, serverCode } from '../../mongo/server-errors.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { throwWriteErrors } from '../../mongo/write-answer.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { DestinationCatalog, notThere } from '../destination/destination-catalog.ts';
import { fittingCopyWorkers } from '../destination/destination.ts';
import { runDocumentWrite } from '../destination/document-commands.ts';
import type { CheckSubject, CollectionSize } from './check-subject.ts';
import { note, type Finding } from './finding.ts';

/** The most that a measurement writes, and the longest that it copies. */
const maxBytes = 64 * 1024 * 1024;
const maxMs = 5_000;

/** Of how many collections it copies documents, the largest first. */
const maxCollections = 8;

/** The target size of one fetch: smaller than that of the copy, so that also a slow destination acknowledges some in time. */
const fetchBytes = 1024 * 1024;

/** How long the destination may take for each change of its catalog, even once nobody waits for the measurement. */
const catalogMs = 5_000;

/** What the names of the collections begin with that a measurement writes to, in the database of the sync's state. */
const scratchPrefix = 'copySpeed.';

/** What was copied in a measurement. A majority of the destination has acknowledged it. */
export interface CopySpeed {
  readonly bytes: number;
  readonly seconds: number;
}

/** What a measurement has found out. */
export interface CopyMeasurement {
  /** Undefined if there are no documents. */
  readonly speed: CopySpeed | undefined;
  /** The indexes of the copied collections that the destination has refused. */
  readonly refusedIndexes: readonly Finding[];
}

/** Documents to copy, and a collection of the measurement's own for them. */
interface Task {
  readonly from: CollectionSize;
  /** From which end they are read: two tasks can share a collection. */
  readonly direction: 1 | -1;
  readonly to: Namespace;
  readonly uuid: UUID;
}

/**
 * Measures how fast documents get from the source to the destination: reads real documents of the largest collections, and
 * writes them, with the indexes that the copy would write, too, to collections of its own in the database of the sync's state.
 * It writes at most 64 MiB, and copies for at most 5 seconds. It drops those collections, in any case, and before that those
 * which a process has left that did not get so far.
 * @throws Error if nothing was acknowledged in that time.
 */
export async function measureCopy(subject: CheckSubject): Promise<CopyMeasurement> {
  const sizes = (await subject.sizes()).filter(({ documentCount }) => documentCount > 0);
  const largest = sizes
    .toSorted((left, right) => right.dataBytes - left.dataBytes)
    .slice(0, maxCollections);
  if (largest.length === 0) return { speed: undefined, refusedIndexes: [] };
  const { pair, options, signal } = subject;
  const destination = pair.deployment(options.destination);
  await dropScratch(destination);
  try {
    const workers = await fittingCopyWorkers(destination, signal);
    const tasks: Task[] = [];
    const refusedIndexes: Finding[] = [];
    for (const plan of plansOf(largest, workers)) {
      signal.throwIfAborted();
      const { task, refused } = await prepare(subject, destination, plan, tasks.length);
      tasks.push(task);
      refusedIndexes.push(...refused);
    }
    return { speed: await copyAll(subject, destination, tasks, workers), refusedIndexes };
  } finally {
    await dropScratch(destination).catch((cause: unknown) => {
      const left = `${syncDatabase}.${scratchPrefix}*`;
      throw new Error(`${left} may be left on the destination (${messageOf(cause)})`, { cause });
    });
  }
}

/** Few collections are read from both ends, so that there is something to do for more workers. */
function plansOf(
  largest: readonly CollectionSize[],
  workers: number,
): readonly Pick<Task, 'from' | 'direction'>[] {
  const forward = largest.map((from) => ({ from, direction: 1 }) as const);
  const backward = largest.map((from) => ({ from, direction: -1 }) as const);
  return [...forward, ...backward].slice(0, Math.max(workers, forward.length));
}

/**
 * Creates a collection for a task. Not even the end of the check interrupts that: a server may carry out later what was
 * abandoned, and nobody would drop the collection.
 */
async function prepare(
  { indexes, options }: CheckSubject,
  destination: Deployment,
  plan: Pick<Task, 'from' | 'direction'>,
  index: number,
): Promise<{ readonly task: Task; readonly refused: readonly Finding[] }> {
  const to = { db: syncDatabase, coll: `${scratchPrefix}${index}` };
  const catalog = catalogOf(destination);
  await catalog.create(to, {});
  const made = await catalog.collectionAt(to);
  if (!made) throw notThere(to);
  const task = { ...plan, to, uuid: made.uuid };
  if (options.buildIndexes !== 'beforeDataCopy') return { task, refused: [] };
  const { namespace } = plan.from;
  const found = (await indexes()).find(
    ({ info }) => info.namespace.db === namespace.db && info.namespace.coll === namespace.coll,
  );
  if (!found || found.indexes instanceof SyncError) return { task, refused: [] };
  return { task, refused: await createIndexes(catalog, task, found.indexes) };
}

/** In their form during a sync. @returns what it means for a sync that the destination refuses some. */
async function createIndexes(
  catalog: DestinationCatalog,
  { from, to, uuid }: Task,
  indexes: readonly IndexSpec[],
): Promise<Finding[]> {
  const specs = indexes.filter((spec) => !isIdIndex(spec)).map(replicatedIndex);
  const refused: Finding[] = [];
  const create = async (some: readonly IndexSpec[], onRefused: (error: unknown) => unknown) => {
    try {
      await catalog.createIndexes(to, some, { collectionUUID: uuid });
    } catch (error) {
      if (!isIndexRefused(error)) throw error;
      await onRefused(error);
    }
  };
  if (specs.length === 0) return [];
  await create(specs, async () => {
    for (const spec of specs)
      await create([spec], (error) => refused.push(...refusal(from, spec, error)));
  });
  return refused;
}

/** Nothing if only the form during a sync conflicts with another index of the collection: the commit builds such an index. */
function refusal({ namespace }: CollectionSize, { name }: IndexSpec, error: unknown): Finding[] {
  const code = codeOf(error);
  if (code === serverCode.indexOptionsConflict || code === serverCode.indexKeySpecsConflict)
    return [];
  const text = namespaceText(namespace);
  const message = `the destination refuses the index ${name} of ${text}: ${messageOf(error)}`;
  return [note('IndexRefusedByDestination', message, { side: 'source', namespaces: [text] })];
}

async function copyAll(
  { source, signal }: CheckSubject,
  destination: Deployment,
  tasks: readonly Task[],
  workers: number,
): Promise<CopySpeed> {
  const timeout = AbortSignal.timeout(maxMs);
  const copying = { destination, signal: AbortSignal.any([signal, timeout]) };
  const startedAtMs = performance.now();
  let [room, bytes, seconds] = [maxBytes, 0, 0];
  /** Those that there is room for. */
  const taken = (documents: readonly RawDocument[]): readonly RawDocument[] =>
    documents.filter(({ length }) => {
      room = length > room ? -1 : room - length;
      return room >= 0;
    });
  const write = async (task: Task, documents: readonly RawDocument[]): Promise<void> => {
    const written = await insert(copying, task, documents);
    bytes += written;
    seconds = (performance.now() - startedAtMs) / 1_000;
  };
  try {
    await forEachConcurrently(tasks, workers, async (task) => {
      const { from, direction } = task;
      const averageBytes = Math.max(64, from.dataBytes / from.documentCount);
      const batchSize = Math.max(1, Math.round(fetchBytes / averageBytes));
      const find = { find: from.namespace.coll, hint: { $natural: direction }, batchSize };
      const cursorOptions = { signal: copying.signal, batchSize };
      await using cursor = await RawCursor.open(
        source.cluster.raw,
        from.namespace.db,
        find,
        cursorOptions,
      );
      let writing = Promise.resolve();
      try {
        for await (const batch of cursor.batches()) {
          await writing;
          const documents = taken(batch.documents);
          if (documents.length === 0) break;
          writing = write(task, documents);
          // It is awaited below, even if the next batch cannot be read.
          writing.catch(() => undefined);
        }
      } finally {
        await writing;
      }
    });
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw error;
    seconds = maxMs / 1_000;
  }
  if (bytes === 0) throw new Error(`nothing was acknowledged within ${maxMs / 1_000} s`);
  return { bytes, seconds };
}

/**
 * Inserts documents, by the UUID of the collection: what the server carries out late does not create it again.
 * @returns the bytes of those that it did not refuse.
 */
async function insert(
  context: { readonly destination: Deployment; readonly signal: AbortSignal },
  { to, uuid }: Task,
  documents: readonly RawDocument[],
): Promise<number> {
  const answer = await runDocumentWrite(context, to.db, {
    insert: to.coll,
    ordered: false,
    bypassDocumentValidation: true,
    collectionUUID: uuid,
    documents: documentSequence('documents', documents),
  });
  // An index may refuse a document: what that means for a sync is another question.
  throwWriteErrors(answer, ({ code }) => code !== serverCode.collectionUuidMismatch);
  const refused = new Set(answer.writeErrors.map(({ index }) => index));
  return documents.reduce((sum, { length }, index) => sum + (refused.has(index) ? 0 : length), 0);
}

/** Drops what this measurement has created, or one before it. The end of the check does not interrupt it. */
async function dropScratch(destination: Deployment): Promise<void> {
  const signal = AbortSignal.timeout(catalogMs);
  const name = { $regex: `^${scratchPrefix.replace('.', '\\.')}` };
  const left = await listNamespaces(destination, syncDatabase, signal, { name });
  await forEachConcurrently(left, maxCollections, async ({ namespace }) => {
    await catalogOf(destination).drop(namespace);
  });
}

function catalogOf(destination: Deployment): DestinationCatalog {
  return new DestinationCatalog(destination, () => undefined, AbortSignal.timeout(catalogMs));
}
