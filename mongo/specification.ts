import { BSON, type Document } from 'mongodb';
import { bsonType, elementsOf, valueBytes, type RawDocument, type RawElement } from './raw-bson.ts';
import { decodeElement, RawValue } from './raw-value.ts';

/** The specification of an index as listIndexes shows it: `v`, `key`, `name` and its options. */
export interface IndexSpec extends Document {
  readonly name: string;
  readonly key: RawValue;
}

/**
 * Reads options of a collection or an index. The fields right at the top are decoded, with their BSON types; documents and
 * arrays in them (keys, validators, pipelines, ...) stay bytes, so that another server gets them exactly as they were.
 */
export function decodeSpec(bytes: RawDocument): Document {
  const spec: Document = {};
  for (const element of elementsOf(bytes)) {
    const isNested = element.type === bsonType.document || element.type === bsonType.array;
    spec[element.name] = isNested ? ownValue(element) : decodeElement(element);
  }
  return spec;
}

/** A copy: the bytes around it, a whole answer of the server, are not kept with it. */
function ownValue(element: RawElement): RawValue {
  const bytes = Uint8Array.from(valueBytes(element));
  return new RawValue(element.name, { ...element, bytes, offset: 0, length: bytes.length });
}

/** Reads the specification of an index. */
export function decodeIndexSpec(bytes: RawDocument): IndexSpec {
  const spec = decodeSpec(bytes);
  const { key } = spec as { key?: unknown };
  if (!(key instanceof RawValue)) throw new Error('the specification of an index without a key');
  return { ...spec, name: String(spec['name']), key };
}

/** The bytes of options, or of an index's specification. */
export function encodeSpec(spec: Document): RawDocument {
  return BSON.serialize(spec, { ignoreUndefined: true });
}

/** True where two specifications are the same byte for byte. */
export function isSameSpec(left: Document, right: Document): boolean {
  return Buffer.compare(encodeSpec(left), encodeSpec(right)) === 0;
}
