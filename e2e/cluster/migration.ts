import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { MongoClient, type Db } from 'mongodb';
import type { ClusterSync } from '../../operator/api/clustersync.ts';
import type { Cluster } from '../ground/kubernetes/cluster.ts';
import { operatorNamespace, useOperator } from '../ground/kubernetes/operator-release.ts';
import { SyncNamespace } from '../ground/kubernetes/sync-namespace.ts';
import { startDeployment, type Deployment, type DeploymentKind } from '../ground/deployment.ts';
import { createGuardedFolder } from '../ground/guarded-folder.ts';
import {
  createCertificateUser,
  issueServerTls,
  type ServerTls,
  uriWithoutUser,
} from '../ground/mongod/server-tls.ts';
import { testPassword } from '../ground/mongod/users.ts';
import { loadShop } from '../ground/shop/load-shop.ts';
import { shardShop } from '../ground/shop/shard-shop.ts';

/** The name that the examples give to the sync and to its verification. */
export const syncName = 'shop';

/** The operator's pods, for kubectl. */
export const operatorSelector = '--selector=app.kubernetes.io/component=operator';

/** Two deployments, and a namespace of the cluster with their connection strings in Secrets, as the examples want it. */
export interface Migration {
  readonly cluster: Cluster;
  readonly namespace: SyncNamespace;
  readonly source: Deployment;
  readonly destination: Deployment;
}

/** What is migrated. */
export interface MigrationOptions {
  /** How much data the source has: 1 for 220,000 documents. */
  readonly scale: number;
  /** How many shards source and destination have; replica sets where it is left out. */
  readonly shards?: readonly [DeploymentKind, DeploymentKind];
  /** Both sides are replica sets that are reached as clustersync-certificates.yaml says. */
  readonly hasCertificates?: boolean;
}

/**
 * Runs a test on a migration of its own. When it fails, the error comes with what the cluster says of it.
 */
export async function withMigration(
  name: string,
  { scale, shards, hasCertificates = false }: MigrationOptions,
  test: (migration: Migration) => Promise<void>,
): Promise<void> {
  const cluster = await useOperator();
  const { signal } = new AbortController();
  const [sourceKind, destinationKind] = shards ?? ['replicaSet', 'replicaSet'];
  const { hostAddress } = cluster;
  await using folder = await createGuardedFolder();
  const tls = hasCertificates ? await issueServerTls(folder.path, hostAddress) : undefined;
  const options = tls ? { tls } : {};
  await using source = await startDeployment('source', sourceKind, hostAddress, options);
  await using destination = await startDeployment(
    'destination',
    destinationKind,
    hostAddress,
    options,
  );
  await using namespace = await SyncNamespace.create(cluster, name);
  await loadShop(source.uri('app'), { scale, signal });
  if (shards) await shardShop(source.uri('admin'));
  if (tls) await namespace.putSecrets(certificateSecrets(tls));
  await namespace.putUris(
    tls && !('shards' in source) && !('shards' in destination)
      ? {
          'old-mongodb': await createCertificateUser(source),
          'new-mongodb': uriWithoutUser(destination),
        }
      : { 'old-mongodb': source.uri('syncer'), 'new-mongodb': destination.uri('syncer') },
  );
  try {
    await test({ cluster, namespace, source, destination });
  } catch (error) {
    const dumps = [await cluster.dump(name), await cluster.dump(operatorNamespace)];
    console.error(dumps.join('\n'));
    throw error;
  }
}

/** As clustersync-certificates.yaml names them. */
function certificateSecrets({ served, client }: ServerTls) {
  const authority = { 'ca.crt': served['ca.crt'] };
  return {
    ...{ 'old-authority': authority, 'new-authority': authority, 'shop-client': { ...client } },
    'new-login': { username: 'syncer', password: testPassword },
  };
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
  deployment: Deployment,
  database: string,
  look: (db: Db) => Promise<T>,
): Promise<T> {
  await using client = new MongoClient(deployment.uri('admin'));
  return await look(client.db(database));
}
