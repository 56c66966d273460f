import type { Document } from 'mongodb';
import type { Namespace } from '../../mongo/namespace.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { BatchMatcher, maxDifferences, type Excuse } from './batch-matcher.ts';
import { AmountCounter, type Comparison } from './comparison.ts';
import type { CompareContext } from './compare-context.ts';
import { idDocument, idKey, type IdKey } from './id-key.ts';
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
 * @param ids - such that `idDocument` is defined for each of them.
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
    documents: readonly RawDocument[],
    keys: readonly IdKey[],
    counts: (copy: RawDocument) => boolean,
  ): Promise<void> => {
    const matcher = new BatchMatcher(documents, { excuse, showValues: context.reportValues });
    const query = inOrder(destination, idQuery(keys));
    for await (const { documents: copies } of readBatches(context, destination, namespace, query))
      matcher.take(copies.filter(counts));
    const differences = matcher.finish();
    found.push(...differences.found);
    isOverflowing ||= differences.isOverflowing || found.length > maxDifferences;
  };
  const query = inOrder(source, idQuery(ids));
  const batches = readBatches(context, source, namespace, query);
  for await (const { documents } of partsOf(batches, wholeRange)) {
    const keys = new Set(documents.map(idKey));
    for (const key of keys) seen.add(key);
    if (keys.size > 0) await match(documents, [...keys], () => true);
    amount.add(documents);
    monitor.addCompared(documents);
  }
  const rest = ids.filter((id) => !seen.has(id));
  if (rest.length > 0) {
    for (const { id, destinationId } of found) seen.add(destinationId ?? id);
    // A look-up of 1.0 finds 1 as well, which has had its turn.
    await match([], rest, (copy) => !seen.has(idKey(copy)));
  }
  return { found, isOverflowing, compared: amount.total };
}

function idQuery(ids: readonly IdKey[]): Document {
  const values = ids.map((id): unknown => idDocument(id)?.['_id']);
  return { filter: { _id: { $in: values } } };
}
