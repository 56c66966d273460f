import type { Namespace } from '../../mongo/namespace.ts';
import type { RawCursor } from '../../mongo/raw-cursor.ts';
import type { CompareContext } from './compare-context.ts';
import { idKey, type IdKey } from './id-key.ts';
import type { DocumentDifference } from './mismatch.ts';
import { readDocuments } from './read-documents.ts';

/**
 * Compares the natural order of a capped collection, by `_id`, where both sides hold the same documents. The first
 * document that is at another place is the difference.
 */
export async function compareOrder(
  { source, destination, signal }: CompareContext,
  namespace: Namespace,
): Promise<DocumentDifference | undefined> {
  const query = { hint: { $natural: 1 } };
  await using expected = await readDocuments(source, namespace, query, signal);
  await using actual = await readDocuments(destination, namespace, query, signal);
  const left = idsOf(expected);
  const right = idsOf(actual);
  for (;;) {
    const [a, b] = [await left.next(), await right.next()];
    if (a.done === true) return undefined;
    if (a.value !== b.value) {
      return { kind: 'documentOrder', id: a.value, detail: 'at another place in natural order' };
    }
  }
}

async function* idsOf(cursor: RawCursor): AsyncGenerator<IdKey, undefined> {
  for await (const { documents } of cursor.batches()) {
    for (const document of documents) yield idKey(document);
  }
}
