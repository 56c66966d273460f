import { MaxKey, type Document } from 'mongodb';
import { bsonType, idElement, type RawDocument } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';

/** A range of `_id` in the order of its index, across BSON types: `min` is part of it, `max` is not; null is open. */
export interface IdRange {
  readonly min: Document | null;
  readonly max: Document | null;
}

/** All documents of a collection. */
export const wholeRange: IdRange = { min: null, max: null };

/** The ranges into which some bounds, in order, split a collection: the first is open below, the last one above. */
export function rangesBetween(bounds: readonly Document[]): IdRange[] {
  return [null, ...bounds].map((min, index) => ({ min, max: bounds[index] ?? null }));
}

/**
 * The parts of find commands that read a range, one after the other, in the order of the index on `_id`. A range that is open
 * above does not reach the greatest possible id, MaxKey: the server ends it before (seen on 6.0.5), so MaxKey gets its own
 * query. Of a clustered collection it does, so both return MaxKey.
 */
export function idRangeQueries({ min, max }: IdRange): Document[] {
  const between = {
    hint: { _id: 1 },
    ...(min === null ? {} : { min }),
    ...(max === null ? {} : { max }),
  };
  return min !== null && max === null ? [between, { filter: { _id: new MaxKey() } }] : [between];
}

/**
 * `{_id: ...}` of a document, byte for byte, as the bound of a range; it shares no memory with the document. Undefined for the
 * smallest and the greatest possible id: the server does not accept those as bounds.
 */
export function idBound(document: RawDocument): Document | undefined {
  const id = idElement(Uint8Array.from(document));
  const canBound = id.type !== bsonType.minKey && id.type !== bsonType.maxKey;
  return canBound ? { _id: new RawValue('_id', id) } : undefined;
}
