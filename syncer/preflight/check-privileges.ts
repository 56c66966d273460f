import type { CheckedValue } from '../../mongo/checked-value.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { runCommand } from '../../mongo/run-command.ts';
import type { Topology } from '../../mongo/topology.ts';
import { SyncError } from '../../service/errors.ts';
import type { StartOptions } from '../options/command-bodies.ts';

/** Actions on the cluster, and on every collection of every user database. */
interface NeededActions {
  readonly cluster: readonly string[];
  readonly collections: readonly string[];
}

/** One of the two clusters, to be checked for what a sync with some options needs. */
export interface PrivilegesSubject {
  readonly side: 'source' | 'destination';
  readonly cluster: ClusterClient;
  readonly options: StartOptions;
  /** Of the destination; for a reversal, of the old source. */
  readonly destinationKind: Topology['kind'];
}

/**
 * @param destinationKind - of the destination; for a reversal, of the old source.
 * @throws SyncError MissingPrivileges with what the user of either cluster lacks for a sync with these options;
 * WriteBlockingNeedsUser.
 */
export async function checkPrivilegesFor(
  options: StartOptions,
  source: ClusterClient,
  destination: ClusterClient,
  signal: AbortSignal,
  destinationKind: Topology['kind'],
): Promise<void> {
  await checkPrivileges({ side: 'source', cluster: source, options, destinationKind }, signal);
  await checkPrivileges(
    { side: 'destination', cluster: destination, options, destinationKind },
    signal,
  );
}

/** @throws SyncError MissingPrivileges with what the user of a cluster lacks; WriteBlockingNeedsUser. */
export async function checkPrivileges(
  { side, cluster, options, destinationKind }: PrivilegesSubject,
  signal: AbortSignal,
): Promise<void> {
  const authInfo = await readAuthInfo(cluster, signal);
  // The server lets only users write to what is blocked: without a user the sync would block itself.
  if (options.enableUserWriteBlocking && !isAuthenticated(authInfo)) {
    throw new SyncError(
      'WriteBlockingNeedsUser',
      `the connection to ${options[side]} is not authenticated, so enableUserWriteBlocking would block the sync as well`,
    );
  }
  const missing = missingActions(authInfo, neededActions(side, options, destinationKind));
  if (missing.length > 0) {
    throw new SyncError(
      'MissingPrivileges',
      `the user of ${options[side]} lacks the actions ${missing.join(', ')}`,
    );
  }
}

/**
 * The command that gives the user of a cluster what a sync needs: the roles that the guide names, as mongosh takes it. It may be
 * repeated. Undefined if there is no user.
 */
export async function grantCommand(
  { side, cluster, options }: Pick<PrivilegesSubject, 'side' | 'cluster' | 'options'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const [user] = (await readAuthInfo(cluster, signal)).field('authenticatedUsers').list();
  if (user === undefined) return undefined;
  const roles = neededRoles(side, options).map((role) => ({ role, db: 'admin' }));
  const [db, name] = [user.field('db').text(), user.field('user').text()];
  return `db.getSiblingDB(${JSON.stringify(db)}).grantRolesToUser(${JSON.stringify(name)}, ${JSON.stringify(roles)})`;
}

/** The built-in roles that the guide asks for: a source that can become the destination, or is blocked, needs those of both. */
export function neededRoles(
  side: PrivilegesSubject['side'],
  { enableUserWriteBlocking, reversible }: StartOptions,
): readonly string[] {
  const asSource = ['backup', 'clusterMonitor', 'readAnyDatabase'];
  const asDestination = ['clusterManager', 'clusterMonitor', 'readWriteAnyDatabase', 'restore'];
  const isBoth = reversible || (side === 'source' && enableUserWriteBlocking);
  if (isBoth) return [...new Set([...asSource, ...asDestination])];
  return side === 'source' ? asSource : asDestination;
}

