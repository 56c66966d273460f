import type { Document } from 'mongodb';
import { bsonType, RawWriter, type RawElement } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';

/** What is known by the `_id` of a document. */
export interface Identified {
  readonly key: { readonly id: RawElement };
}

/** Ids that are looked up together: so many, or so many bytes. */
const maxIds = 500;
const maxIdBytes = 8 * 1024 * 1024;

/** Changes or documents in groups whose ids fit into one query. */
export function* groupsOf<T extends Identified>(changes: readonly T[]): Generator<readonly T[]> {
  let group: T[] = [];
  let bytes = 0;
  for (const change of changes) {
    const { length } = change.key.id;
    if (group.length >= maxIds || (group.length > 0 && bytes + length > maxIdBytes)) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(change);
    bytes += length;
  }
  if (group.length > 0) yield group;
}

/** A query for any of some ids. None is a pattern: the server refuses those. */
export function anyOf(ids: readonly RawElement[]): Document {
  const array = new RawWriter().beginArray('$in');
  ids.forEach((id, at) => array.value(String(at), id));
  const bytes = array.end().finish();
  const element = { type: bsonType.document, name: '_id', bytes, offset: 0, length: bytes.length };
  return { _id: new RawValue('_id', element) };
}
