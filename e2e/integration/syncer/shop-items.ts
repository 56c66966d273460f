import type { Collection, Document } from 'mongodb';
import { shardingEntry, type ShardedPair } from './sharded-pair.ts';

/** A document with fields of the kinds that shard keys are made of. */
export interface Item extends Document {
  _id: string | number;
}

export const items = (count: number, first = 0): Item[] =>
  Array.from({ length: count }, (_, n) => ({
    _id: first + n,
    k: (first + n) * 7,
    a: { b: `text ${(first + n) % 50}` },
    region: ['eu', 'us', 'asia'][n % 3],
  }));

/** The collection `shop.items` of both sides, which most tests shard. */
export function shopItems(pair: ShardedPair): {
  readonly source: () => Collection<Item>;
  readonly copy: () => Collection<Item>;
} {
  return {
    source: () => pair.source.client.db('shop').collection<Item>('items'),
    copy: () => pair.destination.client.db('shop').collection<Item>('items'),
  };
}

/** The part of a start body that shards it by `k`. */
export const byK = { sharding: { shardingEntries: [shardingEntry('shop.items', { k: 1 })] } };
