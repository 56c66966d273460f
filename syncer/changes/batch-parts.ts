import type { Timestamp } from 'mongodb';
import { isAtMost } from '../../mongo/cluster-time.ts';
import { ElementPicker } from '../../mongo/element-scan.ts';
import { valueBytes, type RawDocument } from '../../mongo/raw-bson.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { parseChangeEvent, type CatalogEvent, type DocumentEvent } from '../source/change-event.ts';
import type { ChangeBatch } from '../source/change-reader.ts';

/** A change of a document, and the event that tells of it. */
export interface ReadChange {
  readonly raw: RawDocument;
  readonly event: DocumentEvent;
}

/** Changes of documents that follow each other, or one change of the catalog. */
export interface BatchPart {
  readonly changes: readonly ReadChange[];
  readonly catalogEvent: { readonly raw: RawDocument; readonly event: CatalogEvent } | undefined;
  /** Memory that they hold. */
  readonly bytes: number;
  /** Covers them, and all that is before them. */
  readonly token: RawDocument;
}

const tokenField = new ElementPicker(['_id']);
const timeField = new ElementPicker(['clusterTime']);

/** Takes a batch of the change stream apart at the changes of the catalog. The last part has the token of the batch. */
export function partsOf({ events, bytes, token }: ChangeBatch): BatchPart[] {
  const parts: BatchPart[] = [];
  let changes: ReadChange[] = [];
  let changeBytes = 0;
  let restBytes = bytes;
  for (const raw of events) {
    const event = parseChangeEvent(raw);
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
export function changesBefore(batch: ChangeBatch, time: Timestamp): ChangeBatch {
  const last = batch.events.findLastIndex((event) => !isAtMost(time, timeOf(event)));
  return { ...batch, events: batch.events.slice(0, last + 1) };
}

function timeOf(event: RawDocument): Timestamp {
  const { clusterTime } = timeField.pick(event);
  if (clusterTime === undefined) throw new Error('a change event without a cluster time');
  return decodeElement(clusterTime) as Timestamp;
}

/** A copy, as the rest of the event is not kept with it. */
function tokenOf(event: RawDocument): RawDocument {
  const { _id } = tokenField.pick(event);
  if (_id === undefined) throw new Error('a change event without a resume token');
  return Uint8Array.from(valueBytes(_id));
}
