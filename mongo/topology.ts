import type { Document } from 'mongodb';
import { SyncError } from '../service/errors.ts';
import type { ClusterClient } from './cluster-client.ts';
import { runCommand } from './run-command.ts';

/** What kind of deployment a connection string leads to. */
export interface Topology {
  readonly kind: 'replicaSet' | 'sharded';
  /** Name of the replica set; empty for a sharded cluster. */
  readonly setName: string;
  /** `host:port` of the primary, or of the router. */
  readonly host: string;
  /** Version of the server, as `6.0.5`. */
  readonly version: string;
  /** The ids of its shards, sorted. A replica set is one shard, called as the set. */
  readonly shards: readonly string[];
  /** Identifies the deployment whatever the connection string looks like. */
  readonly clusterId: string;
}

/**
 * Asks a cluster what it is.
 * @throws SyncError TopologyNotSupported for a standalone server.
 */
export async function readTopology(cluster: ClusterClient, signal: AbortSignal): Promise<Topology> {
  const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
  const { version } = await runCommand(cluster.admin, { buildInfo: 1 }, { signal });
  if (isRouter(hello)) {
    const { shards } = await runCommand(cluster.admin, { listShards: 1 }, { signal });
    const ids = await cluster.decoded.db('config').collection('version').findOne({}, { signal });
    return {
      kind: 'sharded',
      setName: '',
      host: firstHost(cluster),
      shards: (shards as { _id: string }[]).map(({ _id }) => _id).sort(),
      version: String(version),
      clusterId: String(ids?.['clusterId']),
    };
  }
  if (typeof hello['setName'] !== 'string') {
    throw new SyncError(
      'TopologyNotSupported',
      `${firstHost(cluster)} is not a member of a replica set`,
    );
  }
  return {
    kind: 'replicaSet',
    setName: hello['setName'],
    host: String(hello['primary'] ?? hello['me']),
    shards: [hello['setName']],
    version: String(version),
    clusterId: await replicaSetId(cluster, hello, signal),
  };
}

/** True for what a router answers to `hello`. */
export function isRouter(hello: Document): boolean {
  return hello['msg'] === 'isdbgrid';
}

async function replicaSetId(
  cluster: ClusterClient,
  hello: Document,
  signal: AbortSignal,
): Promise<string> {
  const answer = await runCommand(cluster.admin, { replSetGetConfig: 1 }, { signal });
  const settings = (answer['config'] as Document | undefined)?.['settings'] as Document | undefined;
  return String(
    settings?.['replicaSetId'] ?? `${String(hello['setName'])}/${String(hello['primary'])}`,
  );
}

function firstHost(cluster: ClusterClient): string {
  return (
    cluster.decoded.options.hosts[0]?.toString() ?? cluster.decoded.options.srvHost ?? 'the server'
  );
}

/** The major version of a server version: 6 for `6.0.5`. */
export function majorVersion(version: string): number {
  return Number.parseInt(version, 10);
}
