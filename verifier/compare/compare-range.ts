import type { IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import type { RawBatch } from '../../mongo/raw-cursor.ts';
import {
  BatchMatcher,
  maxDifferences,
  type DocumentDifferences,
  type Excuse,
} from './batch-matcher.ts';
import type { CompareContext } from './compare-context.ts';
import { boundDocument, idKey } from './id-key.ts';
import type { DocumentDifference } from './mismatch.ts';
import { readRange } from './read-documents.ts';

/**
 * Compares the documents of a range, byte for byte. The source is read in the order of `_id`; for each batch of it the
 * destination is asked for the same part of the range, so that nothing here has to know how a server orders keys.
 * Two batches of the source and one of the destination are held at a time.
 */
export async function compareRange(
  context: CompareContext,
  namespace: Namespace,
  range: IdRange,
  excuse?: Excuse,
): Promise<DocumentDifferences> {
  const { source, destination, monitor, signal } = context;
  const found: DocumentDifference[] = [];
  const batches = readRange(source, namespace, range, signal);
  for await (const { documents, part } of partsOf(batches, range)) {
    const matcher = new BatchMatcher(documents, excuse);
    for await (const batch of readRange(destination, namespace, part, signal))
      matcher.take(batch.documents);
    monitor.addCompared(documents);
    const differences = matcher.finish();
    found.push(...differences.found);
    if (differences.isOverflowing || found.length > maxDifferences) {
      return { found, isOverflowing: true };
    }
  }
  return { found, isOverflowing: false };
}

interface RangePart {
  readonly documents: readonly RawDocument[];
  readonly part: IdRange;
}

/** The batches of a cursor, each with the part of the range that it covers: up to the first document of the next. */
async function* partsOf(
  batches: AsyncIterable<RawBatch>,
  range: IdRange,
): AsyncGenerator<RangePart, void> {
  let { min } = range;
  let documents: readonly RawDocument[] = [];
  for await (const { documents: next } of batches) {
    const [first] = next;
    const max = first && boundDocument(idKey(first));
    if (documents.length === 0) {
      documents = next;
    } else if (max === undefined) {
      // This id cannot be a bound: the two batches are matched as one.
      documents = [...documents, ...next];
    } else {
      yield { documents, part: { min, max } };
      min = max;
      documents = next;
    }
  }
  yield { documents, part: { min, max: range.max } };
}
