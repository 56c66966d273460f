import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { Logger } from '../../service/logger.ts';
import { keyOfBytes, type IdKey } from '../compare/id-key.ts';
import {
  isCapped,
  isCollectionPair,
  readNamespacePairs,
  type CatalogContext,
  type NamespacePair,
} from '../compare/namespace-pairs.ts';
import type { Amount } from '../compare/sides.ts';
import { collectionAmount } from '../compare/split-ranges.ts';
import { bundles } from '../store/recheck-store.ts';
import type { PassKind, PlanKey, Recheck, Task, TaskWork } from '../store/records.ts';
import type { Stores } from '../store/stores.ts';
import { isChangeNote, NotesOnRecord, type ExpectedNotes } from './notes.ts';

/** What planning needs. */
export interface PlanContext extends RetryContext {
  readonly logger: Logger;
  readonly catalog: CatalogContext;
  readonly stores: Pick<Stores, 'tasks' | 'rechecks'>;
}

/** A pass to be planned. */
export interface Plan extends PassScope {
  readonly key: PlanKey;
  /** The rechecks that must be on record. */
  readonly notes: readonly ExpectedNotes[];
}

/** How many collections are asked for their sizes concurrently. */
const sizesAtOnce = 8;

const nothing: Amount = { documents: 0, bytes: 0 };

/**
 * Stores all tasks of a pass. Nobody claims any of them before the pass itself is on record, so that this can be repeated from
 * the beginning. @returns how many there are.
 * @throws SyncError CheckFailed if not everything that is to be compared again is on record.
 */
export async function planPass(context: PlanContext, plan: Plan): Promise<number> {
  return await retrying(context, 'plan', async () => await attempt(context, plan));
}

async function attempt(context: PlanContext, plan: Plan): Promise<number> {
  const { stores, catalog } = context;
  const { tasks, rechecks } = stores;
  const { key } = plan;
  await tasks.drop(key);
  const onRecord = new NotesOnRecord(plan.notes);
  const pending = await readPending(onRecord.counting(rechecks.all(key.run)));
  onRecord.requireAll();
  const pairs = await readNamespacePairs(catalog, databasesOf(plan, pending));
  const planned = [...planTasks(plan, pending, pairs)];
  const metadata = planned.filter(({ work }) => work.kind === 'metadata');
  const collections = planned.filter(({ work }) => work.kind === 'collection');
  await tasks.add(
    key,
    metadata.map((each) => taskOf(each, nothing)),
    1,
  );
  const sized: Task[] = [];
  await forEachConcurrently(collections, sizesAtOnce, async (each) => {
    const { namespace } = each.pair;
    sized.push(taskOf(each, await collectionAmount(catalog.source, namespace, catalog.signal)));
  });
  // The largest first: splitting them keeps all processes busy to the end.
  sized.sort((one, other) => other.expected.bytes - one.expected.bytes);
  await tasks.add(key, sized, 0);
  return metadata.length + sized.length + (await addIdTasks(stores, plan, pending, pairs));
}

function taskOf({ pair, work }: PlannedTask, expected: Amount): Task {
  return { namespace: pair.namespace, work, expected };
}

/**
 * Stores the tasks of single ids of a pass. Reads the rechecks once more: together they may need more memory than there is.
 * @returns how many there are.
 * @throws SyncError CheckFailed if not everything that is to be compared again is still on record.
 */
export async function addIdTasks(
  { tasks, rechecks }: PlanContext['stores'],
  plan: Plan,
  pending: Pending,
  pairs: ReadonlyMap<string, NamespacePair>,
): Promise<number> {
  const { key } = plan;
  let count = 0;
  let waiting: Task[] = [];
  const onRecord = new NotesOnRecord(plan.notes);
  const noted = onRecord.counting(rechecks.all(key.run));
  for await (const { namespace, ids, isChanged } of planIdTasks(plan, pending, pairs, noted)) {
    const expected = { documents: ids.length, bytes: 0 };
    waiting.push({ namespace, work: { kind: 'ids', ids, isChanged }, expected });
    if (waiting.length < 20) continue;
    await tasks.add(key, waiting, 2);
    count += waiting.length;
    waiting = [];
  }
  await tasks.add(key, waiting, 2);
  onRecord.requireAll();
  return count + waiting.length;
}

/** What is to be compared again in one namespace, in addition to the documents of single ids. */
export interface PendingNamespace {
  readonly namespace: Namespace;
  isMetadata: boolean;
  isWhole: boolean;
}

/** What is to be compared again, without the ids. */
export interface Pending {
  /** By name. */
  readonly namespaces: ReadonlyMap<string, PendingNamespace>;
  readonly databases: ReadonlySet<string>;
}

