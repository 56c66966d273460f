import { isTakenLiterally } from '../../mongo/literal-documents.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { longWorkMs } from '../../mongo/troubles.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import type { RoutedChange } from './change-router.ts';
import { coalesce, type DocumentWrite, type WholeDocument, withoutUnplaced } from './coalesce.ts';
import { insertNew, putOrUpdate, putScattered } from './write-changes.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { insertDeleted, putAsTheyAre } from '../copy/put-as-they-are.ts';
import { deleteByKeys, deleteDocuments } from '../destination/delete-documents.ts';
import { retryingWrites } from '../destination/earlier-writes.ts';
import { type DocumentChange, idsOf } from '../source/change-event.ts';
import { isScattered, type TrackedCollection } from '../store/records.ts';

/** Collections of one lane that are written to side by side. */
const maxCollections = 4;

/**
 * Applies changes to the destination. When `apply` resolves, a majority has them all.
 *
 * May be repeated over any later state of the documents: an inserted or replaced document is put as a whole, whatever
 * stands there; a delete is a delete; an update is the oplog's own difference, which leads to the same document when the
 * later ones follow it again. An inserted document goes out as an insert, which costs the server a quarter of a
 * replacement; the one that is refused because its `_id` is there already, as after a restart, is put as a replacement.
 */
export class ChangeApplier {
  readonly #context: SyncContext;
  /** Collections where most inserts were refused lately: there they go out as replacements at once. */
  readonly #refusing = new Set<string>();

  constructor(context: SyncContext) {
    this.#context = context;
  }

  /** Applies changes of one lane, which are in order. */
  async apply(changes: readonly RoutedChange[]): Promise<void> {
    const lists = new Map<TrackedCollection, DocumentChange[]>();
    for (const { collection, change } of changes) {
      const list = lists.get(collection);
      if (list) list.push(change);
      else lists.set(collection, [change]);
    }
    await forEachConcurrently(lists, maxCollections, async ([collection, list]) => {
      const work = `apply to ${namespaceText(collection.namespace)}`;
      await retryingWrites(this.#context, 'apply', async () => {
        using trouble = this.#context.monitor.troubles.watch(work, 'waiting', longWorkMs);
        trouble.set('the destination has not ended what was sent');
        await this.#applyTo(collection, list);
      });
      const counts = { insert: 0, replace: 0, update: 0, delete: 0 };
      for (const { kind } of list) counts[kind]++;
      for (const [kind, count] of Object.entries(counts))
        if (count > 0) this.#context.monitor.addEvents(kind, count);
    });
  }

  async #applyTo(collection: TrackedCollection, changes: readonly DocumentChange[]): Promise<void> {
    if (isTrue(collection.options['capped'])) {
      await applyInOrder(this.#context, collection, changes);
      return;
    }
    const isCollated = collection.options['collation'] !== undefined;
    const isPlaced = this.#context.source.isSharded && isScattered(collection);
    for (const batch of coalesce(changes, { isCollated })) {
      const { writes, deletes, unplaced } = isPlaced
        ? withoutUnplaced(batch)
        : { ...batch, unplaced: [] };
      // No id is in two of them, so that they may go side by side; under a collation one of the first two is empty.
      const results = await Promise.allSettled([
        this.#write(collection, writes),
        putAsTheyAre(this.#context, collection, unplaced),
        deleteByKeys(
          this.#context,
          collection,
          deletes.map(({ key }) => key),
        ),
      ]);
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    }
  }

  /** Inserts go first: what is before an insert of the same id has been left out by coalescing. */
  async #write(collection: TrackedCollection, writes: readonly DocumentWrite[]): Promise<void> {
    const isOnShards = this.#context.source.isSharded;
    if (isScattered(collection) && !isOnShards) {
      await putScattered(this.#context, collection, writes);
      return;
    }
    const key = collection.uuid.toHexString(false);
    if (this.#refusing.has(key)) {
      const { insertCount, newCount } = await putOrUpdate(this.#context, collection, writes);
      if (newCount * 2 > insertCount) this.#refusing.delete(key);
      return;
    }
    const inserts: WholeDocument[] = [];
    const others: DocumentWrite[] = [];
    for (const write of writes) {
      if (write.kind === 'insert' && isTakenLiterally(write.document)) inserts.push(write);
      else others.push(write);
    }
    const refused = await insertNew(this.#context, collection, inserts);
    if (refused.length * 2 > inserts.length) this.#refusing.add(key);
    await putOrUpdate(this.#context, collection, [...refused, ...others]);
  }
}

/** A capped collection: one change after the other; an inserted document always goes to the end. */
async function applyInOrder(
  context: SyncContext,
  collection: TrackedCollection,
  changes: readonly DocumentChange[],
): Promise<void> {
  let inserts: WholeDocument[] = [];
  const flush = async (): Promise<void> => {
    if (inserts.length === 0) return;
    await deleteDocuments(context, collection, idsOf(inserts));
    await insertDeleted(
      context,
      collection,
      inserts.map(({ document }) => document),
      { isInOrder: true },
    );
    inserts = [];
  };
  for (const change of changes) {
    if (
      change.kind === 'insert' &&
      !inserts.some(({ key }) => key.canonical === change.key.canonical)
    ) {
      inserts.push(change);
      continue;
    }
    await flush();
    if (change.kind === 'insert') inserts.push(change);
    else if (change.kind === 'delete') await deleteDocuments(context, collection, idsOf([change]));
    else await putOrUpdate(context, collection, [change]);
  }
  await flush();
}
