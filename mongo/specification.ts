import { BSON, type Document } from 'mongodb';
import { SyncError } from '../service/errors.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { namespaceText, type Namespace } from './namespace.ts';
import {
  bsonType,
  elementsOf,
  isOddString,
  valueBytes,
  type RawDocument,
  type RawElement,
} from './raw-bson.ts';
import { decodeElement, RawValue } from './raw-value.ts';

/** The specification of an index as listIndexes shows it: `v`, `key`, `name` and its options. */
export interface IndexSpec extends Document {
  readonly name: string;
  readonly key: RawValue;
}

/**
 * Reads options of a collection or an index. Top-level fields are decoded, with their BSON types; documents and arrays in them
 * (keys, validators, pipelines, ...) stay bytes, so that another server gets them exactly as they were, and so do strings that
 * are not UTF-8.
 */
export function decodeSpec(bytes: RawDocument): Document {
  const spec: Document = {};
  for (const element of elementsOf(bytes)) {
    const isNested = element.type === bsonType.document || element.type === bsonType.array;
    spec[element.name] =
      isNested || isOddString(element) ? ownValue(element) : decodeElement(element);
  }
  return spec;
}

/** A copy, so as not to keep the server's whole answer in memory. */
function ownValue(element: RawElement): RawValue {
  const bytes = Uint8Array.from(valueBytes(element));
  return new RawValue(element.name, { ...element, bytes, offset: 0, length: bytes.length });
}

/**
 * Reads the specification of an index.
 * @param namespace - of its collection, for the error.
 * @throws SyncError NameNotSupported for a name that is not UTF-8. MalformedAnswer if it has no name, or no key.
 */
export function decodeIndexSpec(bytes: RawDocument, namespace?: Namespace): IndexSpec {
  const spec = decodeSpec(bytes);
  const { key, name } = spec as { key?: unknown; name?: unknown };
  const of = namespace ? ` of ${namespaceText(namespace)}` : '';
  if (!(key instanceof RawValue) || key.type !== bsonType.document)
    throw new MalformedAnswer(`the specification of an index${of} without its key`);
  if (name instanceof RawValue && name.type === bsonType.string)
    throw oddNameError(`the index ${String(name.decode())}${of}`);
  if (typeof name !== 'string')
    throw new MalformedAnswer(`the specification of an index${of} without its name`);
  return { ...spec, name, key };
}

/** The error for names that are not UTF-8. @param what - what has such a name. */
export function oddNameError(what: string): SyncError {
  return new SyncError('NameNotSupported', `not UTF-8 is the name of ${what}`);
}

/** The bytes of options, or of an index's specification. */
export function encodeSpec(spec: Document): RawDocument {
  return BSON.serialize(spec, { ignoreUndefined: true });
}

/** True if two options are the same, in any order and with any number types. */
export function isSameOptions(left: Document, right: Document): boolean {
  const names = Object.keys(left);
  if (names.length !== Object.keys(right).length) return false;
  return names.every((name) => {
    if (!Object.hasOwn(right, name)) return false;
    const [one, other] = [left[name] as unknown, right[name] as unknown];
    return isSameSpec({ [name]: one }, { [name]: other }) || Number(one) === Number(other);
  });
}

/** True if two specifications are the same byte for byte. */
export function isSameSpec(left: Document, right: Document): boolean {
  return Buffer.compare(encodeSpec(left), encodeSpec(right)) === 0;
}
