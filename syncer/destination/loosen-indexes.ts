import { listIndexes } from '../../mongo/catalog.ts';
import { bsonType } from '../../mongo/raw-bson.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { isIdIndex } from '../../mongo/replicated-form.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import type { DestinationContext } from './destination-context.ts';
import type { LeftIndexes } from './left-indexes.ts';
import { dropUnlessNeeded } from './destination-catalog.ts';

/** What dropping indexes that refuse documents needs. */
export type Loosening = Pick<
  DestinationContext,
  'destination' | 'signal' | 'logger' | 'options'
> & {
  readonly leftIndexes: Pick<LeftIndexes, 'leave'>;
};

/** A number behind the first part of a path: in an array it can be an element's place, or the name of a field of one. */
const numericPart = /\.\d+(\.|$)/;

/**
 * True for indexes that can refuse a document: two arrays in one compound key, an array in a hashed key, what is no
 * place in a geo key, an unknown language in a text key, an array whose elements have fields that are named by a number in
 * the key's path, a symbol under a collation, a Decimal128 in an index of version 1.
 */
export function canRefuse(spec: IndexSpec): boolean {
  if (isIdIndex(spec)) return false;
  const fields = spec.key.elements();
  return (
    fields.length > 1 ||
    fields.some(({ type, name }) => type === bsonType.string || numericPart.test(name)) ||
    spec['collation'] !== undefined ||
    Number(spec['v']) < 2
  );
}

/**
 * Drops the indexes of a destination's collection that can refuse a document, and leaves them to the commit. While
 * changes are applied over a later state, a document and an index may stand side by side that never did on the source:
 * the index was dropped there before the document came, or the other way round. At the commit's time both are right.
 * @param error - with which a document was refused.
 */
export async function dropRefusingIndexes(
  context: Loosening,
  namespace: Namespace,
  error: unknown,
): Promise<void> {
  const present = (await listIndexes(context.destination, namespace, context.signal)) ?? [];
  for (const { name } of present.filter(canRefuse)) {
    await context.leftIndexes.leave(namespace, name, error);
    // Each instance may: it changes nothing that the catalog says.
    const changing = { ...context, requireLease: () => undefined };
    if (!(await dropUnlessNeeded(changing, namespace, name))) continue;
    context.logger.debug(
      { namespace: namespaceText(namespace), index: name },
      'index is left to the commit: it refuses a document',
    );
  }
}
