import type { DocumentList } from '../../mongo/document-list.ts';
import type { IdRange } from '../../mongo/id-range.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { BatchMatcher, maxDifferences, type Excuse } from './batch-matcher.ts';
import { AmountCounter, type CompareContext, type Comparison } from './comparison.ts';
import { passEqual } from './equal-start.ts';
import { FetchSize } from './fetch-size.ts';
import type { DocumentDifference } from './mismatch.ts';
import { partsOf } from './range-parts.ts';
import { readRange } from './read-documents.ts';

/**
 * Compares the documents of a range, byte for byte. Both sides are read in the order of `_id` at the same time, as long as the
 * same comes from both. From the first difference on only the source is read so; for each batch of it the destination is asked
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
    const read = { source: amount.total.documents, destination: copyCount };
    return { found, isOverflowing: false, compared: amount.total, read };
  };
  const found: DocumentDifference[] = [];
  const fetchSize = new FetchSize();
  await using expected = readRange(context, source, namespace, range, fetchSize);
  await using copies = readRange(context, destination, namespace, range, fetchSize.inStep);
  const rest = await passEqual(expected, copies, range, takeEqual);
  if (!rest) return compared();
  await copies.return();
  for await (const { list, part } of partsOf(rest.batches, rest.range)) {
    const matcher = new BatchMatcher(list, { excuse, showValues: context.reportValues });
    // One more, so that equal documents come in one piece that is known to be the last.
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
