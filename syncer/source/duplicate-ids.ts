import { BSON, type Document } from 'mongodb';
import { canonicalKey } from '../../mongo/canonical-id.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { majorityTime } from '../../mongo/cluster-time.ts';
import { anyOf, idGroupLimits, idGroupsOf } from '../../mongo/id-groups.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { idElement, type RawDocument, type RawElement } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { shortened, SyncError } from '../../service/errors.ts';

/** How many ids of a collection are named at most, and how much of each. */
const maxNamed = 5;
const maxTextLength = 256;

/** Ids for each round trip of a scan. */
const batchSize = 50_000;

/** A sharded collection to be searched. */
export interface ScannedCollection {
  readonly namespace: Namespace;
  readonly options: Document;
}

/** The error for ids that several documents of a sharded source have. */
export function duplicateIdsError(
  namespace: Namespace | undefined,
  ids: readonly RawElement[],
): SyncError {
  const texts = ids
    .slice(0, maxNamed)
    .map((id) => shortened(BSON.EJSON.stringify(decodeElement(id)), maxTextLength));
  const name = namespace === undefined ? 'a collection' : namespaceText(namespace);
  return new SyncError(
    'DuplicateIds',
    `${name} has several documents with the _id ${texts.join(', ')}, on different shards of the source`,
  );
}

/**
 * Ids among some that several documents of a collection have: a few of them, if any.
 * @param readConcern - one that reads all shards at one time: otherwise a document that is moving to another shard is seen twice.
 */
export async function duplicatesAmong(
  { raw }: Pick<ClusterClient, 'raw'>,
  { db, coll }: Namespace,
  ids: readonly RawElement[],
  readConcern: Document,
  signal: AbortSignal,
): Promise<RawElement[]> {
  const found: RawElement[] = [];
  for (const group of idGroupsOf(ids)) {
    const pipeline = [{ $match: anyOf(group) }, ...countedTwice];
    const aggregate = { aggregate: coll, pipeline, cursor: {}, readConcern };
    found.push(...(await idsOf(await RawCursor.open(raw, db, aggregate, { signal }))));
    if (found.length >= maxNamed) break;
  }
  return found;
}

/**
 * Searches a sharded collection for ids that several documents have, on different shards. Reads the index on `_id` of each shard
 * in order, without its documents, which finds orphans, too: what it finds twice is then looked up.
 * @returns a few of them.
 */
export async function findDuplicateIds(
  cluster: ClusterClient,
  { namespace, options }: ScannedCollection,
  signal: AbortSignal,
): Promise<RawElement[]> {
  const { maxItems, maxBytes } = idGroupLimits;
  const found: RawElement[] = [];
  let suspects: RawElement[] = [];
  let bytes = 0;
  const examine = async (): Promise<void> => {
    if (suspects.length === 0) return;
    const afterClusterTime = await majorityTime(cluster, signal);
    const readConcern = { level: 'snapshot', afterClusterTime };
    found.push(...(await duplicatesAmong(cluster, namespace, suspects, readConcern, signal)));
    suspects = [];
    bytes = 0;
  };
  // Only the server knows which ids are equal under a collation.
  const isCollated = options['collation'] !== undefined;
  const search = isCollated ? groupIds : idsFoundTwice;
  for await (const id of search(cluster, namespace, signal)) {
    if (suspects.length >= maxItems || bytes + id.length > maxBytes) await examine();
    if (found.length >= maxNamed) break;
    suspects.push(id);
    bytes += id.length;
  }
  await examine();
  return found.slice(0, maxNamed);
}

/** Ids that the indexes on `_id` of the shards have more than once, orphans included. */
async function* idsFoundTwice(
  { raw }: ClusterClient,
  { db, coll }: Namespace,
  signal: AbortSignal,
): AsyncGenerator<RawElement> {
  const find = {
    find: coll,
    projection: { _id: 1 },
    sort: { _id: 1 },
    hint: { _id: 1 },
    batchSize,
    // Unlike the others, this one needs no shard key: the index is enough.
    readConcern: { level: 'available' },
  };
  let last: string | undefined;
  await using cursor = await RawCursor.open(raw, db, find, { signal, batchSize });
  for await (const { documents } of cursor.batches()) {
    for (const document of documents) {
      const id = idElement(document);
      const key = canonicalKey(id);
      if (key === last) yield copyOf(document);
      last = key;
    }
  }
}

const countedTwice = [
  { $group: { _id: '$_id', count: { $sum: 1 } } },
  { $match: { count: { $gt: 1 } } },
  { $limit: maxNamed },
];

async function* groupIds(
  { raw }: ClusterClient,
  { db, coll }: Namespace,
  signal: AbortSignal,
): AsyncGenerator<RawElement> {
  const readConcern = { level: 'majority' };
  const pipeline = [{ $project: { _id: 1 } }, ...countedTwice];
  const aggregate = { aggregate: coll, pipeline, cursor: {}, allowDiskUse: true, readConcern };
  yield* await idsOf(await RawCursor.open(raw, db, aggregate, { signal }));
}

async function idsOf(opened: RawCursor): Promise<RawElement[]> {
  await using cursor = opened;
  const ids: RawElement[] = [];
  for await (const { documents } of cursor.batches()) ids.push(...documents.map(idElement));
  return ids;
}

/** The id of a document, without the rest of the fetch in memory. */
function copyOf(document: RawDocument): RawElement {
  return idElement(Uint8Array.from(document));
}
