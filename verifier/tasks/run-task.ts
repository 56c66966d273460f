import { Binary, MongoServerError } from 'mongodb';
import { listIndexes } from '../../mongo/catalog.ts';
import { idBound, type IdRange, wholeRange } from '../../mongo/id-range.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { neededAction } from '../../mongo/server-errors.ts';
import { encodeSpec } from '../../mongo/specification.ts';
import { messageOf } from '../../service/errors.ts';
import type { DocumentDifferences } from '../compare/batch-matcher.ts';
import {
  compareIds,
  compareOrder,
  compareUnordered,
  idLists,
  type CompareContext,
  type Comparison,
} from '../compare/compare-documents.ts';
import { compareMetadata } from '../compare/compare-metadata.ts';
import { clocksOf, expiryExcuse, expiryRules, type Excuse } from '../compare/expiry.ts';
import { keyOfBytes, type IdKey } from '../compare/id-key.ts';
import type { DocumentDifference, MetadataDifference } from '../compare/mismatch.ts';
import {
  hasCommonOrder,
  isCapped,
  isCollectionPair,
  sourceCollection,
  type CatalogCache,
  type NamespacePair,
} from '../compare/namespace-pairs.ts';
import type { RangeComparer } from '../compare/range-comparer.ts';
import type { Amount } from '../compare/sides.ts';
import { splitRanges } from '../compare/split-ranges.ts';
import type { PassKind, Task, TaskWork } from '../store/records.ts';

/** What a task needs. */
export interface TaskContext extends CompareContext, RetryContext {
  readonly monitor: CompareContext['monitor'] & RetryContext['monitor'];
  readonly kind: PassKind;
  /** A larger collection is compared in ranges of about this size. */
  readonly rangeBytes: number;
  readonly ranges: RangeComparer;
  readonly mayLackIndexes: boolean;
  readonly catalog: CatalogCache;
}

/** The result of a task. */
export type Outcome =
  /** Its parts replace it. */
  | { readonly kind: 'split'; readonly parts: readonly Task[] }
  | { readonly kind: 'metadata'; readonly differences: readonly MetadataDifference[] }
  | { readonly kind: 'documents'; readonly comparison: Comparison }
  /** It changed while it was read: must be compared again as a whole. Never in the last pass. */
  | { readonly kind: 'disturbed' };

/** Carries out a task, and repeats it while servers are unreachable. */
export async function runTask(context: TaskContext, task: Task): Promise<Outcome> {
  try {
    return await retrying(context, task.work.kind, async () => await attemptTask(context, task));
  } catch (error) {
    context.signal.throwIfAborted();
    if (context.kind === 'last' || !isOfNamespace(error)) throw error;
    const namespace = namespaceText(task.namespace);
    context.logger.warn({ namespace, reason: messageOf(error) }, 'comparing it again later');
    return { kind: 'disturbed' };
  }
}

/** True for errors that changes to a namespace may cause while it is read: they do not end a verification yet. */
function isOfNamespace(error: unknown): boolean {
  return error instanceof MongoServerError && neededAction(error) === undefined;
}

async function attemptTask(
  context: TaskContext,
  { namespace, work, expected }: Task,
): Promise<Outcome> {
  const pair = await context.catalog.pair(namespace);
  if (work.kind !== 'metadata' && !isCollectionPair(pair)) {
    // It was one when the pass was planned.
    if (context.kind !== 'last') return { kind: 'disturbed' };
    return { kind: 'metadata', differences: await metadataOf(context, pair) };
  }
  switch (work.kind) {
    case 'metadata':
      return { kind: 'metadata', differences: await metadataOf(context, pair) };
    case 'collection':
      return await compareCollection(context, pair, expected);
    case 'range':
      return { kind: 'documents', comparison: await compareWhole(context, pair, rangeOf(work)) };
    case 'ids': {
      const excuse = await excuseOf(context, pair);
      const ids = work.ids.map((id) => keyOfBytes(id.buffer));
      return { kind: 'documents', comparison: await compareIds(context, namespace, ids, excuse) };
    }
  }
}

