import { MongoClient, MongoServerError, ReadPreference } from 'mongodb';
import { SyncError, toSyncError } from '../service/errors.ts';
import { orAborted } from '../service/or-aborted.ts';
import { checkedRow, type CheckedValue } from './checked-value.ts';
import type { ClusterClient } from './cluster-client.ts';
import { watchAttempt } from './connection-attempt.ts';
import { checkConnection, tlsSettings, type Connection } from './connection.ts';
import { ZeroCopyConnection } from './zero-copy-connection.ts';
import { runCommand } from './run-command.ts';
import { codeOf, connectionError, serverCode } from './server-errors.ts';

/** The kind and identity of the deployment that a connection string leads to. */
export interface Topology {
  readonly kind: 'replicaSet' | 'sharded';
  /** Name of the replica set; empty for a sharded cluster. */
  readonly setName: string;
  /** `host:port` of the primary, or of the router. */
  readonly host: string;
  /** Version of the server, such as `6.0.5`. */
  readonly version: string;
  /** The ids of its shards, sorted. A replica set is one shard, named like the set. */
  readonly shards: readonly string[];
  /** Identifies the deployment whatever the connection string looks like. */
  readonly clusterId: string;
}

/** What asking a cluster needs. */
type Asked = Pick<ClusterClient, 'admin' | 'decoded'>;

/** The asking process, over connections of its own. */
export interface Asker {
  /** The name under which the servers know it. */
  readonly appName: string;
  /** The connection string may name no files, services and proxies: it is used in a pod. */
  readonly refusesFiles: boolean;
  /** Only to find out to which deployment a member belongs: a direct connection may lead to a secondary. */
  readonly mayBeSecondary?: boolean;
}

/** How long to look for servers that are not there. */
const serverSelectionTimeoutMS = 5_000;

/**
 * Asks a cluster for its topology.
 * @throws SyncError TopologyNotSupported for a standalone server; ClusterUnreachable for a direct connection to a secondary.
 */
export async function readTopology(
  cluster: Asked,
  signal: AbortSignal,
  { mayBeSecondary = false }: Pick<Asker, 'mayBeSecondary'> = {},
): Promise<Topology> {
  const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
  const version = await readVersion(cluster, signal);
  if (isRouter(hello)) {
    const list = await runCommand(cluster.admin, { listShards: 1 }, { signal });
    const ids = await cluster.decoded.db('config').collection('version').findOne({}, { signal });
    const host = firstHost(cluster);
    return {
      kind: 'sharded',
      setName: '',
      host,
      shards: shardsIn(list)
        .map((shard) => shard.field('_id').text())
        .sort(),
      version,
      clusterId: checkedRow(ids ?? {}, 'a document of config.version', host)
        .field('clusterId')
        .objectId()
        .toHexString(),
    };
  }
  const setName = hello.optional('setName')?.text();
  if (setName === undefined) {
    throw new SyncError(
      'TopologyNotSupported',
      `${firstHost(cluster)} is not a member of a replica set`,
    );
  }
  const isDirect = cluster.decoded.options.directConnection && !mayBeSecondary;
  if (isDirect && !hello.field('isWritablePrimary').boolean()) throw notPrimary(cluster, hello);
  return {
    kind: 'replicaSet',
    setName,
    host: (hello.optional('primary') ?? hello.field('me')).text(),
    shards: [setName],
    version,
    clusterId: await replicaSetId(cluster, signal),
  };
}

/** The version of the server that answers now, such as `6.0.5`: of the primary, or of a router. */
export async function readVersion(
  { admin }: Pick<ClusterClient, 'admin'>,
  signal: AbortSignal,
): Promise<string> {
  const answer = await runCommand(admin, { buildInfo: 1 }, { signal });
  return answer.field('version').text();
}

/** Servers elect another primary at any time: the next answer may be another one. */
function notPrimary(cluster: Asked, hello: CheckedValue): SyncError {
  const primary = hello.optional('primary')?.text();
  const now = primary === undefined ? '' : ` (that is ${primary})`;
  const problem = `${firstHost(cluster)} is not the primary${now}, and directConnection=true leads to no other member: omit it`;
  return new SyncError('ClusterUnreachable', problem);
}

/**
 * The identity of a deployment, like {@link Topology.clusterId}, also for a user who may not read that: then it is the UUID of
 * a collection, which differs for each deployment, and is the same on all members of it.
 * @throws errors of the servers, if the user may not list the collections of admin either.
 */
