import { type Document, Timestamp, UUID } from 'mongodb';
import { anyOf } from '../../mongo/id-groups.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import {
  elementsOf,
  type RawDocument,
  type RawElement,
  RawWriter,
  stringValue,
  valueBytes,
} from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { codeOf, isCappedSnapshot, serverCode } from '../../mongo/server-errors.ts';
import { backoffMs, sleep } from '../../service/sleep.ts';
import { locateCollection } from './locate-collection.ts';
import { readConcernNow } from './read-concern.ts';
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

/** Documents and differences above this size are left out of abbreviated events. */
const maxContentBytes = 1024 * 1024;

/**
 * Leaves large documents and differences out of change events. The largest document and an `_id` of a few KiB make an
 * event that is larger than a document may be (it has the `_id` three times, twice of it in the resume token), and the
 * server sends none of them. By `$bsonSize` and not for all events, as what is left out has to be read one by one.
 */
export const abbreviation: Document = {
  $set: Object.fromEntries(
    ['fullDocument', 'rawUpdateDescription'].map((field) => [
      field,
      {
        $cond: [{ $gt: [{ $bsonSize: `$${field}` }, maxContentBytes] }, '$$REMOVE', `$${field}`],
      },
    ]),
  ),
};

/**
 * Completes an abbreviated event: it gets the document as it is now on the source, not before the event, which has not been
 * taken for received yet. The later events lead to it again.
 * Undefined where the document is gone: its delete is still to come. Other events stay as they are.
 */
export async function completeEvent(
  context: SourceContext,
  event: RawDocument,
): Promise<RawDocument | undefined> {
  const fields = new Map(elementsOf(event).map((element) => [element.name, element]));
  const content = missingContent(fields);
  if (content === undefined) return event;
  const { operation, key, collection, time } = content;
  const id = elementsOf(key.bytes, key.offset).find(({ name }) => name === '_id');
  if (id === undefined) throw new Error('a change event without documentKey._id');
  // int32 length, subtype byte, 16 bytes
  const uuid = new UUID(valueBytes(collection).slice(5, 21));
  const document = await readDocument(context, uuid, id, time);
  if (document === undefined) return undefined;
  return withDocument(event, operation === 'insert' ? 'insert' : 'replace', document);
}

/** An event that puts a document, with all else that an abbreviated one has: its resume token, its time. */
export function withDocument(
  event: RawDocument,
  operation: 'insert' | 'replace',
  document: RawDocument,
): RawDocument {
  const writer = new RawWriter(event.length + document.length + 64);
  for (const element of elementsOf(event))
    if (!isReplaced.has(element.name)) writer.value(element.name, element);
  return writer.string('operationType', operation).document('fullDocument', document).finish();
}

/** What an abbreviated event has no more, or gets anew. */
const isReplaced: ReadonlySet<string> = new Set([
  'operationType',
  'fullDocument',
  'rawUpdateDescription',
]);

interface MissingContent {
  readonly operation: string;
  readonly key: RawElement;
  readonly collection: RawElement;
  readonly time: Timestamp;
}

function missingContent(fields: ReadonlyMap<string, RawElement>): MissingContent | undefined {
  const type = fields.get('operationType');
  const key = fields.get('documentKey');
  const collection = fields.get('collectionUUID');
  if (!type || !key || !collection) return undefined;
  const operation = stringValue(type);
  if (operation === 'delete') return undefined;
  const isWhole = fields.has(operation === 'update' ? 'rawUpdateDescription' : 'fullDocument');
  if (isWhole) return undefined;
  const clusterTime = fields.get('clusterTime');
  const time = clusterTime && decodeElement(clusterTime);
  if (!(time instanceof Timestamp)) throw new Error('a change event without clusterTime');
  return { operation, key, collection, time };
}
