import { BSON, type Document, type Timestamp, type UUID } from 'mongodb';
import { canCutRanges, cutLargeRanges } from '../../mongo/cut-ranges.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { anyOf } from '../../mongo/id-groups.ts';
import { FingerprintReader } from '../../mongo/fingerprints.ts';
import { idBound, type IdRange } from '../../mongo/id-range.ts';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import {
  elementsOf,
  type RawDocument,
  type RawElement,
  RawWriter,
  textValue,
  uuidValue,
} from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { type Sampling, sortedSample } from '../../mongo/sample.ts';
import { codeOf, isCappedSnapshot, serverCode } from '../../mongo/server-errors.ts';
import type { ShardKey } from '../../mongo/shard-key.ts';
import { backoffMs, sleep } from '../../service/sleep.ts';
import type { Partition, TrackedCollection } from '../store/records.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import { eventTime } from './change-event.ts';
import { duplicateIdsError } from './duplicate-ids.ts';
import type { SourceCatalog } from './source-catalog.ts';
import {
  type KnownTimes,
  latestKnownTime,
  readConcernNow,
  type SourceKind,
} from './source-kind.ts';
import { partitionsBetween, splitPoints } from './split-points.ts';

/** What reading the source's documents needs. */
interface DocumentParts {
  readonly deployment: Deployment;
  readonly kind: SourceKind;
  /** Where the collections of the source are now. */
  readonly names: SourceCatalog;
  /** What the sync knows of the source's collections. */
  readonly catalog: TrackedCatalog;
  /** The latest known times of the source. */
  readonly known: KnownTimes;
  readonly signal: AbortSignal;
}

/** Documents of one collection, in a certain order. */
export interface DocumentQuery {
  readonly collection: Pick<TrackedCollection, 'uuid' | 'namedAt'>;
  /** The collection's name on the source now. */
  readonly from: Namespace;
  /** Which documents, and in which order: the `filter`, `min`, `max` and `hint` of a find. */
  readonly bounds: Document;
  /** How many documents one fetch brings. */
  readonly batchSize: number;
}

/** Sampled ids for each partition, and documents for each chunk: more of them make the parts more equal. */
const samplesForEach = 20;

/** Names of the shard key's fields in a sample: the original names may have dots. */
const sampledName = (index: number): string => `k${index}`;

/** The documents of the source. No read returns anything older than what is known of the source. */
export class SourceDocuments {
  readonly #parts: DocumentParts;

  constructor(parts: DocumentParts) {
    this.#parts = parts;
  }

  /**
   * Reads documents of a collection as bytes, not older than where the collection's change events begin: what was written
   * between would be in neither. (If a transaction is prepared, which only shards do, the read waits for its end.)
   * @throws MongoServerError if the collection was renamed or is gone.
   */
  async open({ collection, from, bounds, batchSize }: DocumentQuery): Promise<RawCursor> {
    const { deployment, known, signal } = this.#parts;
    const afterClusterTime = latestKnownTime(known, collection.namedAt);
    const find = {
      find: from.coll,
      ...bounds,
      batchSize,
      collectionUUID: collection.uuid,
      readConcern: { level: 'majority', afterClusterTime },
    };
    return await RawCursor.open(deployment.raw, from.db, find, { signal, batchSize });
  }

  /** The fingerprints of a range's documents, not older than what {@link open} reads. */
  fingerprints(
    { uuid, namedAt }: Pick<TrackedCollection, 'uuid' | 'namedAt'>,
    from: Namespace,
    range: IdRange,
  ): FingerprintReader {
    const { deployment, known, signal } = this.#parts;
    const readConcern = readConcernNow(known, 'majority', namedAt);
    const query = { namespace: from, range, readConcern, collectionUUID: uuid };
    return new FingerprintReader(deployment, query, signal);
  }

