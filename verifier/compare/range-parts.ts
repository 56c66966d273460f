import { canonicalKey } from '../../mongo/canonical-id.ts';
import { DocumentList } from '../../mongo/document-list.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import { idElement, type RawDocument } from '../../mongo/raw-bson.ts';
import type { RawBatch } from '../../mongo/raw-cursor.ts';
import { boundDocument, idKey } from './id-key.ts';

/** Documents in the order of `_id`, and the part of a range that they are all the documents of. */
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
    // Where this id cannot be a bound, or all documents have it, the two batches are matched as one.
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

/** How many documents of a sorted list are before those that have the `_id` of another, which is not less than any of them. */
export function endBefore(document: RawDocument, list: DocumentList): number {
  const key = canonicalKey(idElement(document));
  const isBefore = (other: RawDocument): boolean => canonicalKey(idElement(other)) !== key;
  if (list.last === undefined || isBefore(list.last)) return list.count;
  return list.documents.findLastIndex(isBefore) + 1;
}
