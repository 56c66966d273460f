import { BSON, type Collection, type Document } from 'mongodb';
import { SyncError } from '../service/errors.ts';
import { CheckedValue } from './checked-value.ts';
import type { Namespace } from './namespace.ts';

/** The collection that a document was read from, for errors. */
export type StoredIn = Pick<Collection, 'dbName' | 'collectionName'>;

/**
 * A document of a program's stored state, read again: somebody may have edited it, or another version may have written it.
 * @throws SyncError StoredStateInvalid, from each of its readers, if a field is missing or has another type: it names the
 * document.
 */
export function storedDocument(
  { dbName, collectionName }: StoredIn,
  found: Document,
): CheckedValue {
  const { _id } = found;
  return new CheckedValue(found, (what) => {
    const id = BSON.EJSON.stringify({ _id: _id as unknown });
    return new SyncError(
      'StoredStateInvalid',
      `${dbName}.${collectionName} has the document ${id} ${what}`,
    );
  });
}

/** A namespace that is stored as `db` and `coll`. */
export function namespaceIn(value: CheckedValue): Namespace {
  return { db: value.field('db').text(), coll: value.field('coll').text() };
}