async function readAuthInfo(cluster: ClusterClient, signal: AbortSignal): Promise<CheckedValue> {
  const command = { connectionStatus: 1, showPrivileges: true };
  return (await runCommand(cluster.admin, command, { signal })).field('authInfo');
}

export function neededActions(
  side: PrivilegesSubject['side'],
  options: StartOptions,
  destinationKind: Topology['kind'],
): NeededActions {
  const asSource = sourceActions(options);
  const asDestination = destinationActions(options, destinationKind);
  if (!options.reversible) return side === 'source' ? asSource : asDestination;
  return {
    cluster: [...new Set([...asSource.cluster, ...asDestination.cluster, 'serverStatus'])],
    collections: [...new Set([...asSource.collections, ...asDestination.collections])],
  };
}

function sourceActions({ enableUserWriteBlocking }: StartOptions): NeededActions {
  return {
    cluster: [
      'appendOplogNote',
      'listDatabases',
      ...(enableUserWriteBlocking ? blockingActions : []),
    ],
    collections: ['find', 'changeStream', 'listCollections', 'listIndexes', 'collStats'],
  };
}

/** What a destination needs in addition: a sharded one must shard and spread collections, and see what its shards write. */
const actionsOfKind: Readonly<Record<Topology['kind'], NeededActions>> = {
  replicaSet: { cluster: [], collections: [] },
  sharded: {
    cluster: ['inprog'],
    collections: ['enableSharding', 'splitChunk', 'moveChunk', 'indexStats'],
  },
};

function destinationActions(
  { enableUserWriteBlocking }: StartOptions,
  kind: Topology['kind'],
): NeededActions {
  const ofKind = actionsOfKind[kind];
  return {
    cluster: [
      'appendOplogNote',
      'listDatabases',
      ...(enableUserWriteBlocking ? blockingActions : []),
      ...ofKind.cluster,
    ],
    collections: [
      'find',
      'insert',
      'update',
      'remove',
      'bypassDocumentValidation',
      'createCollection',
      'createIndex',
      'dropCollection',
      'dropIndex',
      'collMod',
      'renameCollectionSameDB',
      'listCollections',
      'listIndexes',
      ...ofKind.collections,
    ],
  };
}

const blockingActions = ['setUserWriteBlockMode', 'bypassWriteBlockingMode'] as const;

/** Whether `authInfo` of connectionStatus names a user. */
function isAuthenticated(authInfo: CheckedValue): boolean {
  return authInfo.field('authenticatedUsers').list().length > 0;
}

/** The resource of privileges, as a server names it. */
type Resource = Readonly<Record<string, unknown>>;

/** Which needed actions are missing from `authInfo` of connectionStatus. Without authentication nothing is missing. */
export function missingActions(authInfo: CheckedValue, needed: NeededActions): string[] {
  if (!isAuthenticated(authInfo)) return [];
  const privileges = authInfo
    .field('authenticatedUserPrivileges')
    .list()
    .map((privilege) => ({
      resource: privilege.field('resource').document(),
      actions: privilege
        .field('actions')
        .list()
        .map((action) => action.text()),
    }));
  const actionsOn = (matches: (resource: Resource) => boolean): Set<string> =>
    new Set(
      privileges.filter(({ resource }) => matches(resource)).flatMap(({ actions }) => actions),
    );
  const onCluster = actionsOn(
    ({ cluster, anyResource }) => cluster === true || anyResource === true,
  );
  const onCollections = actionsOn(
    ({ db, collection, anyResource }) => (db === '' && collection === '') || anyResource === true,
  );
  return [
    ...notGranted(needed.cluster, onCluster),
    ...notGranted(needed.collections, onCollections),
  ];
}

/** A server lists all actions together (as the role `__system` has them) as one. */
const allActions = 'anyAction';

function notGranted(actions: readonly string[], granted: ReadonlySet<string>): string[] {
  return granted.has(allActions) ? [] : actions.filter((action) => !granted.has(action));
}