  /**
   * Documents as they are on the source now, batch by batch. It leaves out those that are gone: all of them if the collection
   * is.
   * @param after - the cluster time of the event that they are read for; null if that was received already.
   */
  async *read(
    collection: UUID,
    ids: readonly RawElement[],
    after: Timestamp | null = null,
  ): AsyncGenerator<readonly RawDocument[]> {
    const { catalog, kind, known, names, signal } = this.#parts;
    const tracked = catalog.collection(collection.toHexString(false));
    let namespace = tracked?.namespace;
    const readConcern = readConcernNow(known, kind.readLevelFor(tracked?.shardKey ?? null), after);
    for (let searches = 0; ; searches++) {
      namespace ??= (await names.locate(collection, searches, after))?.namespace;
      if (namespace === undefined) return;
      try {
        yield* this.#find(namespace, {
          filter: anyOf(ids),
          collectionUUID: collection,
          readConcern,
        });
        return;
      } catch (error) {
        // The collection was renamed or is gone. A server that finds a capped collection in its place says so before it
        // compares UUIDs.
        if (codeOf(error) !== serverCode.collectionUuidMismatch && !isCappedSnapshot(error))
          throw error;
        namespace = undefined;
        await sleep(backoffMs(searches), signal);
      }
    }
  }

  /**
   * The document of an `_id` as it is on the source now; undefined if it or its collection is gone.
   * @throws SyncError DuplicateIds if there are several: the `_id` does not tell which one is meant.
   */
  async readOne(
    collection: UUID,
    id: RawElement,
    after: Timestamp | null = null,
  ): Promise<RawDocument | undefined> {
    const found: RawDocument[] = [];
    for await (const documents of this.read(collection, [id], after)) found.push(...documents);
    if (found.length <= 1) return found[0];
    const name = this.#parts.catalog.collection(collection.toHexString(false))?.namespace;
    throw duplicateIdsError(name, [id]);
  }

  /**
   * Completes an abbreviated event with the document as it is on the source now. The read is not older than the event, which
   * does not count as received yet. The later events restore the document to the same state again.
   * Undefined if the document is gone: its delete is still to come. Other events stay as they are.
   */
  async completeEvent(event: RawDocument): Promise<RawDocument | undefined> {
    const fields = new Map(elementsOf(event).map((element) => [element.name, element]));
    const content = missingContent(fields);
    if (content === undefined) return event;
    const { operation, key, collection, time } = content;
    const id = elementsOf(key.bytes, key.offset).find(({ name }) => name === '_id');
    if (id === undefined) throw new MalformedAnswer('a change event without documentKey._id');
    const uuid = uuidValue(collection);
    const document = await this.readOne(uuid, id, time);
    if (document === undefined) return undefined;
    return withDocument(event, operation === 'insert' ? 'insert' : 'replace', document);
  }

  /**
   * Splits a collection into about `count` ranges of `_id` with about the same number of documents. The server sorts the sample,
   * as its order spans types. The first range is open below and the last one above.
   */
  async split(
    collection: Pick<
      TrackedCollection,
      'uuid' | 'namespace' | 'namedAt' | 'documentCount' | 'options'
    >,
    count: number,
  ): Promise<Partition[]> {
    const { deployment, known, signal } = this.#parts;
    const { namespace, uuid, namedAt, documentCount, options } = collection;
    const bounds: Document[] = [];
    const sampling = { size: count * samplesForEach, stages: [{ $project: { _id: 1 } }] };
    for await (const document of this.#sample(namespace, sampling)) {
      const bound = idBound(document);
      if (bound) bounds.push(bound);
    }
    const sampled = splitPoints(bounds, count);
    if (!canCutRanges(deployment, options)) return partitionsBetween(collection, sampled);
    const readConcern = readConcernNow(known, 'majority', namedAt);
    const even = {
      ...{ namespace, collectionUUID: uuid, readConcern },
      ...{ documentCount, wantedRanges: count },
    };
    const cut = await cutLargeRanges(deployment, even, sampled, { signal });
    return partitionsBetween(collection, cut);
  }

  /**
   * Values of a shard key in order, in the source's types, which split a collection into `count` chunks of about the same size.
   */
  async sampleShardKeys(namespace: Namespace, key: ShardKey, count: number): Promise<Document[]> {
    const fields = key.map(({ field }, index) => [
      sampledName(index),
      { $ifNull: [`$${field}`, null] },
    ]);
    const stages = [
      { $project: { _id: { ...(Object.fromEntries(fields) as Document) } } },
      // Values that the server considers equal cannot be two split points.
      { $group: { _id: '$_id' } },
    ];
    const sampling = { size: count * samplesForEach, stages, collation: { locale: 'simple' } };
    const samples: RawDocument[] = [];
    for await (const document of this.#sample(namespace, sampling)) samples.push(document);
    return splitPoints(samples, count).map((sample) => middleOf(sample, key));
  }

  #sample(namespace: Namespace, sampling: Sampling): AsyncGenerator<RawDocument, void> {
    const { deployment, signal } = this.#parts;
    return sortedSample(deployment, namespace, sampling, { signal });
  }

  async *#find({ db, coll }: Namespace, query: Document): AsyncGenerator<readonly RawDocument[]> {
    const { deployment, signal } = this.#parts;
    await using cursor = await RawCursor.open(
      deployment.raw,
      db,
      { find: coll, ...query },
      { signal },
    );
    for await (const { documents } of cursor.batches()) yield documents;
  }
}

function middleOf(sample: RawDocument, key: ShardKey): Document {
  const [id] = elementsOf(sample);
  const values = id === undefined ? [] : elementsOf(id.bytes, id.offset);
  const middle: Document = {};
  key.forEach(({ field, kind }, index) => {
    const value = values.find(({ name }) => name === sampledName(index));
    if (kind === 'hashed' || value === undefined) middle[field] = new BSON.MinKey();
    else middle[field] = new RawValue(field, value);
  });
  return middle;
}

/** Abbreviated events leave out documents and differences above this size. */
const maxContentBytes = 1024 * 1024;

/**
 * Leaves large documents and differences out of change events. With an `_id` of a few KiB, the event of a document of the
 * largest size exceeds the size limit of documents (it has the `_id` three times, twice in the resume token), and the server
 * does not send it. Uses `$bsonSize` instead of abbreviating all events: what is left out has to be read one by one.
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

/** An event that puts a document, with all else from the abbreviated event: its resume token, its time. */
export function withDocument(
  event: RawDocument,
  operation: 'insert' | 'replace',
  document: RawDocument,
): RawDocument {
  const writer = new RawWriter(event.length + document.length + 64);
  for (const element of elementsOf(event))
    if (!replacedFields.has(element.name)) writer.value(element.name, element);
  return writer.string('operationType', operation).document('fullDocument', document).finish();
}

/** Fields that an abbreviated event lacks, or that get another value. */
const replacedFields: ReadonlySet<string> = new Set([
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
  const operation = textValue(type);
  if (operation === 'delete') return undefined;
  const isWhole = fields.has(operation === 'update' ? 'rawUpdateDescription' : 'fullDocument');
  if (isWhole) return undefined;
  return { operation, key, collection, time: eventTime(fields.get('clusterTime')) };
}
