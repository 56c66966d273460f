import type { Namespace } from '../../mongo/namespace.ts';
import { elementsOf, stringValue, valueBytes, type RawDocument } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { decodeIndexSpec, type IndexSpec } from '../../mongo/specification.ts';
import type { Side } from './compare-context.ts';

/**
 * The finished indexes of a sharded collection on each shard that has a part of it. A router lists those of one shard as the
 * collection's, also where another one lacks some of them or has others. The role `clusterMonitor` is enough to read them.
 * @param listed - those of the router. The index of a clustered collection, which is the collection itself, is among these
 * alone.
 */
export async function readShardIndexes(
  { cluster }: Side,
  { db, coll }: Namespace,
  listed: readonly IndexSpec[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly IndexSpec[]>> {
  const pipeline = [
    { $indexStats: {} },
    { $match: { building: { $ne: true } } },
    { $project: { _id: 0, shard: 1, spec: 1 } },
  ];
  const aggregate = { aggregate: coll, pipeline, cursor: {} };
  const clustered = listed.filter((spec) => spec['clustered'] !== undefined);
  const found = new Map<string, readonly IndexSpec[]>();
  await using cursor = await RawCursor.open(cluster.raw, db, aggregate, { signal });
  for await (const { documents } of cursor.batches()) {
    for (const document of documents) {
      const { shard, spec } = rowOf(document);
      found.set(shard, [...(found.get(shard) ?? clustered), spec]);
    }
  }
  return found;
}

function rowOf(row: RawDocument): { readonly shard: string; readonly spec: IndexSpec } {
  const fields = new Map(elementsOf(row).map((element) => [element.name, element]));
  const [shard, spec] = [fields.get('shard'), fields.get('spec')];
  if (!shard || !spec)
    throw new Error('$indexStats of a sharded collection without shard and spec');
  return { shard: stringValue(shard), spec: decodeIndexSpec(valueBytes(spec)) };
}
