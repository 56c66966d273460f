import { valueEnd } from './element-scan.ts';
import { asBuffer, bsonType, type RawArray, type RawDocument } from './raw-bson.ts';

const dollar = 0x24;

/**
 * True for a document with Timestamp(0, 0) in a top-level field other than `_id`. A server that inserts such a document, or
 * uses it as a replacement, puts its own time there; in a pipeline it does not (seen on 6.0.5).
 */
export function hasZeroTimestamp(document: RawDocument): boolean {
  return hasAtTop(document, 0, isZeroTimestamp);
}

/** How many documents an array has, their bytes, and which of them have a zero timestamp (see above). */
export function findZeroTimestamps(array: RawArray): {
  readonly count: number;
  readonly totalBytes: number;
  readonly found: readonly RawDocument[];
} {
  const bytes = asBuffer(array);
  const found: RawDocument[] = [];
  let count = 0;
  let totalBytes = 0;
  // Each element: type, a number as its name, the document.
  for (let at = 4; bytes[at] !== 0; count++) {
    while (bytes[++at] !== 0);
    const start = ++at;
    const length = bytes.readInt32LE(start);
    at += length;
    totalBytes += length;
    if (hasAtTop(bytes, start, isZeroTimestamp)) found.push(bytes.subarray(start, at));
  }
  return { count, totalBytes, found };
}

/**
 * True if an insert, or a replacement, stores a document unchanged. Field names that begin with a dollar make a replacement an
 * update, and a zero timestamp is replaced.
 */
export function isStoredUnchanged(document: RawDocument): boolean {
  return !hasAtTop(
    document,
    0,
    (bytes, type, name, value) =>
      bytes[name] === dollar || isZeroTimestamp(bytes, type, name, value),
  );
}

/** Tests an element by its type, and by where its name and its value begin. */
type ElementTest = (bytes: Uint8Array, type: number, name: number, value: number) => boolean;

function hasAtTop(bytes: Uint8Array, start: number, test: ElementTest): boolean {
  let at = start + 4;
  for (let type = bytes[at] ?? 0; type !== 0; type = bytes[at] ?? 0) {
    const name = at + 1;
    at = name;
    while (at < bytes.length && bytes[at] !== 0) at++;
    at++;
    if (test(bytes, type, name, at)) return true;
    at = valueEnd(bytes, type, at);
  }
  return false;
}

function isZeroTimestamp(bytes: Uint8Array, type: number, name: number, value: number): boolean {
  if (type !== bsonType.timestamp) return false;
  for (let index = 0; index < 8; index++) if (bytes[value + index] !== 0) return false;
  return !(value - name === 4 && Buffer.from(bytes.subarray(name, value)).equals(idName));
}

const idName = Buffer.from('_id\0');
