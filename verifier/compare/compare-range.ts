import type { IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { BatchMatcher, maxDifferences, type Excuse } from './batch-matcher.ts';
import { AmountCounter, type Comparison } from './comparison.ts';
import type { CompareContext } from './compare-context.ts';
import type { DocumentDifference } from './mismatch.ts';
import { partsOf } from './range-parts.ts';
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
): Promise<Comparison> {
  const { source, destination, monitor } = context;
  const found: DocumentDifference[] = [];
  const amount = new AmountCounter();
  const batches = readRange(context, source, namespace, range);
  for await (const { documents, part } of partsOf(batches, range)) {
    const matcher = new BatchMatcher(documents, { excuse, showValues: context.reportValues });
    for await (const batch of readRange(context, destination, namespace, part))
      matcher.take(batch.documents);
    amount.add(documents);
    monitor.addCompared(documents);
    const differences = matcher.finish();
    found.push(...differences.found);
    if (differences.isOverflowing || found.length > maxDifferences) {
      return { found, isOverflowing: true, compared: amount.total };
    }
  }
  return { found, isOverflowing: false, compared: amount.total };
}
