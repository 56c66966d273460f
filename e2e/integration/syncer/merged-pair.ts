import { MongoClient, type Document } from 'mongodb';
import { assertEqualClusters } from '../../ground/compare.ts';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import type { ShardedClusterOptions } from '../../ground/sharded/sharded-cluster.ts';
import { startSyncerProcess } from '../../ground/syncer-process.ts';
import { startSyncing, type Side } from './cluster-pair.ts';
import { useShards, type PairToSync } from './sharded-pair.ts';
import { canBeSlow } from './slow-commands.ts';

/** A sharded cluster to sync from, and a replica set to sync to. */
export interface MergedPair extends PairToSync {
  readonly destination: Side;
  /** Runs a command on the database admin of the source. */
  admin(command: Document): Promise<Document>;
  /** Shards a collection of the source by `k`: what is below `middle` is on the first shard, the rest on the second. */
  halves(ns: string, middle: number): Promise<void>;
}

/** Gives the tests of a suite such a pair: to be called in `describe`, used in hooks and tests. */
export function useMergedPair(
  sourceShards: ShardedClusterOptions['shards'],
  { keepsOrphans = false }: { readonly keepsOrphans?: boolean } = {},
): MergedPair {
  const need = useShards(sourceShards, keepsOrphans);
  let started: Side | undefined;
  before(async () => {
    const set: ReplicaSet = await startReplicaSet({
      members: 1,
      name: 'destination',
      parameters: canBeSlow,
    });
    started = { set, client: new MongoClient(set.uri('admin')) };
  });
  after(async () => {
    await started?.client.close();
    await started?.set.stop();
  });
  const pair: MergedPair = {
    get source() {
      return need();
    },
    get destination() {
      if (!started) throw new Error('the pair is started by the hooks of its suite');
      return started;
    },
    async reset() {
      await Promise.all([emptyCluster(need().client), emptyCluster(pair.destination.client)]);
    },
    async syncer(options) {
      return await startSyncerProcess({
        cluster0: need().uri('syncer'),
        cluster1: pair.destination.set.uri('syncer'),
        ...options,
      });
    },
    async syncing(body, options) {
      return await startSyncing(await pair.syncer(options), body);
    },
    async assertEqual(options) {
      await assertEqualClusters(need().uri('admin'), pair.destination.set.uri('admin'), options);
    },
    async admin(command) {
      return await need().client.db('admin').command(command);
    },
    async halves(ns, middle) {
      const [primaryShard, to] = need().ground?.cluster.shards ?? [];
      await pair.admin({ enableSharding: ns.slice(0, ns.indexOf('.')), primaryShard });
      await pair.admin({ shardCollection: ns, key: { k: 1 } });
      await pair.admin({ split: ns, middle: { k: middle } });
      await pair.admin({ moveChunk: ns, find: { k: middle }, to });
    },
  };
  return pair;
}
