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
 * @param report - called with each index that the destination refuses.
 * @returns undefined if there are no documents.
 * @throws Error if nothing was acknowledged in that time.
 */
export async function measureCopy(
  subject: CheckSubject,
  report: (refused: Finding) => void,
): Promise<CopySpeed | undefined> {
  const sizes = (await subject.sizes()).filter(({ documentCount }) => documentCount > 0);
  const largest = sizes
    .toSorted((left, right) => right.dataBytes - left.dataBytes)
    .slice(0, maxCollections);
  if (largest.length === 0) return undefined;
  const { pair, options, signal } = subject;
  const destination = pair.deployment(options.destination);
  await dropScratch(destination);
  try {
    const workers = await fittingCopyWorkers(destination, signal);
    const tasks: Task[] = [];
    for (const plan of plansOf(largest, workers)) {
      signal.throwIfAborted();
      const task = await prepare(destination, plan, tasks.length);
      tasks.push(task);
      await createIndexes(subject, destination, task, report);
    }
    return await copyAll(subject, destination, tasks, workers);
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
  destination: Deployment,
  plan: Pick<Task, 'from' | 'direction'>,
  index: number,
): Promise<Task> {
  const to = { db: syncDatabase, coll: `${scratchPrefix}${index}` };
  await catalogOf(destination).create(to, {});
  const made = await catalogOf(destination).collectionAt(to);
  if (!made) throw notThere(to);
  return { ...plan, to, uuid: made.uuid };
}

/** Creates the indexes that are built before the copy, in their form during a sync, and reports those that are refused. */
async function createIndexes(
  { indexes, options, signal }: CheckSubject,
  destination: Deployment,
  task: Task,
  report: (refused: Finding) => void,
): Promise<void> {
  if (options.buildIndexes !== 'beforeDataCopy') return;
  const { from, direction } = task;
  const { db, coll } = from.namespace;
  const found = (await indexes()).find(
    ({ info: { namespace } }) => namespace.db === db && namespace.coll === coll,
  );
  if (!found || found.indexes instanceof SyncError) return;
  const specs = found.indexes.filter((spec) => !isIdIndex(spec)).map(replicatedIndex);
  if (specs.length === 0 || !(await refusalOf(destination, task, specs))) return;
  for (const spec of specs) {
    signal.throwIfAborted();
    const refusal = await refusalOf(destination, task, [spec]);
    // A collection that is read from both ends has two tasks.
    if (refusal && direction === 1 && !isConflict(refusal))
      report(refused(from.namespace, spec, refusal));
  }
}

/** Creates indexes. @returns the error by which the destination refuses one of them; undefined if it has created all. */
async function refusalOf(
  destination: Deployment,
  { to, uuid }: Task,
  specs: readonly IndexSpec[],
): Promise<Error | undefined> {
  try {
    await catalogOf(destination).createIndexes(to, specs, { collectionUUID: uuid });
    return undefined;
  } catch (error) {
    if (!(error instanceof Error) || !isIndexRefused(error)) throw error;
    return error;
  }
}

/** True if only the form during a sync conflicts with another index of the collection: the commit builds such an index. */
function isConflict(error: unknown): boolean {
  const code = codeOf(error);
  return code === serverCode.indexOptionsConflict || code === serverCode.indexKeySpecsConflict;
}

function refused(namespace: Namespace, { name }: IndexSpec, error: unknown): Finding {
  const text = namespaceText(namespace);
  const message = `the destination refuses the index ${name} of ${text}: ${messageOf(error)}`;
  return note('IndexRefusedByDestination', message, { side: 'source', namespaces: [text] });
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
