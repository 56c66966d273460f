import { isStoredUnchanged } from '../../mongo/altered-documents.ts';
import { hasNoOtherFields } from '../../mongo/document-key.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { longWorkMs } from '../../mongo/retry-warnings.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import type { Logger } from '../../service/logger.ts';
import type { Destination } from '../destination/destination.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { type DocumentChange, idsOf } from '../source/change-event.ts';
import type { Source } from '../source/source.ts';
import type { TrackedCollection } from '../store/records.ts';
import { ChangeWriter, type DocumentWrite, type WholeDocument } from './write-changes.ts';

/**
 * Applies changes to the destination. When `apply` resolves, a majority has them all.
 *
 * May be repeated over any later state of the documents: an inserted or replaced document is put as a whole, whatever is there;
 * a delete is a delete; an update is the oplog's own difference, which leads to the same document once the later ones follow it
 * again. An inserted document is sent as an insert, which costs the server a quarter of a replacement; if it is refused because
 * its `_id` is there already, as after a restart, it is put as a replacement.
 */
export class ChangeApplier {
  readonly #source: Source;
  readonly #destination: Destination;
  readonly #monitor: SyncMonitor;
  readonly #writer: ChangeWriter;
  /** Collections that refused most inserts lately: there they are sent as replacements immediately. */
  readonly #refusing = new Set<string>();

  constructor(source: Source, destination: Destination, monitor: SyncMonitor, logger: Logger) {
    this.#source = source;
    this.#destination = destination;
    this.#monitor = monitor;
    this.#writer = new ChangeWriter(source, destination, logger);
  }

  /** Applies changes of one collection, which are in order. */
  async apply(collection: TrackedCollection, changes: readonly DocumentChange[]): Promise<void> {
    const work = `apply to ${namespaceText(collection.namespace)}`;
    await this.#destination.step('apply', async () => {
      using warning = this.#monitor.retryWarnings.watch(work, 'waiting', longWorkMs);
      warning.set('the destination has not completed the operation');
      await this.#applyTo(collection, changes);
    });
    const counts = { insert: 0, replace: 0, update: 0, delete: 0 };
    for (const { kind } of changes) counts[kind]++;
    for (const [kind, count] of Object.entries(counts))
      if (count > 0) this.#monitor.addEvents(kind, count);
  }

  async #applyTo(collection: TrackedCollection, changes: readonly DocumentChange[]): Promise<void> {
    if (isTrue(collection.options['capped'])) {
      await this.#applyInOrder(collection, changes);
      return;
    }
    const isCollated = collection.options['collation'] !== undefined;
    const addressing = this.#source.kind.addressingOf(collection);
    for (const batch of coalesce(changes, { isCollated })) {
      const isSharded = addressing === 'byShardKey';
      const knownKey = this.#reliableKey(collection, isCollated);
      const { writes, deletes, withoutShardKey } = splitByShardKey(batch, { isSharded, knownKey });
      // No id is in two of them, so they may run side by side; under a collation one of the first two is empty.
      const results = await Promise.allSettled([
        addressing === 'onEveryShard'
          ? this.#writer.putOnEveryShard(collection, writes)
          : this.#write(collection, writes),
        this.#writer.put(collection, withoutShardKey),
        this.#destination.documents.deleteByKeys(
          collection,
          addressing,
          deletes.map(({ key }) => key),
        ),
      ]);
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    }
  }

  /**
   * The shard key that tells documents with the same `_id` apart where one of them could take the other's place; null for any. What else
   * events name was added to it during the sync. Under a collation none does: the destination may take two values for one.
   */
  #reliableKey(collection: TrackedCollection, isCollated: boolean): ShardKey | null {
    if (!this.#destination.kind.mergesShards(collection)) return null;
    return isCollated ? [] : collection.shardKey;
  }

  /** Inserts go first: coalescing has left out what comes before an insert of the same id. */
  async #write(collection: TrackedCollection, writes: readonly DocumentWrite[]): Promise<void> {
    const key = collection.uuid.toHexString(false);
    if (this.#refusing.has(key)) {
      const { insertCount, newCount } = await this.#writer.putOrUpdate(collection, writes);
      if (newCount * 2 > insertCount) this.#refusing.delete(key);
      return;
    }
    const inserts: WholeDocument[] = [];
    const others: DocumentWrite[] = [];
    for (const write of writes) {
      if (write.kind === 'insert' && isStoredUnchanged(write.document)) inserts.push(write);
      else others.push(write);
    }
    const refused = await this.#writer.insertNew(collection, inserts);
    if (refused.length * 2 > inserts.length) this.#refusing.add(key);
    await this.#writer.putOrUpdate(collection, [...refused, ...others]);
  }

  /** For a capped collection: one change after the other; an inserted document always goes to the end. */
  async #applyInOrder(
    collection: TrackedCollection,
    changes: readonly DocumentChange[],
  ): Promise<void> {
    let inserts: WholeDocument[] = [];
    const flush = async (): Promise<void> => {
      await this.#writer.replace(collection, inserts, { isInOrder: true });
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
      else if (change.kind === 'delete')
        await this.#destination.documents.delete(collection, idsOf([change]));
      else await this.#writer.putOrUpdate(collection, [change]);
    }
    await flush();
  }
}

