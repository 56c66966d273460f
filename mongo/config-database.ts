import type { Document, UUID } from 'mongodb';
import { checkedRow, type CheckedValue } from './checked-value.ts';
import type { ClusterClient } from './cluster-client.ts';
import { hostsOf, RawCursor } from './raw-cursor.ts';
import { bsonType, type RawDocument } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';
import { type ShardKey, shardKeyFrom } from './shard-key.ts';
import { decodeSpec } from './specification.ts';
import { boundedDocuments, WholeReading } from './whole-reading.ts';

/**
 * What a command finds in the config database of a sharded cluster, where its router stores the placement of collections.
 * Documents in it, such as bounds and keys, stay bytes. Not for chunks: everything is held at the same time.
 * @throws SyncError ServerRefused if it does not end.
 */
export async function readConfig(
  { raw }: ClusterClient,
  command: Document,
  signal: AbortSignal,
): Promise<CheckedValue[]> {
  const read = { ...command, readConcern: { level: 'majority' } };
  await using cursor = await RawCursor.open(raw, 'config', read, { signal });
  const rows: CheckedValue[] = [];
  const from = `config.${String(Object.values(command)[0])}`;
  const reading = new WholeReading(from);
  for await (const { documents } of cursor.batches()) {
    for (const row of documents) {
      reading.add(row.length);
      rows.push(checkedRow(readable(row), `a document of ${from}`, cursor.address));
    }
  }
  return rows;
}

/**
 * The filter on config.collections for those that are sharded. Others are listed there by servers from 8.0 on: unsharded ones
 * that were moved to another shard (`moveCollection`), or are no longer sharded (`unshardCollection`). Those have a key, too,
 * but no shard key (src/mongo/s/catalog/type_collection.idl).
 */
export const shardedOnly = { unsplittable: { $ne: true } } as const;

/** A collection that has a shard key. */
export interface ShardedCollection {
  readonly namespace: string;
  readonly key: ShardKey;
  /** Whether the cluster itself requires that no two documents have the same key. */
  readonly isUnique: boolean;
}

/** The sharded collections of a cluster, by their UUIDs as 32 hexadecimal digits. */
export type ShardKeys = ReadonlyMap<string, ShardedCollection>;

/**
 * Reads the shard keys of a cluster's collections.
 * @param uuids - of the collections in question; all by default.
 */
export async function readShardKeys(
  { decoded }: ClusterClient,
  signal: AbortSignal,
  uuids?: readonly UUID[],
): Promise<ShardKeys> {
  const filter = {
    ...shardedOnly,
    dropped: { $ne: true },
    ...(uuids && { uuid: { $in: [...uuids] } }),
  };
  const rows = decoded.db('config').collection('collections').find(filter, { signal });
  const found = new Map<string, ShardedCollection>();
  const server = hostsOf(decoded);
  for await (const row of boundedDocuments(rows)) {
    const placed = checkedRow(row, 'a document of config.collections', server);
    const key = shardKeyFrom(placed.field('key').document());
    const uuidHex = placed.field('uuid').uuid().toHexString(false);
    const isUnique = placed.optional('unique')?.boolean() ?? false;
    found.set(uuidHex, { namespace: placed.field('_id').text(), key, isUnique });
  }
  return found;
}

/** With names as they are displayed, even if they are not UTF-8: no collection with such a name is synced. */
function readable(row: RawDocument): Document {
  const fields = Object.entries(decodeSpec(row));
  return Object.fromEntries(
    fields.map(([name, value]) => {
      const isOdd = value instanceof RawValue && value.type === bsonType.string;
      return [name, isOdd ? value.decode() : value];
    }),
  );
}
