import type { Document } from 'mongodb';
import { inGroupsWithin } from '../service/groups.ts';
import { bsonType, RawWriter, type RawElement } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';

/** Something identified by the `_id` of a document. */
export interface Identified {
  readonly key: { readonly id: RawElement };
}

/** The limits for ids that are looked up together. */
export const idGroupLimits = { maxItems: 500, maxBytes: 8 * 1024 * 1024 };

/** Changes or documents in groups whose ids fit into one query. */
export function groupsOf<T extends Identified>(changes: readonly T[]): Generator<readonly T[]> {
  return inGroupsWithin(changes, { ...idGroupLimits, bytesOf: ({ key }) => key.id.length });
}

/** Ids in groups that fit into one query. */
export function idGroupsOf(ids: readonly RawElement[]): Generator<readonly RawElement[]> {
  return inGroupsWithin(ids, { ...idGroupLimits, bytesOf: ({ length }) => length });
}

/** A query for any of some ids. None is a pattern: the server refuses those. */
export function anyOf(ids: readonly RawElement[]): Document {
  return { _id: new RawValue('_id', anyOfElement(ids)) };
}

/**
 * The condition on `_id` for {@link anyOf}, with the ids as their original bytes: the driver would reorder numeric field names
 * of an embedded document.
 */
export function anyOfElement(ids: readonly RawElement[]): RawElement {
  const array = new RawWriter().beginArray('$in');
  ids.forEach((id, at) => array.value(String(at), id));
  const bytes = array.end().finish();
  return { type: bsonType.document, name: '_id', bytes, offset: 0, length: bytes.length };
}
