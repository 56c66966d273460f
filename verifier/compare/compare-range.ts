import type { IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { BatchMatcher, maxDifferences, type Excuse } from './batch-matcher.ts';
import { AmountCounter, type Comparison } from './comparison.ts';
import type { CompareContext } from './compare-context.ts';
import type { DocumentDifference } from './mismatch.ts';
import { partsOf } from './range-parts.ts';
import { FetchSize } from './fetch-size.ts';
import { readRange } from './read-documents.ts';

/**
 * Compares the documents of a range, byte for byte. The source is read in the order of `_id`; for each batch of it the
 * destination is asked for the same part of the range, so that nothing here has to know how a server orders keys.
 * Two batches of the source and one of the destination are held at a time, of about two megabytes each.
 */
export async function compareRange(
  context: CompareContext,
  namespace: Namespace,
  range: IdRange,
  excuse?: Excuse,
): Promise<Comparison> {
  const { source, destination, monitor } = context;
  const found: DocumentDifference[] = [];
  const amount = new AmountCounter();
  const fetchSize = new FetchSize();
  const batches = readRange(context, source, namespace, range, fetchSize);
  for await (const { list, part } of partsOf(batches, range)) {
    const matcher = new BatchMatcher(list, { excuse, showValues: context.reportValues });
    // One more, so that equal documents come in one piece that is known to be the last.
    const likely = new FetchSize(list.count + 1);
    for await (const batch of readRange(context, destination, namespace, part, likely))
      matcher.take(batch.list);
    amount.add(list);
    monitor.addCompared(list);
    const differences = matcher.finish();
    found.push(...differences.found);
    if (differences.isOverflowing || found.length > maxDifferences) {
      return { found, isOverflowing: true, compared: amount.total };
    }
  }
  return { found, isOverflowing: false, compared: amount.total };
}