async function metadataOf(
  context: TaskContext,
  pair: NamespacePair,
): Promise<MetadataDifference[]> {
  const { kind, mayLackIndexes, signal } = context;
  const rules = { isReplicatedFormRight: kind !== 'last', mayLackIndexes };
  return await compareMetadata(context, pair, rules, signal);
}

async function compareCollection(
  context: TaskContext,
  pair: NamespacePair,
  amount: Amount,
): Promise<Outcome> {
  const { source, kind, rangeBytes } = context;
  if (!hasCommonOrder(pair)) {
    const excuse = await excuseOf(context, pair);
    return {
      kind: 'documents',
      comparison: await compareUnordered(context, pair.namespace, excuse),
    };
  }
  if (isCapped(pair)) {
    const comparison = await compareWhole(context, pair, wholeRange);
    const isQuiet = kind === 'last' && comparison.found.length === 0;
    const order = isQuiet ? await compareOrder(context, pair.namespace) : undefined;
    return {
      kind: 'documents',
      comparison: order ? { ...comparison, found: [order] } : comparison,
    };
  }
  const { namespace } = pair;
  const options = sourceCollection(pair)?.options ?? {};
  const ranges = await splitRanges(source, { namespace, options, amount }, rangeBytes, context);
  const [only] = ranges;
  if (ranges.length === 1 && only) {
    return { kind: 'documents', comparison: await compareWhole(context, pair, only) };
  }
  // The expected value is stored with the collection.
  const expected = { documents: 0, bytes: 0 };
  const parts = ranges.map((range): Task => ({ namespace, work: workOf(range), expected }));
  return { kind: 'split', parts };
}

/** Bounds are kept as bytes, so that none is altered in transit. */
function workOf({ min, max }: IdRange): TaskWork {
  const stored = (bound: IdRange['min']): Binary | null =>
    bound === null ? null : new Binary(encodeSpec(bound));
  return { kind: 'range', min: stored(min), max: stored(max) };
}

function rangeOf({ min, max }: TaskWork & { readonly kind: 'range' }): IdRange {
  const bound = (stored: Binary | null): IdRange['min'] =>
    stored === null ? null : (idBound(stored.buffer) ?? null);
  return { min: bound(min), max: bound(max) };
}

/** Compares a range. In the last pass, differences are looked up once more by `_id`. */
async function compareWhole(
  context: TaskContext,
  pair: NamespacePair,
  range: IdRange,
): Promise<Comparison> {
  const { namespace } = pair;
  const excuse = await excuseOf(context, pair);
  const comparison = await context.ranges.compare(context, namespace, range, excuse);
  const ids = new Set(comparison.found.map(({ id }) => id));
  if (context.kind !== 'last' || comparison.isOverflowing) return comparison;
  const confirmed = await compareLists(ids, async (list) => {
    return await compareIds(context, namespace, list, excuse);
  });
  return { ...comparison, ...confirmed };
}

/** Compares any number of ids. @param compare - compares as many as can be looked up together. */
export async function compareLists(
  ids: Iterable<IdKey>,
  compare: (ids: readonly IdKey[]) => Promise<DocumentDifferences>,
): Promise<DocumentDifferences> {
  const found: DocumentDifference[] = [];
  let isOverflowing = false;
  for (const list of idLists(ids)) {
    const differences = await compare(list);
    found.push(...differences.found);
    isOverflowing ||= differences.isOverflowing;
  }
  return { found, isOverflowing };
}

/** Before the last pass nothing needs an excuse: what has expired on one side is compared again. */
async function excuseOf(context: TaskContext, pair: NamespacePair): Promise<Excuse | undefined> {
  const { kind, source, signal } = context;
  const collection = sourceCollection(pair);
  if (kind !== 'last' || !collection) return undefined;
  const indexes = await listIndexes(source.cluster, pair.namespace, signal);
  const rules = expiryRules(collection.options, indexes ?? []);
  if (rules.length === 0) return undefined;
  return expiryExcuse(rules, await clocksOf(context, signal));
}