export async function readDeploymentId(cluster: Asked, signal: AbortSignal): Promise<string> {
  try {
    return (await readTopology(cluster, signal)).clusterId;
  } catch (error) {
    if (codeOf(error) !== serverCode.unauthorized) throw error;
    return await versionCollectionId(cluster, signal);
  }
}

/** True for a router's answer to `hello`. */
export function isRouter(hello: CheckedValue): boolean {
  return hello.optional('msg')?.text() === 'isdbgrid';
}

/** The shards in an answer to listShards. @throws MalformedAnswer if there are none: a sharded cluster has one. */
export function shardsIn(answer: CheckedValue): readonly CheckedValue[] {
  const shards = answer.field('shards');
  const list = shards.list();
  if (list.length === 0) throw shards.error('is empty');
  return list;
}

/**
 * Asks the cluster that a connection leads to for its topology, over temporary connections.
 * @throws SyncError InvalidOption for a connection string that cannot be read, or has an option that is not accepted, or names
 * a file that cannot be read; ClusterUnreachable, ServerAnswerMalformed, AuthenticationFailed, MissingPrivileges,
 * TopologyNotSupported; InternalError for any other answer of the servers. None contains the connection string.
 */
export async function askTopology(
  connection: Connection,
  asker: Asker,
  signal: AbortSignal,
): Promise<Topology> {
  const { appName, refusesFiles } = asker;
  signal.throwIfAborted();
  checkConnection(connection, { option: 'the connection string', refusesFiles });
  await using client = clientOf(connection, appName);
  const attempt = watchAttempt(client);
  try {
    await orAborted(client.connect(), signal);
    return await readTopology({ decoded: client, admin: client.db('admin') }, signal, asker);
  } catch (error) {
    signal.throwIfAborted();
    throw connectionError(error, attempt) ?? missingPrivileges(error) ?? toSyncError(error);
  }
}

function clientOf(connection: Connection, appName: string): MongoClient {
  try {
    const settings = {
      appName,
      ...tlsSettings(connection),
      readPreference: ReadPreference.primary,
      serverSelectionTimeoutMS,
      // Not among the options that the driver declares.
      connectionType: ZeroCopyConnection,
    } as const;
    return new MongoClient(connection.uri, settings);
  } catch {
    // The driver's message may quote the text, password and all.
    throw new SyncError('InvalidOption', 'the connection string is invalid (mongodb://...)');
  }
}

function missingPrivileges(error: unknown): SyncError | undefined {
  if (codeOf(error) !== serverCode.unauthorized || !(error instanceof MongoServerError))
    return undefined;
  return new SyncError('MissingPrivileges', error.message, { cause: error });
}

async function replicaSetId(cluster: Asked, signal: AbortSignal): Promise<string> {
  const answer = await runCommand(cluster.admin, { replSetGetConfig: 1 }, { signal });
  const id = answer.field('config').field('settings').optional('replicaSetId');
  // Sets that were initiated long ago have none. Their primary changes.
  return id === undefined
    ? await versionCollectionId(cluster, signal)
    : id.objectId().toHexString();
}

/** By the collection that holds the featureCompatibilityVersion: each deployment has it, and nobody can drop it. */
async function versionCollectionId({ admin }: Asked, signal: AbortSignal): Promise<string> {
  const list = { listCollections: 1, filter: { name: 'system.version' } };
  const answer = await runCommand(admin, list, { signal });
  const batch = answer.field('cursor').field('firstBatch');
  const [found] = batch.list();
  if (found === undefined) throw batch.error('has no admin.system.version');
  return `admin.system.version ${found.field('info').field('uuid').uuid().toHexString(false)}`;
}

function firstHost(cluster: Asked): string {
  return (
    cluster.decoded.options.hosts[0]?.toString() ?? cluster.decoded.options.srvHost ?? 'the server'
  );
}

/** The major version of a server version: 6 for `6.0.5`. */
export function majorVersion(version: string): number {
  return Number.parseInt(version, 10);
}

/** Whether a version is of an older release than another one, whatever the patches: `6.0` and `6.0.27` are older than `7.0`. */
export function isOlderRelease(version: string, other: string): boolean {
  return releaseNumber(version) < releaseNumber(other);
}

/** Whether a version is older than another one, patches included; without a patch, the first of its release is meant. */
export function isOlderVersion(version: string, other: string): boolean {
  return versionNumber(version) < versionNumber(other);
}

function versionNumber(version: string): number {
  const patch = Number.parseInt(version.split('.')[2] ?? '0', 10);
  return releaseNumber(version) * 1_000 + patch;
}

function releaseNumber(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return major * 1_000 + minor;
}
