import { BSON, type Document } from 'mongodb';
import { idBound } from '../../mongo/id-range.ts';
import {
  asBuffer,
  idElement,
  RawWriter,
  valueBytes,
  type RawDocument,
  type RawElement,
} from '../../mongo/raw-bson.ts';
import { keepTypes } from '../../mongo/raw-value.ts';

const { EJSON } = BSON;

/** An `_id` as text: its BSON type and bytes, one character each. Equal only for ids of the same bytes. */
export type IdKey = string;

/** Maximum length of a displayed `_id`. */
const maxIdTextLength = 1024;

/** The key of a value. */
export function keyOfElement(element: RawElement): IdKey {
  return String.fromCharCode(element.type) + asBuffer(valueBytes(element)).toString('latin1');
}

/** The key of a document's `_id`. */
export function idKey(document: RawDocument): IdKey {
  return keyOfElement(idElement(document));
}

/** The value of a key. */
export function idElementOfKey(key: IdKey): RawElement {
  const bytes = Buffer.from(key.slice(1), 'latin1');
  return { type: key.charCodeAt(0), name: '_id', bytes, offset: 0, length: bytes.length };
}

/** The bytes of `{_id: ...}`. */
export function idBytes(key: IdKey): RawDocument {
  return new RawWriter(key.length + 16).value('_id', idElementOfKey(key)).finish();
}

/** A key as bytes, to be stored. */
export function keyBytes(key: IdKey): Uint8Array {
  return Buffer.from(key, 'latin1');
}

/** The key that was stored as bytes. */
export function keyOfBytes(bytes: Uint8Array): IdKey {
  return asBuffer(bytes).toString('latin1');
}

/** `{_id: ...}` as the bound of a range, undefined if the id cannot be one. */
export function boundDocument(key: IdKey): Document | undefined {
  return idBound(idBytes(key));
}

/** An `_id` in canonical EJSON, truncated if very long. */
export function idText(key: IdKey): string {
  const { _id } = BSON.deserialize(idBytes(key), keepTypes);
  const text = EJSON.stringify(_id, { relaxed: false });
  return text.length <= maxIdTextLength ? text : `${text.slice(0, maxIdTextLength)}...`;
}
