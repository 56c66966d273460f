import { createHmac, randomBytes } from 'node:crypto';
import {
  asBuffer,
  elementsOf,
  stringValue,
  type RawDocument,
  type RawElement,
} from '../../mongo/raw-bson.ts';
import type { Logger } from '../../service/logger.ts';
import type { ChangeEvent } from '../source/change-event.ts';

/** Drawn by each process, so that nobody can find an `_id` by guessing. */
const salt = randomBytes(16);

/**
 * Logs a change event at debug: its kind, namespace and time. An `_id` is user data, like everything else in a document, so it
 * is logged as a hash, which stays the same for a document as long as the process lives.
 */
export function logEvent(logger: Logger, raw: RawDocument, event: ChangeEvent): void {
  const fields = new Map(elementsOf(raw).map((element) => [element.name, element]));
  const kind = fields.get('operationType');
  const [namespace, to] = [fields.get('ns'), fields.get('to')];
  const time = fields.get('clusterTime');
  logger.debug(
    {
      kind: kind && stringValue(kind),
      namespace: namespace && namespaceOf(namespace),
      to: to && namespaceOf(to),
      time: time && timeOf(time),
      ...(event.type === 'document' && { idHash: hashOf(event.change.key.exact) }),
    },
    'event',
  );
}

/** `db.coll`, or only the database. */
function namespaceOf({ bytes, offset }: RawElement): string {
  return elementsOf(bytes, offset).map(stringValue).join('.');
}

/** `seconds:increment` of a timestamp, which is stored the other way round. */
function timeOf({ bytes, offset }: RawElement): string {
  const buffer = asBuffer(bytes);
  return `${buffer.readUInt32LE(offset + 4)}:${buffer.readUInt32LE(offset)}`;
}

function hashOf(id: string): string {
  return createHmac('sha256', salt).update(id).digest('hex').slice(0, 12);
}
