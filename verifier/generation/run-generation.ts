import { MongoServerError } from 'mongodb';
import { listIndexes, type NamespaceInfo } from '../../mongo/catalog.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { codeOf, isReadRepeatable, serverCode } from '../../mongo/server-errors.ts';
import { messageOf } from '../../service/errors.ts';
import type { DocumentDifferences, Excuse } from '../compare/batch-matcher.ts';
import type { CompareContext, Side } from '../compare/compare-context.ts';
import { compareIds, idLists } from '../compare/compare-ids.ts';
import { compareOrder } from '../compare/compare-order.ts';
import { compareRange } from '../compare/compare-range.ts';
import { expiryExcuse } from '../compare/expiry.ts';
import { idDocument } from '../compare/id-key.ts';
import { metadataDifferences, type NamespaceState } from '../compare/metadata-difference.ts';
import type { DocumentDifference, MetadataDifference } from '../compare/mismatch.ts';
import { wholeRange } from '../compare/read-documents.ts';
import { readPlacement } from '../compare/read-placement.ts';
import { readShardIndexes } from '../compare/read-shard-indexes.ts';
import { splitRanges } from '../compare/split-ranges.ts';
import type { VerifierMonitor } from '../monitor.ts';
import type { PendingChecks } from '../pending-checks.ts';
import type { GenerationStatus } from './generation-status.ts';
import { isCapped, sourceCollection, type NamespacePair } from './namespace-pairs.ts';
import type { GenerationKind } from './plan-tasks.ts';
import type { Task } from './task.ts';
import { runTasks } from './task-pool.ts';

/** What a pass over the data works with. */
export interface GenerationContext extends CompareContext, RetryContext {
  readonly monitor: VerifierMonitor;
  readonly kind: GenerationKind;
  readonly workers: number;
  readonly mayLackIndexes: boolean;
  readonly status: GenerationStatus;
  /** Told of every difference that is found. */
  readonly report: (
    namespace: Namespace,
    difference: DocumentDifference | MetadataDifference,
  ) => void;
  /** Where differences are put that the next pass looks at again; the last pass puts none there. */
  readonly next: PendingChecks;
}

/** Runs the tasks of a pass over the data. */
export async function runGeneration(
  context: GenerationContext,
  tasks: readonly Task[],
): Promise<void> {
  const { status } = context;
  status.addedTasks += tasks.length;
  await runTasks(tasks, context.workers, async (task, add) => {
    status.addedTasks -= 1;
    status.processingTasks += 1;
    const outcome = await runTask(context, task);
    status.processingTasks -= 1;
    switch (outcome.kind) {
      case 'split':
        status.completedTasks += 1;
        status.addedTasks += outcome.tasks.length;
        add(outcome.tasks);
        break;
      case 'metadata':
        noteMetadata(context, task.pair.namespace, outcome.differences);
        break;
      case 'documents':
        noteDocuments(context, task.pair.namespace, outcome.differences);
        break;
      case 'failed':
        status.failedTasks += 1;
        context.next.addWhole(task.pair.namespace);
        break;
    }
  });
}

type Outcome =
  | { readonly kind: 'split'; readonly tasks: readonly Task[] }
  | { readonly kind: 'metadata'; readonly differences: readonly MetadataDifference[] }
  | { readonly kind: 'documents'; readonly differences: DocumentDifferences }
  | { readonly kind: 'failed' };

async function runTask(context: GenerationContext, task: Task): Promise<Outcome> {
  try {
    return await retrying(
      context,
      task.kind,
      async () => await attemptTask(context, task),
      isReadRepeatable,
    );
  } catch (error) {
    if (context.kind === 'last' || !isOfNamespace(error)) throw error;
    const namespace = namespaceText(task.pair.namespace);
    context.logger.warn({ namespace, reason: messageOf(error) }, 'comparing it again later');
    return { kind: 'failed' };
  }
}

/** True for errors that may come of changes to a namespace while it was read: they do not end a verification yet. */
function isOfNamespace(error: unknown): boolean {
  return error instanceof MongoServerError && codeOf(error) !== serverCode.unauthorized;
}

async function attemptTask(context: GenerationContext, task: Task): Promise<Outcome> {
  switch (task.kind) {
    case 'metadata':
      return { kind: 'metadata', differences: await compareMetadata(context, task.pair) };
    case 'collection':
      return await compareCollection(context, task.pair);
    case 'range':
      return { kind: 'documents', differences: await compareWhole(context, task.pair, task.range) };
    case 'ids': {
      const { namespace } = task.pair;
      const excuse = await excuseOf(context, task.pair);
      const differences = await compareIds(context, namespace, task.ids, excuse);
      return { kind: 'documents', differences };
    }
  }
}

