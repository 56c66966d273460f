import { BSON } from 'mongodb';
import { asBuffer, bsonType, type RawDocument } from './raw-bson.ts';

/** What stands in the bytes wherever a field has a value of eight zero bytes: the end of its name, and the value. */
const zeroValue = Buffer.alloc(9);

/**
 * True for a document with Timestamp(0, 0) in a field right at its top, other than `_id`. A server that inserts such a
 * document, or takes it as a replacement, puts its own time there; by a pipeline it does not (seen on 6.0.5).
 */
export function hasZeroTimestamp(document: RawDocument): boolean {
  const bytes = asBuffer(document);
  if (!bytes.includes(zeroValue)) return false;
  for (const [type, nameOffset, nameLength, offset] of BSON.onDemand.parseToElements(bytes)) {
    if (type !== bsonType.timestamp || bytes.readBigUInt64LE(offset) !== 0n) continue;
    if (bytes.toString('latin1', nameOffset, nameOffset + nameLength) !== '_id') return true;
  }
  return false;
}
