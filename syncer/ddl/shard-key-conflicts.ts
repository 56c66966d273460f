import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import { isIdIndex, isTrue } from '../../mongo/replicated-form.ts';
import { canBeUnique, shardKeyDocument, type ShardKey } from '../../mongo/shard-key.ts';
import type { IndexSpec } from '../../mongo/specification.ts';
import { SyncError } from '../../service/errors.ts';

/**
 * Makes sure that a collection can be sharded with the indexes that it has on the source.
 * @throws SyncError IncompatibleUniqueIndex for a unique one that the server cannot keep unique across shards.
 */
export function checkUniqueIndexes(
  namespace: Namespace,
  indexes: readonly IndexSpec[],
  key: ShardKey,
): void {
  const broken = indexes.find((spec) => {
    const isUnique = isTrue(spec['unique']) || isTrue(spec['prepareUnique']);
    return isUnique && !isIdIndex(spec) && !canBeUnique(spec, key);
  });
  if (!broken) return;
  throw new SyncError(
    'IncompatibleUniqueIndex',
    `index ${broken.name} of ${namespaceText(namespace)} is unique and does not begin with the fields of the shard key ${keyText(key)}: no sharded collection can have it`,
  );
}

/** A shard key as people write it. */
export function keyText(key: ShardKey): string {
  return JSON.stringify(shardKeyDocument(key));
}
