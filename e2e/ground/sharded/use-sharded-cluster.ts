import { MongoClient, type Collection, type Document } from 'mongodb';
import {
  startShardedCluster,
  type ShardedCluster,
  type ShardedClusterOptions,
} from './sharded-cluster.ts';

/** A document with an `_id` that is a number or a text. */
export interface Item extends Document {
  readonly _id: number | string;
}

/** A sharded cluster for the tests of a suite, and a client of it that may do everything. */
export interface ShardedGround {
  readonly cluster: ShardedCluster;
  readonly client: MongoClient;
  /** Runs a command on the database admin. */
  admin(command: Document): Promise<Document>;
  collection(ns: string): Collection<Item>;
  /** The documents that are on each shard itself, orphaned ones too, sorted by `_id`. */
  onShards(ns: string): Promise<Readonly<Record<string, readonly Item[]>>>;
}

/** Gives the tests of a suite a sharded cluster: to be called in `describe`, used in hooks and tests. */
export function useShardedCluster(options: ShardedClusterOptions): ShardedGround {
  let started: { readonly cluster: ShardedCluster; readonly client: MongoClient } | undefined;
  before(async () => {
    const cluster = await startShardedCluster(options);
    started = { cluster, client: new MongoClient(cluster.uri('admin')) };
  });
  after(async () => {
    await started?.client.close();
    await started?.cluster.stop();
  });
  const need = () => {
    if (!started) throw new Error('the cluster is started by the hooks of its suite');
    return started;
  };
  return {
    get cluster() {
      return need().cluster;
    },
    get client() {
      return need().client;
    },
    async admin(command) {
      return await need().client.db('admin').command(command);
    },
    collection: (ns) => collectionOf(need().client, ns),
    async onShards(ns) {
      const { cluster } = need();
      const documents = cluster.shards.map(async (shard) => {
        const found = collectionOf(cluster.shardClient(shard), ns).find().sort({ _id: 1 });
        return [shard, await found.toArray()] as const;
      });
      return Object.fromEntries(await Promise.all(documents));
    },
  };
}

/** The collection `<db>.<coll>`. */
export function collectionOf(client: MongoClient, ns: string): Collection<Item> {
  const dot = ns.indexOf('.');
  return client.db(ns.slice(0, dot)).collection<Item>(ns.slice(dot + 1));
}
