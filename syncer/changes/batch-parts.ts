import type { Timestamp } from 'mongodb';
import { isAtMost } from '../../mongo/cluster-time.ts';
import { ElementPicker } from '../../mongo/element-scan.ts';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { documentValue, type RawDocument } from '../../mongo/raw-bson.ts';
import {
  type CatalogEvent,
  type DocumentChange,
  type DocumentEvent,
  eventTime,
  parseChangeEvent,
} from '../source/change-event.ts';
import type { ChangeBatch } from '../source/change-reader.ts';

/** A change of a document, and the event that tells of it. */
export interface ReadChange {
  readonly raw: RawDocument;
  readonly event: DocumentEvent;
}

/** A change of the catalog, and the event that tells of it. */
export interface ReadCatalogEvent {
  readonly raw: RawDocument;
  readonly event: CatalogEvent;
}

/** Changes of documents that follow each other, or one change of the catalog. */
export interface BatchPart {
  readonly changes: readonly ReadChange[];
  readonly catalogEvent: ReadCatalogEvent | undefined;
  /** Memory that they hold. */
  readonly bytes: number;
  /** Covers them, and all that is before them. */
  readonly token: RawDocument;
}

const tokenField = new ElementPicker(['_id']);
const timeField = new ElementPicker(['clusterTime']);

/** A batch whose events have been read, each once. */
export interface ReadBatch {
  readonly events: readonly (ReadChange | ReadCatalogEvent)[];
  readonly bytes: number;
  readonly token: RawDocument;
}

/**
 * Reads the events of a batch, before anything is made of any of them.
 * @throws MalformedAnswer where one lacks what its kind has.
 */
export function readBatch({ events, bytes, token }: ChangeBatch): ReadBatch {
  return { events: events.map(readEvent), bytes, token };
}

function readEvent(raw: RawDocument): ReadChange | ReadCatalogEvent {
  const event = parseChangeEvent(raw);
  return event.type === 'document' ? { raw, event } : { raw, event };
}

/** Takes a batch of the change stream apart at the changes of the catalog. The last part has the token of the batch. */
export function partsOf({ events, bytes, token }: ReadBatch): BatchPart[] {
  const parts: BatchPart[] = [];
  let changes: ReadChange[] = [];
  let changeBytes = 0;
  let restBytes = bytes;
  for (const { raw, event } of events) {
    if (event.type === 'document') {
      changes.push({ raw, event });
      changeBytes += raw.length;
      continue;
    }
    const last = changes.at(-1);
    if (last)
      parts.push({
        changes,
        catalogEvent: undefined,
        bytes: changeBytes,
        token: tokenOf(last.raw),
      });
    const catalogEvent = { raw, event };
    parts.push({ changes: [], catalogEvent, bytes: raw.length, token: tokenOf(raw) });
    restBytes -= changeBytes + raw.length;
    changes = [];
    changeBytes = 0;
  }
  parts.push({ changes, catalogEvent: undefined, bytes: restBytes, token });
  return parts;
}

/** A batch without the events that are not before a time. Events come in the order of their times. */
export function changesBefore(batch: ReadBatch, time: Timestamp): ReadBatch {
  const last = batch.events.findLastIndex(({ raw }) => !isAtMost(time, timeOf(raw)));
  return { ...batch, events: batch.events.slice(0, last + 1) };
}

function timeOf(event: RawDocument): Timestamp {
  return eventTime(timeField.pick(event).clusterTime);
}

/** A copy, as the rest of the event is not kept with it. */
function tokenOf(event: RawDocument): RawDocument {
  const { _id } = tokenField.pick(event);
  if (_id === undefined) throw new MalformedAnswer('a change event without a resume token');
  return Uint8Array.from(documentValue(_id));
}

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
