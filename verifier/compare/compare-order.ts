import type { Namespace } from '../../mongo/namespace.ts';
import type { RawBatch } from '../../mongo/raw-cursor.ts';
import type { CompareContext } from './comparison.ts';
import { idKey, type IdKey } from './id-key.ts';
import type { DocumentDifference } from './mismatch.ts';
import { readBatches } from './read-documents.ts';

/**
 * Compares the natural order of a capped collection, by `_id`, where both sides hold the same documents. The first
 * document that is at another place is the difference.
 */
export async function compareOrder(
  context: CompareContext,
  namespace: Namespace,
): Promise<DocumentDifference | undefined> {
  const { source, destination } = context;
  const query = { hint: { $natural: 1 } };
  await using left = idsOf(readBatches(context, source, namespace, query));
  await using right = idsOf(readBatches(context, destination, namespace, query));
  for (;;) {
    const [a, b] = [await left.next(), await right.next()];
    if (a.done === true) return undefined;
    if (a.value !== b.value) {
      return { kind: 'documentOrder', id: a.value, detail: 'at another place in natural order' };
    }
  }
}

async function* idsOf(batches: AsyncIterable<RawBatch>): AsyncGenerator<IdKey, undefined> {
  for await (const { documents } of batches) {
    for (const document of documents) yield idKey(document);
  }
}
