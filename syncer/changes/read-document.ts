import type { UUID } from 'mongodb';
import { findCollection } from '../../mongo/catalog.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import type { RawDocument, RawElement } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import type { SyncContext } from '../sync-context.ts';

/** The document of an `_id` as it is on the source now; undefined where it is gone, or its collection is. */
export async function readDocument(
  context: SyncContext,
  collection: UUID,
  id: RawElement,
): Promise<RawDocument | undefined> {
  let namespace = context.catalog.collection(collection.toHexString(false))?.namespace;
  for (;;) {
    namespace ??= (await findCollection(context.source, collection, context.signal))?.namespace;
    if (namespace === undefined) return undefined;
    try {
      return await findDocument(context, namespace, collection, id);
    } catch (error) {
      if (codeOf(error) !== serverCode.collectionUuidMismatch) throw error;
      // It has another name by now, or is gone.
      namespace = undefined;
    }
  }
}

async function findDocument(
  { source, signal }: SyncContext,
  { db, coll }: Namespace,
  collectionUUID: UUID,
  id: RawElement,
): Promise<RawDocument | undefined> {
  const filter = { _id: new RawValue('_id', id) };
  await using cursor = await RawCursor.open(
    source.raw,
    db,
    { find: coll, filter, limit: 1, collectionUUID },
    { signal },
  );
  const batch = await cursor.next();
  return batch?.documents[0];
}
