import { Binary, type Document, type UUID } from 'mongodb';
import { encodeSpec } from '../../mongo/specification.ts';
import type { Phase, SyncRecord, TrackedCollection } from './records.ts';

/** The collections of the state: the first one holds the record of the sync. */
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

/** Specifications are kept as bytes: they contain names with dots and dollars, which the server would interpret. */
export function stored(spec: Document): Binary {
  return new Binary(encodeSpec(spec));
}

/** A phase as it is stored: `preparing` keeps its previous name there, which earlier versions read and write. */
export type StoredPhase = Exclude<Phase, 'preparing'> | 'loosening';

/** Fields of the record of a sync, as they are stored or searched for. */
export function storedSync({
  phase,
  ...rest
}: Partial<SyncRecord>): Omit<Partial<SyncRecord>, 'phase'> & { readonly phase?: StoredPhase } {
  if (phase === undefined) return rest;
  return { ...rest, phase: phase === 'preparing' ? 'loosening' : phase };
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

/** A bound is `{_id: ...}`. */
export function storedBound(bound: Document | null): Binary | null {
  return bound === null ? null : stored(bound);
}
