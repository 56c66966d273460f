import { MongoClient, type Document } from 'mongodb';
import { assertEqualClusters, type CompareOptions } from '../../ground/compare.ts';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import type { TestUser } from '../../ground/mongod/users.ts';
import { assertOnOneShard } from '../../ground/sharded/on-one-shard.ts';
import type { ShardedClusterOptions } from '../../ground/sharded/sharded-cluster.ts';
import { useShardedCluster, type ShardedGround } from '../../ground/sharded/use-sharded-cluster.ts';
import {
  startSyncerProcess,
  type SyncerProcess,
  type SyncerProcessOptions,
} from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { startSyncing } from './cluster-pair.ts';
import { canBeSlow } from './slow-commands.ts';

/** A replica set or a sharded cluster to sync from, and a sharded cluster to sync to. */
export interface ShardedPair {
  readonly source: {
    readonly client: MongoClient;
    uri(user: TestUser): string;
    /** Of a sharded cluster. */
    readonly ground?: ShardedGround;
  };
  readonly destination: ShardedGround;
  /** Drops all user databases and the syncer's own on both sides. */
  reset(): Promise<void>;
  syncer(options?: Partial<SyncerProcessOptions>): Promise<SyncerProcess>;
  /** Starts a sync, and waits until it can be committed. */
  syncing(body: object, options?: Partial<SyncerProcessOptions>): Promise<SyncerProcess>;
  /** Rejects unless both sides hold the same, byte for byte, and each document is on one shard. */
  assertEqual(options?: CompareOptions): Promise<void>;
  /** How many documents of a collection each shard has. */
  spread(ns: string): Promise<Readonly<Record<string, number>>>;
  /** The shard key of a collection of the destination; undefined where it is unsharded. */
  shardKey(ns: string): Promise<Document | undefined>;
}

/** What most tests need of a pair, whatever its destination is. */
export type PairToSync = Pick<
  ShardedPair,
  'source' | 'reset' | 'syncer' | 'syncing' | 'assertEqual'
>;

/** An entry of `sharding` in a start body. */
export function shardingEntry(ns: string, ...key: readonly object[]): object {
  const dot = ns.indexOf('.');
  return { database: ns.slice(0, dot), collection: ns.slice(dot + 1), shardCollection: { key } };
}

/**
 * Gives the tests of a suite a source and a sharded destination: to be called in `describe`, used in hooks and tests.
 * @param sourceShards - how many shards the source has; a replica set where it is left out.
 */
export function useShardedPair(
  shards: ShardedClusterOptions['shards'],
  sourceShards?: ShardedClusterOptions['shards'],
  { keepsOrphans = false }: { readonly keepsOrphans?: boolean } = {},
): ShardedPair {
  const need = sourceShards === undefined ? useReplicaSet() : useShards(sourceShards, keepsOrphans);
  const destination = useShardedCluster({ side: 'destination', shards, parameters: canBeSlow });
  const pair: ShardedPair = {
    get source() {
      return need();
    },
    destination,
    async reset() {
      await Promise.all([emptyCluster(need().client), emptyCluster(destination.client)]);
    },
    async syncer(options) {
      return await startSyncerProcess({
        cluster0: need().uri('syncer'),
        cluster1: destination.cluster.uri('syncer'),
        ...options,
      });
    },
    async syncing(body, options) {
      return await startSyncing(await pair.syncer(options), body);
    },
    async assertEqual(options) {
      await assertEqualClusters(need().uri('admin'), destination.cluster.uri('admin'), options);
      await assertOnOneShard(destination);
    },
    async spread(ns) {
      const documents = Object.entries(await destination.onShards(ns));
      return Object.fromEntries(documents.map(([shard, found]) => [shard, found.length]));
    },
    async shardKey(ns) {
      const collections = destination.client
        .db('config')
        .collection<{ _id: string }>('collections');
      const found: Document | null = await collections.findOne({ _id: ns });
      return found?.['key'] as Document | undefined;
    },
  };
  return pair;
}

function useReplicaSet(): () => ShardedPair['source'] {
  let started: { readonly set: ReplicaSet; readonly client: MongoClient } | undefined;
  before(async () => {
    const set = await startReplicaSet({ members: 1, name: 'source' });
    started = { set, client: new MongoClient(set.uri('admin')) };
  });
  after(async () => {
    await started?.client.close();
    await started?.set.stop();
  });
  return () => {
    if (!started) throw new Error('the pair is started by the hooks of its suite');
    const { set, client } = started;
    return { client, uri: (user) => set.uri(user) };
  };
}

/** A sharded source, whose chunks leave orphans behind when they move if asked for. */
export function useShards(
  shards: ShardedClusterOptions['shards'],
  keepsOrphans: boolean,
): () => ShardedPair['source'] {
  // What chunks leave behind when they move stays, if that is asked for. A rename over it would wait for ever then.
  const parameters = { ...canBeSlow, disableResumableRangeDeleter: keepsOrphans };
  const ground = useShardedCluster({ shards, name: 'from', parameters });
  return () => ({ ground, client: ground.client, uri: (user) => ground.cluster.uri(user) });
}

/** Commits a sync that may have stopped by now, as a change of its source is not supported. */
export async function commitUnlessStopped(syncer: SyncerProcess): Promise<void> {
  const { status, body } = await syncer.post('commit', {});
  if (status !== 200 && body['error'] !== 'ChangeNotSupported')
    throw new Error(`commit: ${JSON.stringify(body)}`);
}

/** What progress says of a sync that has stopped for good. */
export async function failureOf(syncer: SyncerProcess): Promise<string> {
  let failure: unknown;
  await until('the failure of the sync', async () => {
    failure = (await syncer.getProgress()).body['error'];
    return failure !== undefined;
  });
  return String(failure);
}