/** What a pass compares. */
export interface PassScope {
  readonly kind: PassKind;
  /** True if everything is compared, regardless of what is pending. */
  readonly isOfAll: boolean;
}

/** A task of a pass whose ids are not known yet. */
export interface PlannedTask {
  readonly pair: NamespacePair;
  readonly work: TaskWork & { readonly kind: 'metadata' | 'collection' };
}

/** Summarizes what is pending. Needs memory in proportion to the number of namespaces. */
export async function readPending(rechecks: AsyncIterable<Recheck>): Promise<Pending> {
  const namespaces = new Map<string, PendingNamespace>();
  const databases = new Set<string>();
  for await (const recheck of rechecks) {
    if (recheck.kind === 'database') {
      databases.add(recheck.db);
      continue;
    }
    const { namespace, kind } = recheck;
    const name = namespaceText(namespace);
    const entry = namespaces.get(name) ?? { namespace, isMetadata: false, isWhole: false };
    namespaces.set(name, entry);
    if (kind === 'metadata') entry.isMetadata = true;
    else if (kind === 'whole') entry.isWhole = true;
  }
  return { namespaces, databases };
}

/** The databases whose catalogs a pass must read. */
export function databasesOf(
  { kind, isOfAll }: PassScope,
  pending: Pending,
): ReadonlySet<string> | 'all' {
  if (kind !== 'recheck' || isOfAll) return 'all';
  return new Set([
    ...pending.databases,
    ...Array.from(pending.namespaces.values(), ({ namespace }) => namespace.db),
  ]);
}

/** The tasks of a pass except those of single ids. */
export function* planTasks(
  scope: PassScope,
  pending: Pending,
  pairs: ReadonlyMap<string, NamespacePair>,
): Generator<PlannedTask, void> {
  for (const pair of pairs.values()) {
    const check = pending.namespaces.get(namespaceText(pair.namespace));
    const isWhole = isComparedWhole(scope, pending, pair);
    const isPair = isCollectionPair(pair);
    const isTouched = check !== undefined || isWhole;
    const isMetadata = isWhole || check?.isMetadata === true || (isTouched && !isPair);
    if (isMetadata || scope.kind === 'last') yield { pair, work: { kind: 'metadata' } };
    if (isPair && (isWhole || hasOrder(scope, pair))) yield { pair, work: { kind: 'collection' } };
  }
}

/** The ids of one task, and whether their documents have changed. */
type PlannedIds = Recheck & { readonly kind: 'ids'; readonly isChanged: boolean };

/**
 * The tasks of single ids, from rechecks in the order of namespaces. Ids that were noted more than once are compared once,
 * unless there are very many: as changed ones, if one of the notes is of a change.
 * @param maxLength - characters of ids that are held at a time.
 */
export async function* planIdTasks(
  scope: PassScope,
  pending: Pending,
  pairs: ReadonlyMap<string, NamespacePair>,
  rechecks: AsyncIterable<Recheck & { readonly note: string }>,
  maxLength = 16 * 1024 * 1024,
): AsyncGenerator<PlannedIds, void> {
  let current: NamespacePair | undefined;
  /** Whether each has changed. */
  let ids = new Map<IdKey, boolean>();
  let length = 0;
  const take = function* (): Generator<PlannedIds, void> {
    if (!current) return;
    for (const isChanged of [false, true]) {
      const keys = [...ids].flatMap(([key, hasChanged]) => (hasChanged === isChanged ? [key] : []));
      for (const bundle of bundles(current.namespace, keys.sort())) yield { ...bundle, isChanged };
    }
    ids = new Map();
    length = 0;
  };
  for await (const recheck of rechecks) {
    if (recheck.kind !== 'ids') continue;
    const pair = pairs.get(namespaceText(recheck.namespace));
    const isOfIds =
      pair &&
      isCollectionPair(pair) &&
      !isComparedWhole(scope, pending, pair) &&
      !hasOrder(scope, pair);
    if (!isOfIds) continue;
    if (pair !== current || length > maxLength) yield* take();
    current = pair;
    const isOfChange = isChangeNote(recheck.note);
    for (const id of recheck.ids) {
      const key = keyOfBytes(id.buffer);
      ids.set(key, isOfChange || ids.get(key) === true);
      length += key.length;
    }
  }
  yield* take();
}

function isComparedWhole(
  { kind, isOfAll }: PassScope,
  pending: Pending,
  { namespace }: NamespacePair,
): boolean {
  return (
    kind === 'first' ||
    isOfAll ||
    pending.namespaces.get(namespaceText(namespace))?.isWhole === true ||
    pending.databases.has(namespace.db)
  );
}

/** True if the natural order is compared, which requires comparing all documents. */
function hasOrder({ kind }: PassScope, pair: NamespacePair): boolean {
  return kind === 'last' && isCapped(pair);
}
