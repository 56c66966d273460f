import type { Deployment } from '../../mongo/deployment.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { bsonType } from '../../mongo/raw-bson.ts';
import { isIdIndex } from '../../mongo/replicated-form.ts';
import { readShardIndexes } from '../../mongo/shard-indexes.ts';
import { shardKeyIndexName } from '../../mongo/shard-key.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import type { Logger } from '../../service/logger.ts';
import { DestinationCatalog } from './destination-catalog.ts';
import type { LeftIndexes } from './left-indexes.ts';

/** What dropping indexes that refuse documents needs. */
export interface IndexDropContext {
  readonly destination: Deployment;
  readonly leftIndexes: Pick<LeftIndexes, 'leave'>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** A number after the first part of a path: in an array it can be an element's index, or the name of a field of an element. */
const numericPart = /\.\d+(\.|$)/;

/**
 * True for indexes that can refuse a document: two arrays in one compound key, an array in a hashed key, a geo key that is not
 * a location, an unknown language in a text key, an array whose elements have fields that are named by a number in the key's
 * path, a symbol under a collation, a Decimal128 in an index of version 1.
 */
export function canRefuse(spec: IndexSpec): boolean {
  // The sync's own, which supports a shard key, has a second field that no document has.
  if (isIdIndex(spec) || spec.name === shardKeyIndexName) return false;
  const fields = spec.key.elements();
  return (
    fields.length > 1 ||
    fields.some(({ type, name }) => type === bsonType.string || numericPart.test(name)) ||
    spec['collation'] !== undefined ||
    Number(spec['v']) < 2
  );
}

/**
 * Drops the indexes of a destination's collection that can refuse a document, and leaves them to the commit. While changes are
 * applied over a later state, a document and an index may meet that never did on the source: the index was dropped there before
 * the document came, or the other way round. At the commit's time both are right.
 * @param error - the refusal of a document.
 */
export async function dropRefusingIndexes(
  context: IndexDropContext,
  namespace: Namespace,
  error: unknown,
): Promise<void> {
  const { destination, leftIndexes, logger, signal } = context;
  // Any instance may do this: it changes nothing that the stored catalog says.
  const catalog = new DestinationCatalog(destination, () => undefined, signal);
  for (const name of await refusingIndexesOf(context, catalog, namespace)) {
    await leftIndexes.leave(namespace, name, error);
    if (!(await catalog.dropUnlessNeeded(namespace, name))) continue;
    logger.debug(
      { namespace: namespaceText(namespace), index: name },
      'index is left to the commit: it rejects a document',
    );
  }
}

/** The names of the indexes that can refuse a document, on any shard. */
async function refusingIndexesOf(
  { destination, signal }: IndexDropContext,
  catalog: DestinationCatalog,
  namespace: Namespace,
): Promise<ReadonlySet<string>> {
  const listed = await catalog.indexesOf(namespace);
  // A router lists those of one shard. Another may have finished an index that this one still builds.
  const onShards = destination.isSharded
    ? [...(await readShardIndexes(destination, namespace, listed, signal)).values()]
    : [];
  const refusing = [listed, ...onShards].flat().filter(canRefuse);
  return new Set(refusing.map(({ name }) => name));
}
