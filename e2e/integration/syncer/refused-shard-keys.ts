import type { Document } from 'mongodb';
import type { ShardedPair } from './sharded-pair.ts';

interface Item extends Document {
  _id: number;
}

/** What start says when `shop.items` is to be sharded by `k`, after something was done to the source. */
export function refusedKeys(
  pair: ShardedPair,
): readonly (readonly [
  what: string,
  prepare: () => Promise<unknown>,
  error: string,
  said: RegExp,
])[] {
  const source = () => pair.source.client.db('shop').collection<Item>('items');
  return [
    [
      'without an index for the key',
      async () => await source().insertOne({ _id: 1 }),
      'ShardKeyIndexMissing',
      /shop\.items .*{"k":1}/,
    ],
    [
      'with one of another collation only',
      async () => {
        await pair.source.client
          .db('shop')
          .createCollection('items', { collation: { locale: 'de' } });
        await source().createIndexes([{ key: { k: 1 } }]);
      },
      'ShardKeyIndexMissing',
      /simple collation/,
    ],
    [
      'with a sparse one only',
      async () => await source().createIndexes([{ key: { k: 1 }, sparse: true }]),
      'ShardKeyIndexMissing',
      /shop\.items/,
    ],
    [
      'with a unique index that does not begin with the key',
      async () => {
        await source().createIndexes([{ key: { k: 1 } }]);
        await source().createIndexes([{ key: { email: 1 }, unique: true, name: 'by email' }]);
      },
      'IncompatibleUniqueIndex',
      /by email of shop\.items/,
    ],
    [
      'of a capped collection',
      async () =>
        await pair.source.client.db('shop').createCollection('items', { capped: true, size: 4096 }),
      'InvalidShardKey',
      /capped/,
    ],
    [
      'of a view',
      async () =>
        await pair.source.client
          .db('shop')
          .createCollection('items', { viewOn: 'x', pipeline: [] }),
      'InvalidShardKey',
      /view/,
    ],
    [
      'while the balancer runs',
      async () => await pair.destination.admin({ balancerStart: 1 }),
      'BalancerRunning',
      /cluster1/,
    ],
  ];
}
