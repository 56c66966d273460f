import { canonicalKey } from '../../mongo/canonical-id.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import { idElement, type RawDocument } from '../../mongo/raw-bson.ts';
import type { RawBatch } from '../../mongo/raw-cursor.ts';
import { boundDocument, idKey } from './id-key.ts';

/** Documents in the order of `_id`, and the part of a range that they are all the documents of. */
export interface RangePart {
  readonly documents: readonly RawDocument[];
  readonly part: IdRange;
}

/**
 * The batches of a cursor in the order of `_id`, each with the part of the range that it covers: up to the first document
 * of the next. Documents that share an `_id`, on several shards, are in one part.
 */
export async function* partsOf(
  batches: AsyncIterable<RawBatch>,
  range: IdRange,
): AsyncGenerator<RangePart, void> {
  let { min } = range;
  let documents: readonly RawDocument[] = [];
  for await (const { documents: next } of batches) {
    const [first] = next;
    const max = first && boundDocument(idKey(first));
    const end = first ? endBefore(first, documents) : 0;
    // Where this id cannot be a bound, or all documents have it, the two batches are matched as one.
    if (max !== undefined && end > 0) {
      yield { documents: documents.slice(0, end), part: { min, max } };
      min = max;
      documents = documents.slice(end);
    }
    documents = documents.length === 0 ? next : [...documents, ...next];
  }
  yield { documents, part: { min, max: range.max } };
}

/** How many documents of a sorted list are before those that have the `_id` of another. */
function endBefore(document: RawDocument, sorted: readonly RawDocument[]): number {
  const key = canonicalKey(idElement(document));
  let end = sorted.length;
  for (let last = sorted[end - 1]; last !== undefined; last = sorted[end - 1]) {
    if (canonicalKey(idElement(last)) !== key) break;
    end -= 1;
  }
  return end;
}
