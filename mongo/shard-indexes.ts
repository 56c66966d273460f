import type { ClusterClient } from './cluster-client.ts';
import { namespaceText, type Namespace } from './namespace.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { documentValue, elementsOf, textValue, type RawDocument } from './raw-bson.ts';
import { RawCursor } from './raw-cursor.ts';
import { decodeIndexSpec, isSameSpec, type IndexSpec } from './specification.ts';
import { WholeReading } from './whole-reading.ts';

/** The finished indexes of each shard that has a part of a sharded collection, by the ids of the shards. */
export type ShardIndexes = ReadonlyMap<string, readonly IndexSpec[]>;

/**
 * The finished indexes of a sharded collection on each shard that has a part of it. A router lists those of one shard as the
 * collection's, even if another shard lacks some of them or has others. The role `clusterMonitor` is enough to read them.
 * @param listed - those of the router. Only these include the index of a clustered collection, which is the collection itself.
 * @throws SyncError ServerRefused if their list does not end.
 */
export async function readShardIndexes(
  cluster: ClusterClient,
  { db, coll }: Namespace,
  listed: readonly IndexSpec[],
  signal: AbortSignal,
): Promise<ShardIndexes> {
  const pipeline = [
    { $indexStats: {} },
    { $match: { building: { $ne: true } } },
    { $project: { _id: 0, shard: 1, spec: 1 } },
  ];
  const aggregate = { aggregate: coll, pipeline, cursor: {} };
  const clustered = listed.filter((spec) => spec['clustered'] !== undefined);
  const found = new Map<string, readonly IndexSpec[]>();
  const reading = new WholeReading(`the indexes of ${namespaceText({ db, coll })}`);
  await using cursor = await RawCursor.open(cluster.raw, db, aggregate, { signal });
  for await (const { documents } of cursor.batches()) {
    for (const document of documents) {
      reading.add(document.length);
      const { shard, spec } = rowOf(document, cursor.address);
      found.set(shard, [...(found.get(shard) ?? clustered), spec]);
    }
  }
  return found;
}

function rowOf(
  row: RawDocument,
  server: string,
): { readonly shard: string; readonly spec: IndexSpec } {
  const fields = new Map(elementsOf(row).map((element) => [element.name, element]));
  const [shard, spec] = [fields.get('shard'), fields.get('spec')];
  if (!shard || !spec)
    throw new MalformedAnswer('$indexStats of a sharded collection without shard and spec', server);
  return { shard: textValue(shard), spec: decodeIndexSpec(documentValue(spec)) };
}

/**
 * The indexes that some shards have and others lack, or have differently: by name, with where that is so. Each shard builds an
 * index on its own, and if the documents of one refuse it, it remains on the others. No such index counts as one of the
 * collection.
 */
export function unevenIndexes(indexes: ShardIndexes): ReadonlyMap<string, string> {
  const shards = [...indexes.keys()].sort();
  const names = new Set([...indexes.values()].flat().map(({ name }) => name));
  const uneven = new Map<string, string>();
  for (const name of names) {
    const specs = shards.map((shard) => indexes.get(shard)?.find((spec) => spec.name === name));
    const [first] = specs.filter((spec) => spec !== undefined);
    const without = shards.filter((_, at) => specs[at] === undefined);
    if (without.length > 0) uneven.set(name, `not on ${without.join(', ')}`);
    else if (specs.some((spec) => !spec || !first || !isBuiltAlike(spec, first)))
      uneven.set(name, `not the same on ${shards.join(', ')}`);
  }
  return uneven;
}

/** Fields that do not affect how an index is built: old servers add some of them, `collMod` changes the rest. */
const passingFields = new Set([
  ...['ns', 'background'],
  ...['hidden', 'expireAfterSeconds', 'prepareUnique', 'unique'],
]);

function isBuiltAlike(left: IndexSpec, right: IndexSpec): boolean {
  return isSameSpec(lasting(left), lasting(right));
}

function lasting(spec: IndexSpec): object {
  const fields = Object.entries(spec).filter(([field]) => !passingFields.has(field));
  return Object.fromEntries(fields.sort(([left], [right]) => (left < right ? -1 : 1)));
}
