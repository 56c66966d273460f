import type { Document } from 'mongodb';
import { DocumentList } from '../../mongo/document-list.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { bsonType, RawWriter } from '../../mongo/raw-bson.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { BatchMatcher, maxDifferences, type Excuse } from './batch-matcher.ts';
import { AmountCounter, type CompareContext, type Comparison, type Side } from './comparison.ts';
import { passEqual } from './equal-start.ts';
import { FetchSize, type Fetches } from './fetch-size.ts';
import { idElementOfKey, idKey, type IdKey } from './id-key.ts';
import type { DocumentDifference } from './mismatch.ts';
import { partsOf } from './range-parts.ts';
import { inOrder, readBatches, wholeRange } from './read-documents.ts';

/** How many ids are looked up at once, and how many bytes they may have together. */
const maxIds = 1000;
const maxIdsLength = 1024 * 1024;

/** Cuts ids into lists that one comparison can look up. */
export function* idLists(ids: Iterable<IdKey>): Generator<IdKey[], void> {
  let list: IdKey[] = [];
  let length = 0;
  for (const id of ids) {
    if (list.length >= maxIds || (list.length > 0 && length + id.length > maxIdsLength)) {
      yield list;
      list = [];
      length = 0;
    }
    list.push(id);
    length += id.length;
  }
  if (list.length > 0) yield list;
}

/**
 * Compares the documents of some ids, byte for byte. An id that is on neither side is no difference.
 */
export async function compareIds(
  context: CompareContext,
  namespace: Namespace,
  ids: readonly IdKey[],
  excuse?: Excuse,
): Promise<Comparison> {
  const { source, destination, monitor } = context;
  const amount = new AmountCounter();
  const found: DocumentDifference[] = [];
  let isOverflowing = false;
  const seen = new Set<IdKey>();
  const match = async (
    list: DocumentList,
    keys: readonly IdKey[],
    filter: (copies: DocumentList) => DocumentList,
  ): Promise<void> => {
    const matcher = new BatchMatcher(list, { excuse, showValues: context.reportValues });
    const query = inOrder(destination, idQuery(keys));
    const all = new FetchSize(keys.length + 1);
    for await (const batch of readBatches(context, destination, namespace, query, all))
      matcher.take(filter(batch.list));
    const differences = matcher.finish();
    found.push(...differences.found);
    isOverflowing ||= differences.isOverflowing || found.length > maxDifferences;
  };
  const take = (list: DocumentList): void => {
    for (const document of list.documents) seen.add(idKey(document));
    amount.add(list);
    monitor.addCompared(list);
  };
  const query = idQuery(ids);
  const all = new FetchSize(ids.length + 1);
  const read = (side: Side, fetches: Fetches): ReturnType<typeof readBatches> =>
    readBatches(context, side, namespace, inOrder(side, query), fetches);
  await using expected = read(source, all);
  await using copies = read(destination, all.inStep);
  const left = await passEqual(expected, copies, wholeRange, take);
  if (!left) return { found, isOverflowing, compared: amount.total, read: null };
  await copies.return();
  for await (const { list } of partsOf(left.batches, left.range)) {
    const keys = new Set(list.documents.map(idKey));
    if (keys.size > 0) await match(list, [...keys], (others) => others);
    take(list);
  }
  const rest = ids.filter((id) => !seen.has(id));
  if (rest.length > 0) {
    for (const { id, destinationId } of found) seen.add(destinationId ?? id);
    // A look-up of 1.0 finds 1 as well, which has had its turn.
    await match(DocumentList.of([]), rest, ({ documents }) =>
      DocumentList.of(documents.filter((copy) => !seen.has(idKey(copy)))),
    );
  }
  return { found, isOverflowing, compared: amount.total, read: null };
}

/** Finds ids as the bytes that they are: the driver would put numeric field names of an embedded document in another order. */
function idQuery(ids: readonly IdKey[]): Document {
  const writer = new RawWriter();
  for (const [index, id] of ids.entries()) writer.value(String(index), idElementOfKey(id));
  const bytes = writer.finish();
  const list = { type: bsonType.array, name: '$in', bytes, offset: 0, length: bytes.length };
  return { filter: { _id: { $in: new RawValue('$in', list) } } };
}
