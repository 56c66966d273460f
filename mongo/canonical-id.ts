import { Decimal128 } from 'mongodb';
import {
  asBuffer,
  bsonType,
  elementsOf,
  stringValue,
  valueBytes,
  type RawElement,
} from './raw-bson.ts';

/** A text of a value's BSON type and bytes: the same only for the same bytes. */
export function exactKey(
  element: Pick<RawElement, 'type' | 'bytes' | 'offset' | 'length'>,
): string {
  const value = valueBytes({ ...element, name: '' });
  return `${element.type}:${asBuffer(value).toString('latin1')}`;
}

/**
 * A text that is the same for all values that are equal keys to the server under the simple collation: 1, 1.0, NumberLong(1)
 * and NumberDecimal("1.00"); 0.0 and -0.0; every NaN; a string and a symbol of the same text. Two values with the same text may
 * still be different keys (it is meant for routing), but never the other way round.
 */
export function canonicalKey(
  element: Pick<RawElement, 'type' | 'bytes' | 'offset' | 'length'>,
): string {
  switch (element.type) {
    case bsonType.double:
    case bsonType.int32:
    case bsonType.int64:
    case bsonType.decimal128:
      return `n${canonicalNumber(element)}`;
    case bsonType.string:
    case bsonType.symbol:
      return `s${stringValue({ ...element, name: '' })}`;
    case bsonType.document:
      return `o${canonicalElements(element)}`;
    case bsonType.array:
      return `a${canonicalElements(element, true)}`;
    case bsonType.codeWithScope:
      return canonicalCode(element);
    case bsonType.null:
    case bsonType.undefined:
      return 'z';
    default:
      return exactKey(element);
  }
}

/** int32 size, the code as a string, the scope as a document. */
function canonicalCode({ bytes, offset }: Pick<RawElement, 'bytes' | 'offset'>): string {
  const buffer = asBuffer(bytes);
  const codeEnd = offset + 8 + buffer.readInt32LE(offset + 4);
  const code = buffer.toString('utf8', offset + 8, codeEnd - 1);
  return `c${code.length}:${code}${canonicalElements({ bytes, offset: codeEnd })}`;
}

/** @param isArray - the server's keys do not have the names of the elements of an array (fingerprints.integration.ts). */
function canonicalElements(
  { bytes, offset }: Pick<RawElement, 'bytes' | 'offset'>,
  isArray = false,
): string {
  const parts = elementsOf(bytes, offset).map((element) => {
    const key = canonicalKey(element);
    const name = isArray ? '' : element.name;
    return `${name.length}:${name}${key.length}:${key}`;
  });
  return parts.join('');
}

/**
 * The nearest double as text. Equal numbers of any type have the same nearest double; different ones may share it.
 */
function canonicalNumber({
  type,
  bytes,
  offset,
}: Pick<RawElement, 'type' | 'bytes' | 'offset'>): string {
  const buffer = asBuffer(bytes);
  switch (type) {
    case bsonType.double:
      return String(buffer.readDoubleLE(offset) + 0);
    case bsonType.int32:
      return String(buffer.readInt32LE(offset));
    case bsonType.int64:
      return String(Number(buffer.readBigInt64LE(offset)));
    default:
      return String(
        Number(new Decimal128(Uint8Array.from(bytes.subarray(offset, offset + 16))).toString()) + 0,
      );
  }
}

/** A 32-bit hash (FNV-1a) of a text, for choosing an instance. */
export function hashText(text: string): number {
  let hash = 2166136261;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 16777619);
  }
  return hash >>> 0;
}