async function compareMetadata(
  { source, destination, signal, kind, mayLackIndexes }: GenerationContext,
  pair: NamespacePair,
): Promise<MetadataDifference[]> {
  const [expected, actual] = await Promise.all([
    readState(source, pair.source, signal),
    readState(destination, pair.destination, signal),
  ]);
  const rules = { isReplicatedFormRight: kind !== 'last', mayLackIndexes };
  if (!actual?.placement?.shardKey) return metadataDifferences(expected, actual, rules);
  const shardIndexes = await readShardIndexes(destination, pair.namespace, actual.indexes, signal);
  return metadataDifferences(expected, { ...actual, shardIndexes }, rules);
}

async function readState(
  side: Side,
  info: NamespaceInfo | undefined,
  signal: AbortSignal,
): Promise<NamespaceState | undefined> {
  if (!info) return undefined;
  if (info.kind !== 'collection') return { info, indexes: [], placement: undefined };
  const { namespace } = info;
  const indexes = (await listIndexes(side.cluster, namespace, signal)) ?? [];
  const placement = side.isSharded ? await readPlacement(side, namespace, signal) : undefined;
  return { info, indexes, placement };
}

async function compareCollection(
  context: GenerationContext,
  pair: NamespacePair,
): Promise<Outcome> {
  const { source, signal, kind } = context;
  if (isCapped(pair)) {
    const differences = await compareWhole(context, pair, wholeRange);
    const isQuiet = kind === 'last' && differences.found.length === 0;
    const order = isQuiet ? await compareOrder(context, pair.namespace) : undefined;
    return {
      kind: 'documents',
      differences: order ? { found: [order], isOverflowing: false } : differences,
    };
  }
  const ranges = await splitRanges(source.cluster, pair.namespace, signal);
  const [only] = ranges;
  if (ranges.length === 1 && only) {
    return { kind: 'documents', differences: await compareWhole(context, pair, only) };
  }
  return { kind: 'split', tasks: ranges.map((range) => ({ kind: 'range', pair, range })) };
}

/**
 * Compares a range. What differs in the last pass is looked up once more by its `_id`: that needs no common order of the
 * two sides, which collections of different collations do not have.
 */
async function compareWhole(
  context: GenerationContext,
  pair: NamespacePair,
  range: IdRange,
): Promise<DocumentDifferences> {
  const { namespace } = pair;
  const excuse = await excuseOf(context, pair);
  const differences = await compareRange(context, namespace, range, excuse);
  const ids = new Set(differences.found.map(({ id }) => id));
  if (context.kind !== 'last' || differences.isOverflowing) return differences;
  if ([...ids].some((id) => idDocument(id) === undefined)) return differences;
  const found: DocumentDifference[] = [];
  let isOverflowing = false;
  for (const list of idLists(ids)) {
    const confirmed = await compareIds(context, namespace, list, excuse);
    found.push(...confirmed.found);
    isOverflowing ||= confirmed.isOverflowing;
  }
  return { found, isOverflowing };
}

/** Before the last pass nothing needs an excuse: what has expired on one side is looked at again. */
async function excuseOf(
  { kind, source, signal }: GenerationContext,
  pair: NamespacePair,
): Promise<Excuse | undefined> {
  const collection = sourceCollection(pair);
  if (kind !== 'last' || !collection) return undefined;
  const indexes = await listIndexes(source.cluster, pair.namespace, signal);
  return expiryExcuse(collection.options, indexes ?? []);
}

function noteMetadata(
  { status, report, kind, next }: GenerationContext,
  namespace: Namespace,
  differences: readonly MetadataDifference[],
): void {
  if (differences.length === 0) {
    status.completedTasks += 1;
    return;
  }
  status.failedTasks += 1;
  status.metadataMismatchTasks += 1;
  for (const difference of differences) {
    report(namespace, difference);
    if (kind === 'last') continue;
    switch (difference.kind) {
      case 'missingNamespace':
      case 'extraNamespace':
      case 'namespaceType':
        // Its documents were not compared.
        next.addWhole(namespace);
        break;
      case 'options':
      case 'missingIndex':
      case 'extraIndex':
      case 'differentIndex':
      case 'shardKey':
      case 'zone':
        next.addMetadata(namespace);
        break;
    }
  }
}

function noteDocuments(
  { status, report, kind, next }: GenerationContext,
  namespace: Namespace,
  { found, isOverflowing }: DocumentDifferences,
): void {
  if (found.length === 0 && !isOverflowing) {
    status.completedTasks += 1;
    return;
  }
  status.failedTasks += 1;
  for (const difference of found) {
    report(namespace, difference);
    if (kind === 'last') continue;
    next.addId(namespace, difference.id);
    if (difference.destinationId !== undefined) next.addId(namespace, difference.destinationId);
  }
  if (isOverflowing && kind !== 'last') next.addWhole(namespace);
}
