import type { Document } from 'mongodb';
import { DocumentList } from '../../mongo/document-list.ts';
import { anyOf } from '../../mongo/id-groups.ts';
import { type IdRange, wholeRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import type { RawBatch } from '../../mongo/raw-cursor.ts';
import { inGroupsWithin } from '../../service/groups.ts';
import type { VerifierMonitor } from '../monitor.ts';
import { BatchMatcher, maxDifferences, type DocumentDifferences } from './batch-matcher.ts';
import type { Excuse } from './expiry.ts';
import { idElementOfKey, idKey, type IdKey } from './id-key.ts';
import type { DocumentDifference } from './mismatch.ts';
import { partsOf, skipEqual } from './ordered-reads.ts';
import {
  FetchSize,
  inOrder,
  readBatches,
  readRange,
  type Fetches,
  type ReadContext,
} from './read-documents.ts';
import type { Sides } from '../../mongo/sides.ts';
import type { Amount, ReadDocuments, Side } from './sides.ts';

/** What every comparison needs. */
export interface CompareContext extends Sides<Side>, ReadContext {
  readonly monitor: Pick<VerifierMonitor, 'addCompared'>;
  /** Whether differences include the two values. */
  readonly reportValues: boolean;
}

/** Counts documents. */
class AmountCounter {
  #documents = 0;
  #bytes = 0;

  get total(): Amount {
    return { documents: this.#documents, bytes: this.#bytes };
  }

  add({ count, bytes }: DocumentList): void {
    this.#documents += count;
    this.#bytes += bytes;
  }
}

/** The result of comparing documents. */
export interface Comparison extends DocumentDifferences {
  /** Documents of the source that were compared, and their bytes. */
  readonly compared: Amount;
  /** Documents of each side, if all of a range were read on both; null if it was abandoned, and for single ids. */
  readonly read: ReadDocuments | null;
}

/**
 * Compares the documents of a range, byte for byte. As long as both sides return the same, they are read at the same time in the order
 * of `_id`. From the first difference on, only the source is read like that; for each of its batches the destination is asked
 * for the same part of the range, so that nothing here has to know how a server orders keys.
 * Two batches of the source and one of the destination are held at a time, of about two megabytes each.
 */
export async function compareRange(
  context: CompareContext,
  namespace: Namespace,
  range: IdRange,
  excuse?: Excuse,
): Promise<Comparison> {
  const { source, destination, monitor } = context;
  const amount = new AmountCounter();
  let copyCount = 0;
  const take = (list: DocumentList): void => {
    amount.add(list);
    monitor.addCompared(list);
  };
  const takeEqual = (list: DocumentList): void => {
    take(list);
    copyCount += list.count;
  };
  const compared = (): Comparison => {
    const read = { source: amount.total.documents, destination: copyCount, hashed: 0 };
    return { found, isOverflowing: false, compared: amount.total, read };
  };
  const found: DocumentDifference[] = [];
  const fetchSize = new FetchSize();
  await using expected = readRange(context, source, namespace, range, fetchSize);
  await using copies = readRange(context, destination, namespace, range, fetchSize.inStep);
  const rest = await skipEqual(expected, copies, range, takeEqual);
  if (!rest) return compared();
  await copies.return();
  for await (const { list, part } of partsOf(rest.batches, rest.range)) {
    const matcher = new BatchMatcher(list, { excuse, showValues: context.reportValues });
    // One more, so that equal documents come in one batch that is known to be the last.
    const likely = new FetchSize(list.count + 1);
    for await (const batch of readRange(context, destination, namespace, part, likely)) {
      matcher.take(batch.list);
      copyCount += batch.list.count;
    }
    take(list);
    const differences = matcher.finish();
    found.push(...differences.found);
    if (differences.isOverflowing || found.length > maxDifferences) {
      return { found, isOverflowing: true, compared: amount.total, read: null };
    }
  }
  return compared();
}

/** How many ids are looked up at a time, and their maximum total bytes. */
const maxIds = 1000;
const maxIdsLength = 1024 * 1024;

/** Splits ids into lists that one comparison can look up. */
export function idLists(ids: Iterable<IdKey>): Generator<readonly IdKey[], void> {
  const bytesOf = ({ length }: IdKey): number => length;
  return inGroupsWithin(ids, { maxItems: maxIds, maxBytes: maxIdsLength, bytesOf });
}

/**
 * Compares the documents of some ids, byte for byte. An id that is on neither side is not a difference.
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
  const left = await skipEqual(expected, copies, wholeRange, take);
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
    // A look-up of 1.0 also finds 1, which has been compared already.
    await match(DocumentList.of([]), rest, ({ documents }) =>
      DocumentList.of(documents.filter((copy) => !seen.has(idKey(copy)))),
    );
  }
  return { found, isOverflowing, compared: amount.total, read: null };
}

function idQuery(ids: readonly IdKey[]): { readonly filter: Document } {
  return { filter: anyOf(ids.map(idElementOfKey)) };
}

/**
 * Compares two collections whose orders of documents differ, such as those of different collations: no `_id` is a
 * bound for both. Each side is read completely, and its documents are looked up on the other by `_id`.
 */
export async function compareUnordered(
  context: CompareContext,
  namespace: Namespace,
  excuse?: Excuse,
): Promise<Comparison> {
  const amount = new AmountCounter();
  const found: DocumentDifference[] = [];
  const read = { source: 0, destination: 0, hashed: 0 };
  for (const side of ['source', 'destination'] as const) {
    for await (const { list } of readRange(context, context[side], namespace, wholeRange)) {
      read[side] += list.count;
      if (side === 'source') amount.add(list);
      for (const ids of idLists(list.documents.map(idKey))) {
        const compared = await compareIds(context, namespace, ids, excuse);
        // The others were found from the source.
        const isNew = ({ kind }: DocumentDifference): boolean =>
          side === 'source' ? kind !== 'extraDocument' : kind === 'extraDocument';
        found.push(...compared.found.filter(isNew));
        if (compared.isOverflowing || found.length > maxDifferences)
          return { found, isOverflowing: true, compared: amount.total, read: null };
      }
    }
  }
  return { found, isOverflowing: false, compared: amount.total, read };
}

/**
 * Compares the natural order of a capped collection, by `_id`, if both sides hold the same documents. The first
 * document in another place is the difference.
 */
export async function compareOrder(
  context: CompareContext,
  namespace: Namespace,
): Promise<DocumentDifference | undefined> {
  const { source, destination } = context;
  const query = { hint: { $natural: 1 }, projection: { _id: 1 } };
  await using left = idsOf(readBatches(context, source, namespace, query));
  await using right = idsOf(readBatches(context, destination, namespace, query));
  for (;;) {
    const [a, b] = [await left.next(), await right.next()];
    if (a.done === true) return undefined;
    if (a.value !== b.value) {
      return { kind: 'documentOrder', id: a.value, detail: 'at another position in natural order' };
    }
  }
}

async function* idsOf(batches: AsyncIterable<RawBatch>): AsyncGenerator<IdKey, undefined> {
  for await (const { documents } of batches) {
    for (const document of documents) yield idKey(document);
  }
}