/** Changes that can be sent as one update command, in order, and one delete command after it. */
export interface WriteBatch {
  readonly writes: readonly DocumentWrite[];
  readonly deletes: readonly Extract<DocumentChange, { readonly kind: 'delete' }>[];
}

/**
 * Shortens a sequence of changes without changing their result: a whole document or a delete makes all earlier changes of the
 * same id unnecessary. No id is in both parts of a batch, so their order does not matter. Two ids that are equal to the server
 * but differ in their bytes are never in one batch. Under a collation those ids are unknown; but the first of two such
 * documents is deleted before the second exists, so no batch has both parts then.
 */
export function coalesce(
  changes: readonly DocumentChange[],
  { isCollated = false }: { readonly isCollated?: boolean } = {},
): WriteBatch[] {
  const batches: WriteBatch[] = [];
  let perId = new Map<string, DocumentChange[]>();
  let exactOf = new Map<string, string>();
  let isDeleting = false;
  const close = (): void => {
    if (perId.size > 0) batches.push(batchOf(perId));
    perId = new Map();
    exactOf = new Map();
  };
  for (const change of changes) {
    const { exact, canonical } = change.key;
    const isDelete = change.kind === 'delete';
    // If they are equal, no other id has this canonical form.
    const mayDiffer = canonical !== exact;
    if (mayDiffer && (exactOf.get(canonical) ?? exact) !== exact) close();
    if (isCollated && isDelete !== isDeleting) close();
    isDeleting = isDelete;
    if (mayDiffer) exactOf.set(canonical, exact);
    const before = perId.get(exact);
    if (change.kind !== 'update' || before === undefined) perId.set(exact, [change]);
    // An update after the document's delete has nothing to change.
    else if (before.at(-1)?.kind !== 'delete') before.push(change);
  }
  close();
  return batches;
}

function batchOf(perId: ReadonlyMap<string, readonly DocumentChange[]>): WriteBatch {
  const all = [...perId.values()].flat();
  return {
    writes: all.filter((change) => change.kind !== 'delete'),
    deletes: all.filter((change) => change.kind === 'delete'),
  };
}

/** A batch in which some changes do not say which document of their `_id` they are about. */
interface SplitBatch extends WriteBatch {
  readonly withoutShardKey: readonly DocumentChange[];
}

/** What the events of a collection should say of its documents. */
interface ExpectedKeys {
  /** They name the shard key. */
  readonly isSharded: boolean;
  /** The only shard key that they name; null for any. */
  readonly knownKey: ShardKey | null;
}

/**
 * Takes out the changes whose events do not say which document they are about. One reason is that they omit the shard key of a
 * sharded collection. Either the document has none of its fields, or
 * the shard did not know the collection's placement at that moment, for example when a chunk had just arrived or left (seen on
 * 6.0.5: an update that changed the shard key, while chunks were moved). The event does not say which, so the document cannot
 * be looked up by its shard key. The other reason is a shard key that was refined: by the known one, the document may be another
 * one of its `_id`.
 */
export function splitByShardKey(
  { writes, deletes }: WriteBatch,
  { isSharded, knownKey }: ExpectedKeys,
): SplitBatch {
  const isPlaced = ({ key: { placed } }: DocumentChange): boolean =>
    placed === undefined ? !isSharded : knownKey === null || hasNoOtherFields(placed, knownKey);
  return {
    writes: writes.filter(isPlaced),
    deletes: deletes.filter(isPlaced),
    withoutShardKey: [...writes, ...deletes].filter((change) => !isPlaced(change)),
  };
}
