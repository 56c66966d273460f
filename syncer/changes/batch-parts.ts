import { ElementPicker } from '../../mongo/element-scan.ts';
import { valueBytes, type RawDocument } from '../../mongo/raw-bson.ts';
import { parseChangeEvent, type CatalogEvent, type DocumentEvent } from './change-event.ts';
import type { ChangeBatch } from './change-reader.ts';

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

/** A copy, as the rest of the event is not kept with it. */
function tokenOf(event: RawDocument): RawDocument {
  const { _id } = tokenField.pick(event);
  if (_id === undefined) throw new Error('a change event without a resume token');
  return Uint8Array.from(valueBytes(_id));
}
