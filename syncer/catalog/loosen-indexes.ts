import { listIndexes } from '../../mongo/catalog.ts';
import { bsonType } from '../../mongo/raw-bson.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { isIdIndex } from '../../mongo/replicated-form.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import type { SyncContext } from '../sync-context.ts';
import { dropUnlessNeeded } from './destination-catalog.ts';

/**
 * True for indexes that can refuse a document: two arrays in one compound key, an array in a hashed key, what is no
 * place in a geo key, an unknown language in a text key.
 */
export function canRefuse(spec: IndexSpec): boolean {
  const fields = spec.key.elements();
  return (
    !isIdIndex(spec) && (fields.length > 1 || fields.some(({ type }) => type === bsonType.string))
  );
}

/**
 * Drops the indexes of a destination's collection that can refuse a document, and leaves them to the commit. While
 * changes are applied over a later state, a document and an index may stand side by side that never did on the source:
 * the index was dropped there before the document came, or the other way round. At the commit's time both are right.
 */
export async function dropRefusingIndexes(
  context: Pick<SyncContext, 'destination' | 'signal' | 'logger' | 'options'>,
  namespace: Namespace,
): Promise<void> {
  const present = (await listIndexes(context.destination, namespace, context.signal)) ?? [];
  for (const { name } of present.filter(canRefuse)) {
    // Each instance may: it changes nothing that the catalog says.
    const changing = { ...context, requireLease: () => undefined };
    if (!(await dropUnlessNeeded(changing, namespace, name))) continue;
    context.logger.debug(
      { namespace: namespaceText(namespace), index: name },
      'index is left to the commit: it refuses a document',
    );
  }
}
