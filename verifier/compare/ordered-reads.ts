import { canonicalKey } from '../../mongo/canonical-id.ts';
import { DocumentList } from '../../mongo/document-list.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import { idElement, type RawDocument } from '../../mongo/raw-bson.ts';
import type { RawBatch } from '../../mongo/raw-cursor.ts';
import { boundDocument, idKey } from './id-key.ts';

type Batch = Pick<RawBatch, 'list'>;

/** What is left of two reads of a range after their common documents. */
export interface Rest {
  /** Of the source. */
  readonly batches: AsyncIterable<Batch>;
  /** The part of the range that contains exactly these documents. */
  readonly range: IdRange;
}

/**
 * Skips the documents that two reads in the order of `_id` have in common from their beginning, in the same batches: the
 * next batches of both sides are fetched at the same time, and no document is examined individually. What is left begins with the
 * documents of the last common `_id`, of which the destination may have more.
 * @param pass - called with the common documents of the source that are not left.
 * @returns undefined if nothing is left on either side.
 */
export async function skipEqual(
  source: AsyncGenerator<Batch, void>,
  destination: AsyncGenerator<Batch, void>,
  range: IdRange,
  pass: (list: DocumentList) => void,
): Promise<Rest | undefined> {
  // Either all documents so far, or some of which the last may be a bound and none has an _id that was passed.
  let before = DocumentList.of([]);
  for (;;) {
    const [one, other] = await Promise.all([source.next(), destination.next()]);
    if (one.done === true && other.done === true) {
      pass(before);
      return undefined;
    }
    const next = one.done === true ? undefined : one.value.list;
    const copies = other.done === true ? undefined : other.value.list;
    if (next && copies && next.cameAs(copies)) {
      if (canFollow(before, next)) {
        pass(before);
        before = next;
      } else {
        before = DocumentList.of([...before.documents, ...next.documents]);
      }
      continue;
    }
    const end = lastBoundOf(before);
    const min = end?.min ?? range.min;
    const { documents } = before;
    pass(DocumentList.of(documents.slice(0, end?.index ?? 0)));
    const left = DocumentList.of(documents.slice(end?.index ?? 0));
    return { batches: following([left, next], source), range: { min, max: range.max } };
  }
}

function canFollow(before: DocumentList, { first, last }: DocumentList): boolean {
  if (!first || !last) return false;
  if (before.count === 0) return true;
  return endBefore(first, before) === before.count && boundDocument(idKey(last)) !== undefined;
}

/** The last `_id` of a list that can be a bound, and where its documents begin. */
function lastBoundOf({
  documents,
}: DocumentList): { readonly min: IdRange['min']; readonly index: number } | undefined {
  const last = documents.findLast((each) => boundDocument(idKey(each)) !== undefined);
  if (!last) return undefined;
  const key = canonicalKey(idElement(last));
  const index = documents.findIndex((each) => canonicalKey(idElement(each)) === key);
  return { min: boundDocument(idKey(documents[index] ?? last)) ?? null, index };
}

async function* following(
  lists: readonly (DocumentList | undefined)[],
  others: AsyncIterable<Batch>,
): AsyncGenerator<Batch, void> {
  for (const list of lists) {
    if (list && list.count > 0) yield { list };
  }
  yield* others;
}

/** Documents in the order of `_id`, and the part of a range that contains exactly these. */
export interface RangePart {
  readonly list: DocumentList;
  readonly part: IdRange;
}

/**
 * The batches of a cursor in the order of `_id`, each with the part of the range that it covers: up to the first document
 * of the next. Documents that share an `_id`, on several shards, are in one part.
 */
export async function* partsOf(
  batches: AsyncIterable<Pick<RawBatch, 'list'>>,
  range: IdRange,
): AsyncGenerator<RangePart, void> {
  let { min } = range;
  let list = DocumentList.of([]);
  for await (const { list: next } of batches) {
    const { first } = next;
    const max = first && boundDocument(idKey(first));
    const end = first ? endBefore(first, list) : 0;
    // If this id cannot be a bound, or all documents have it, the two batches are matched as one.
    if (max !== undefined && end > 0) {
      const isWhole = end === list.count;
      yield {
        list: isWhole ? list : DocumentList.of(list.documents.slice(0, end)),
        part: { min, max },
      };
      min = max;
      list = DocumentList.of(isWhole ? [] : list.documents.slice(end));
    }
    list = list.count === 0 ? next : DocumentList.of([...list.documents, ...next.documents]);
  }
  yield { list, part: { min, max: range.max } };
}

/** How many documents of a sorted list precede those with the `_id` of another one, which is not less than any of them. */
function endBefore(document: RawDocument, list: DocumentList): number {
  const key = canonicalKey(idElement(document));
  const isBefore = (other: RawDocument): boolean => canonicalKey(idElement(other)) !== key;
  if (list.last === undefined || isBefore(list.last)) return list.count;
  return list.documents.findLastIndex(isBefore) + 1;
}
