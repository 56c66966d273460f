import type { DocumentChange } from '../source/change-event.ts';

/** A change that leaves a document. */
export type DocumentWrite = Exclude<DocumentChange, { readonly kind: 'delete' }>;

/** A change that has the whole document. */
export type WholeDocument = Exclude<DocumentWrite, { readonly kind: 'update' }>;

/** Changes that can be sent as one update command, in order, and one delete command after it. */
export interface WriteBatch {
  readonly writes: readonly DocumentWrite[];
  readonly deletes: readonly Extract<DocumentChange, { readonly kind: 'delete' }>[];
}

/**
 * Shortens a sequence of changes without changing what they lead to: a whole document or a delete makes all that came
 * before for the same id unnecessary. No id stands in both parts of a batch, so that their order does not matter; two
 * ids that the server takes for the same but that differ in their bytes never stand in one batch. Under a collation it
 * is not known which ids those are: between two that are there one after the other is a delete, so that no batch has
 * both parts then.
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
    // Where they are the same, no other id has this canonical form.
    const mayDiffer = canonical !== exact;
    if (mayDiffer && (exactOf.get(canonical) ?? exact) !== exact) close();
    if (isCollated && isDelete !== isDeleting) close();
    isDeleting = isDelete;
    if (mayDiffer) exactOf.set(canonical, exact);
    const before = perId.get(exact);
    if (change.kind !== 'update' || before === undefined) perId.set(exact, [change]);
    // An update of a document that was deleted before it has nothing to change.
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

/** A batch of which some changes do not tell which document of their `_id` they are of. */
export interface SplitBatch extends WriteBatch {
  readonly withoutShardKey: readonly DocumentChange[];
}

/**
 * Takes out the changes of a sharded collection whose events leave out the shard key. The document has none of its fields;
 * or the shard did not know the collection's placement at that moment, as when a chunk has just come to it or left it (seen
 * on 6.0.5: an update that changed the shard key, while chunks were moved). Which of the two it is the event does not say,
 * so that the document cannot be looked for by its shard key.
 */
export function splitByShardKey({ writes, deletes }: WriteBatch): SplitBatch {
  const isPlaced = ({ key }: DocumentChange): boolean => key.placed !== undefined;
  return {
    writes: writes.filter(isPlaced),
    deletes: deletes.filter(isPlaced),
    withoutShardKey: [...writes, ...deletes].filter((change) => !isPlaced(change)),
  };
}
