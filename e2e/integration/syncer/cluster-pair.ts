import { MongoClient, type Document } from 'mongodb';
import { assertEqualClusters, type CompareOptions } from '../../ground/compare.ts';
import { databaseNames, emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import type { SyncerRoles } from '../../ground/mongod/users.ts';
import {
  startReplicaSet,
  type ReplicaSet,
  type ReplicaSetOptions,
} from '../../ground/mongod/replica-set.ts';
import {
  startSyncerProcess,
  type SyncerProcess,
  type SyncerProcessOptions,
} from '../../ground/syncer-process.ts';

/** The start body of a sync that asks for nothing but the defaults. */
export const forward = { source: 'cluster0', destination: 'cluster1' } as const;

/** One side of a sync: a replica set, and a client of it that may do everything. */
export interface Side {
  readonly set: ReplicaSet;
  readonly client: MongoClient;
}

/** Two replica sets to sync between: the source is cluster0, the destination cluster1. */
export interface ClusterPair {
  readonly source: Side;
  readonly destination: Side;
  /** Drops all user databases and the syncer's own on both sides, and lets ordinary users write to them. */
  reset(): Promise<void>;
  /** Starts a syncer between them. */
  syncer(options?: Partial<SyncerProcessOptions>): Promise<SyncerProcess>;
  /** Starts a sync, and waits until it can be committed. */
  syncing(body?: object, options?: Partial<SyncerProcessOptions>): Promise<SyncerProcess>;
  /** Rejects unless both sides hold the same, byte for byte. */
  assertEqual(options?: CompareOptions): Promise<void>;
}

/** How both are started, and with which roles of the user `syncer`, where they differ. */
export interface ClusterPairOptions extends Omit<ReplicaSetOptions, 'members' | 'syncerRoles'> {
  readonly roles?: Readonly<Record<'source' | 'destination', SyncerRoles>>;
}

/** Lets the user `admin` of both sides do everything, such as `applyOps`. */
export async function allowEverything(
  pair: Pick<ClusterPair, 'source' | 'destination'>,
): Promise<void> {
  for (const { client } of [pair.source, pair.destination]) {
    const admin = client.db('admin');
    const privileges = [{ resource: { anyResource: true }, actions: ['anyAction'] }];
    await admin.command({ createRole: 'everything', privileges, roles: [] });
    await admin.command({ grantRolesToUser: 'admin', roles: ['everything'] });
  }
}

/** Gives the tests of a suite a pair of replica sets: to be called in `describe`, used in hooks and tests. */
export function useClusterPair({ roles, ...options }: ClusterPairOptions = {}): ClusterPair {
  let sides: Readonly<Record<'source' | 'destination', Side>> | undefined;
  before(async () => {
    const [source, destination] = await Promise.all(
      (['source', 'destination'] as const).map(async (name) => {
        const set = await startReplicaSet({
          members: 1,
          name,
          ...options,
          ...(roles && { syncerRoles: roles[name] }),
        });
        return { set, client: new MongoClient(set.uri('admin')) };
      }),
    );
    if (source && destination) sides = { source, destination };
  });
  after(async () => {
    for (const { client, set } of Object.values(sides ?? {})) {
      await client.close();
      await set.stop();
    }
  });
  const side = (name: 'source' | 'destination'): Side => {
    if (!sides) throw new Error('the pair is started by the hooks of its suite');
    return sides[name];
  };
  const pair: ClusterPair = {
    get source() {
      return side('source');
    },
    get destination() {
      return side('destination');
    },
    async reset() {
      await Promise.all([emptyCluster(pair.source.client), emptyCluster(pair.destination.client)]);
    },
    async syncer(syncerOptions) {
      return await startSyncerProcess({
        cluster0: pair.source.set.uri('syncer'),
        cluster1: pair.destination.set.uri('syncer'),
        ...syncerOptions,
      });
    },
    async syncing(body = {}, syncerOptions) {
      return await startSyncing(await pair.syncer(syncerOptions), body);
    },
    async assertEqual(compareOptions) {
      await assertEqualClusters(
        pair.source.set.uri('admin'),
        pair.destination.set.uri('admin'),
        compareOptions,
      );
    },
  };
  return pair;
}

/** Starts a sync, and waits until it can be committed. The syncer ends where that fails. */
export async function startSyncing(syncer: SyncerProcess, body: object): Promise<SyncerProcess> {
  try {
    await syncer.start({ ...forward, ...body });
    await syncer.waitFor(({ canCommit }) => canCommit);
    return syncer;
  } catch (error) {
    await syncer[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * Lets none of what a test has written to the source before be an event of a sync that is started then: its stream begins
 * at the latest write that a majority has, which it includes.
 */
export async function endPreparation({ client }: Pick<Side, 'client'>): Promise<void> {
  await client.db('admin').command({
    appendOplogNote: 1,
    data: { test: 'prepared' },
    writeConcern: { w: 'majority' },
  });
}

/** All collections and views of the user databases, as `db.coll`, in alphabetical order. */
export async function namespacesOf({ client }: Pick<Side, 'client'>): Promise<string[]> {
  const namespaces: string[] = [];
  for (const name of await databaseNames(client)) {
    if (name === 'clustersync_internal') continue;
    const infos = await client.db(name).listCollections({}, { nameOnly: true }).toArray();
    for (const info of infos)
      if (info.name !== 'system.views') namespaces.push(`${name}.${info.name}`);
  }
  return namespaces.sort();
}

/** The specification of an index by its name; undefined when it is not there. */
export async function indexOf(
  { client }: Side,
  db: string,
  coll: string,
  name: string,
): Promise<Document | undefined> {
  const specs = (await client.db(db).collection(coll).indexes()) as Document[];
  return specs.find((spec) => spec['name'] === name);
}

/** The options of a collection or view; undefined when it is not there. */
export async function optionsOf(
  { client }: Side,
  db: string,
  coll: string,
): Promise<Document | undefined> {
  const [info] = await client.db(db).listCollections({ name: coll }).toArray();
  return (info as Document | undefined)?.['options'] as Document | undefined;
}

/** Commits, and waits until the commit is completed. */
export async function commitAndWait(syncer: SyncerProcess): Promise<void> {
  await syncer.commit();
  await syncer.waitFor(({ state }) => state === 'COMMITTED');
}

/** Ends a syncer that a test has stopped by an error, and lets the next process continue until the commit is completed. */
export async function restartAndCommit(syncer: SyncerProcess): Promise<void> {
  await syncer.kill('SIGTERM');
  await syncer.restart();
  await syncer.waitFor(({ canCommit }) => canCommit);
  await commitAndWait(syncer);
}
