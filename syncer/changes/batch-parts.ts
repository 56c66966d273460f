import type { Timestamp } from 'mongodb';
import { isAtMost } from '../../mongo/cluster-time.ts';
import { ElementPicker } from '../../mongo/element-scan.ts';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { documentValue, type RawDocument } from '../../mongo/raw-bson.ts';
import {
  type CatalogEvent,
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
  parts.push({ changes, catalogEvent: undefined, bytes: restBytes, token: ownBytes(token) });
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

function tokenOf(event: RawDocument): RawDocument {
  const { _id } = tokenField.pick(event);
  if (_id === undefined) throw new MalformedAnswer('a change event without a resume token');
  return ownBytes(documentValue(_id));
}

/** A copy, so as not to keep the events beside it in memory. */
function ownBytes(token: RawDocument): RawDocument {
  return Uint8Array.from(token);
}
