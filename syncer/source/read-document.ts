import type { Document, Timestamp, UUID } from 'mongodb';
import type { Namespace } from '../../mongo/namespace.ts';
import type { RawDocument, RawElement } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { codeOf, isCappedSnapshot, serverCode } from '../../mongo/server-errors.ts';
import { backoffMs, sleep } from '../../service/sleep.ts';
import { anyOf } from '../../mongo/id-groups.ts';
import { readConcernNow } from './read-concern.ts';
import { locateCollection } from './locate-collection.ts';
import type { SourceContext } from './source-context.ts';

/**
 * Documents as they are on the source now, batch by batch; those that are gone are left out, all where the collection is.
 * @param after - the cluster time of the event that they are read for; null where that has been received already.
 */
export async function* readDocuments(
  context: SourceContext,
  collection: UUID,
  ids: readonly RawElement[],
  after: Timestamp | null = null,
): AsyncGenerator<readonly RawDocument[]> {
  const tracked = context.catalog.collection(collection.toHexString(false));
  let namespace = tracked?.namespace;
  const readConcern = readConcernNow(context, tracked?.shardKey ?? null, after);
  for (let searches = 0; ; searches++) {
    namespace ??= (await locateCollection(context, collection, searches, after))?.namespace;
    if (namespace === undefined) return;
    try {
      yield* findDocuments(context, namespace, {
        filter: anyOf(ids),
        collectionUUID: collection,
        readConcern,
      });
      return;
    } catch (error) {
      // It has another name by now, or is gone. That another one is capped a server says before it looks at the UUID.
      if (codeOf(error) !== serverCode.collectionUuidMismatch && !isCappedSnapshot(error))
        throw error;
      namespace = undefined;
      await sleep(backoffMs(searches), context.signal);
    }
  }
}

/** The document of an `_id` as it is on the source now; undefined where it is gone, or its collection is. */
export async function readDocument(
  context: SourceContext,
  collection: UUID,
  id: RawElement,
  after: Timestamp | null = null,
): Promise<RawDocument | undefined> {
  for await (const [document] of readDocuments(context, collection, [id], after)) return document;
  return undefined;
}

async function* findDocuments(
  { source, signal }: SourceContext,
  { db, coll }: Namespace,
  query: Document,
): AsyncGenerator<readonly RawDocument[]> {
  await using cursor = await RawCursor.open(source.raw, db, { find: coll, ...query }, { signal });
  for await (const { documents } of cursor.batches()) yield documents;
}
