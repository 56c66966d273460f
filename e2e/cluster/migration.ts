import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { MongoClient, type Db } from 'mongodb';
import type { ClusterSync } from '../../operator/api/clustersync.ts';
import type { Cluster } from '../ground/kubernetes/cluster.ts';
import { operatorNamespace, useOperator } from '../ground/kubernetes/operator-release.ts';
import { SyncNamespace } from '../ground/kubernetes/sync-namespace.ts';
import { startReplicaSet, type ReplicaSet } from '../ground/mongod/replica-set.ts';
import { loadShop } from '../ground/shop/load-shop.ts';

/** The name that the examples give to the sync and to its verification. */
export const syncName = 'shop';

/** The operator's pods, for kubectl. */
export const operatorSelector = '--selector=app.kubernetes.io/component=operator';

/** Two deployments, and a namespace of the cluster with their connection strings in Secrets, as the examples want it. */
export interface Migration {
  readonly cluster: Cluster;
  readonly namespace: SyncNamespace;
  readonly source: ReplicaSet;
  readonly destination: ReplicaSet;
}

/**
 * Runs a test on a migration of its own. When it fails, the error comes with what the cluster says of it.
 * @param scale - how much data the source has: 1 for 220,000 documents.
 */
export async function withMigration(
  name: string,
  { scale }: { readonly scale: number },
  test: (migration: Migration) => Promise<void>,
): Promise<void> {
  const cluster = await useOperator();
  const { signal } = new AbortController();
  await using source = await startDeployment(cluster, 'old');
  await using destination = await startDeployment(cluster, 'new');
  await using namespace = await SyncNamespace.create(cluster, name);
  await loadShop(source.uri('app'), { scale, signal });
  await namespace.putUris({
    'old-mongodb': source.uri('syncer'),
    'new-mongodb': destination.uri('syncer'),
  });
  try {
    await test({ cluster, namespace, source, destination });
  } catch (error) {
    const dumps = [await cluster.dump(name), await cluster.dump(operatorNamespace)];
    console.error(dumps.join('\n'));
    throw error;
  }
}

async function startDeployment({ hostAddress }: Cluster, name: string): Promise<ReplicaSet> {
  return await startReplicaSet({
    members: 1,
    name,
    bindIp: [hostAddress],
    advertisedHost: hostAddress,
    parameters: { enableTestCommands: 1 },
  });
}

/** The text of a file in docs/examples. */
export async function example(file: string): Promise<string> {
  return await readFile(
    fileURLToPath(new URL(`../../docs/examples/${file}`, import.meta.url)),
    'utf8',
  );
}

/** True when the destination has caught up, so far as the operator knows. */
export function hasCaughtUp({ status }: ClusterSync): boolean {
  return status?.canCommit === true && (status.lagTimeSeconds ?? Infinity) <= 2;
}

/** Looks into a database with a user who may see everything. */
export async function lookInto<T>(
  set: ReplicaSet,
  database: string,
  look: (db: Db) => Promise<T>,
): Promise<T> {
  await using client = new MongoClient(set.uri('admin'));
  return await look(client.db(database));
}
