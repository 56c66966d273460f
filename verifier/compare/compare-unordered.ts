import type { Namespace } from '../../mongo/namespace.ts';
import { maxDifferences, type Excuse } from './batch-matcher.ts';
import { compareIds, idLists } from './compare-ids.ts';
import { AmountCounter, type CompareContext, type Comparison } from './comparison.ts';
import { idKey } from './id-key.ts';
import type { DocumentDifference } from './mismatch.ts';
import { readRange, wholeRange } from './read-documents.ts';

/**
 * Compares two collections that have their documents in different orders, as collections of different collations have: no `_id` is a
 * bound for both. Each side is read whole, and what it has is looked up on the other by its `_id`.
 */
export async function compareUnordered(
  context: CompareContext,
  namespace: Namespace,
  excuse?: Excuse,
): Promise<Comparison> {
  const amount = new AmountCounter();
  const found: DocumentDifference[] = [];
  const read = { source: 0, destination: 0 };
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
