import { Binary, type Document, type UUID } from 'mongodb';
import { idBound } from '../../mongo/id-range.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { decodeIndexSpec, decodeSpec, encodeSpec } from '../../mongo/specification.ts';
import type { StoredPartition, SyncRecord, TrackedCollection } from './records.ts';

/** The collections of the state: the record of the sync is in the first. */
export const collectionNames = [
  'sync',
  'instances',
  'collections',
  'views',
  'partitions',
  'leftIndexes',
] as const;

/** A document of the state by the type of its `_id`. */
export interface Stored<T> extends Document {
  _id: T;
}

/** A stored document without its `_id`. */
export function withoutId({ _id, ...rest }: Document): Document {
  return rest;
}

/** Specifications are kept as bytes: they contain names with dots and dollars, which the server treats as its own. */
export function stored(spec: Document): Binary {
  return new Binary(encodeSpec(spec));
}

/** The bytes that are stored so. */
export function bytesOf(value: unknown): RawDocument {
  return (value as Binary).buffer;
}

/** A collection as it is stored. */
export function encodeCollection({
  uuid,
  options,
  indexes,
  ...rest
}: TrackedCollection): Stored<UUID> {
  return { _id: uuid, ...rest, options: stored(options), indexes: indexes.map(stored) };
}

/** The collection that is stored so. */
export function decodeCollection({
  _id,
  options,
  indexes,
  ...rest
}: Stored<UUID>): TrackedCollection {
  const known = rest as unknown as Omit<TrackedCollection, 'uuid' | 'options' | 'indexes'>;
  return {
    ...known,
    uuid: _id,
    options: decodeSpec(bytesOf(options)),
    indexes: (indexes as unknown[]).map((index) => decodeIndexSpec(bytesOf(index))),
  };
}

/** A bound is `{_id: ...}`. */
export function storedBound(bound: Document | null): Binary | null {
  return bound === null ? null : stored(bound);
}

/** The bound that is stored so. */
export function boundOf(value: unknown): Document | null {
  return value === null ? null : (idBound(bytesOf(value)) ?? null);
}

/** A state of a former release says nothing of a reset, and nothing of whose the catalog is: before the copy that is not known. */
export function syncRecordIn(found: Document | null): SyncRecord | undefined {
  if (found === null) return undefined;
  const ownsCatalog = found['phase'] !== 'catalog';
  return { reset: null, ownsCatalog, ...withoutId(found) } as unknown as SyncRecord;
}

/** A stored range of a collection. */
export function partitionIn(
  { collection, index }: { readonly collection: UUID; readonly index: number },
  stored: Document,
): StoredPartition {
  const [min, max] = [boundOf(stored['min']), boundOf(stored['max'])];
  return { collection, index, min, max, isCopied: stored['isCopied'] === true };
}
