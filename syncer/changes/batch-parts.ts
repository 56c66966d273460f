import type { Timestamp } from 'mongodb';
import { isAtMost } from '../../mongo/cluster-time.ts';
import { ElementPicker } from '../../mongo/element-scan.ts';
import { hasNoOtherFields } from '../../mongo/document-key.ts';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { documentValue, type RawDocument } from '../../mongo/raw-bson.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import {
  type CatalogEvent,
  type DocumentChange,
  type DocumentEvent,
  eventTime,
  parseChangeEvent,
} from '../source/change-event.ts';
import type { ChangeBatch } from '../source/change-reader.ts';

/** A change of a document, and its event. */
export interface ReadChange {
  readonly raw: RawDocument;
  readonly event: DocumentEvent;
}

/** A change of the catalog, and its event. */
export interface ReadCatalogEvent {
  readonly raw: RawDocument;
  readonly event: CatalogEvent;
}

/** Successive changes of documents, or one change of the catalog. */
export interface BatchPart {
  readonly changes: readonly ReadChange[];
  readonly catalogEvent: ReadCatalogEvent | undefined;
  /** The memory that they hold. */
  readonly bytes: number;
  /** Covers them, and everything before them. */
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
 * Reads the events of a batch, before any of them is used.
 * @throws MalformedAnswer if one lacks what its kind must have.
 */
export function readBatch({ events, bytes, token }: ChangeBatch): ReadBatch {
  return { events: events.map(readEvent), bytes, token };
}

function readEvent(raw: RawDocument): ReadChange | ReadCatalogEvent {
  const event = parseChangeEvent(raw);
  return event.type === 'document' ? { raw, event } : { raw, event };
}

/** Splits a batch of the change stream at the changes of the catalog. The last part has the token of the batch. */
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

/** A batch with only the events before a time. Events come in the order of their times. */
export function changesBefore(batch: ReadBatch, time: Timestamp): ReadBatch {
  const last = batch.events.findLastIndex(({ raw }) => !isAtMost(time, timeOf(raw)));
  return { ...batch, events: batch.events.slice(0, last + 1) };
}

function timeOf(event: RawDocument): Timestamp {
  return eventTime(timeField.pick(event).clusterTime);
}

/** A copy, so as not to keep the rest of the event in memory. */
function tokenOf(event: RawDocument): RawDocument {
  const { _id } = tokenField.pick(event);
  if (_id === undefined) throw new MalformedAnswer('a change event without a resume token');
  return Uint8Array.from(documentValue(_id));
}

/** A change that leaves a document. */
export type DocumentWrite = Exclude<DocumentChange, { readonly kind: 'delete' }>;

/** A change that includes the whole document. */
export type WholeDocument = Exclude<DocumentWrite, { readonly kind: 'update' }>;

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
export interface SplitBatch extends WriteBatch {
  readonly withoutShardKey: readonly DocumentChange[];
}

/** What the events of a collection should say of its documents. */
export interface ExpectedKeys {
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
