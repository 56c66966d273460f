import type { Document } from 'mongodb';
import {
  listIndexes,
  listNamespaces,
  listUserDatabases,
  type NamespaceInfo,
} from '../../mongo/catalog.ts';
import type { CheckedValue } from '../../mongo/checked-value.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { FilterSelection, selectionText } from '../../mongo/filter-selection.ts';
import type { NamespaceFilter } from '../../mongo/namespace-filter.ts';
import { isSameNamespace, namespaceText } from '../../mongo/namespace.ts';
import { isTrue } from '../../mongo/replicated-form.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { supportsShardKey } from '../../mongo/shard-key.ts';
import { oddNameError } from '../../mongo/specification.ts';
import { majorVersion, type Topology } from '../../mongo/topology.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { checkUniqueIndexes, keyText } from '../ddl/shard-collection.ts';
import {
  checkTopologies,
  namespaceOf,
  type ShardingOptions,
  shardKeyOf,
  type StartOptions,
} from '../options/command-bodies.ts';
import type { ClusterPair } from '../store/clusters.ts';
import { checkBalancer } from './check-balancer.ts';
import { checkFeatureVersions, checkServerVersions } from './check-versions.ts';

/**
 * Checks both clusters before anything is written.
 * @param logger - gets what each entry of the filter matches on the source.
 * @throws SyncError with the name of the first condition that does not hold.
 */
export async function checkClusters(
  pair: ClusterPair,
  options: StartOptions,
  logger: Logger,
): Promise<void> {
  const { clients, topologies, signal } = pair;
  const [source, destination] = [clients[options.source], clients[options.destination]];
  const sourceTopology = topologies[options.source];
  const destinationTopology = topologies[options.destination];
  const filter = pair.filterOf(options);
  checkTopologies(options, sourceTopology, destinationTopology);
  if (sourceTopology.clusterId === destinationTopology.clusterId) {
    throw new SyncError(
      'SameCluster',
      `${options.source} and ${options.destination} are the same deployment, ${sourceTopology.setName || sourceTopology.host}`,
    );
  }
  checkServerVersions(
    { option: options.source, ...sourceTopology },
    { option: options.destination, ...destinationTopology },
  );
  checkReversible(options, sourceTopology, destinationTopology);
  const { kind } = destinationTopology;
  await checkPrivilegesFor(options, source, destination, signal, kind);
  await checkFeatureVersions(clients, topologies, options, signal);
  await checkBalancer(source, options.source, sourceTopology, signal);
  await checkBalancer(destination, options.destination, destinationTopology, signal);
  await filter.tryPatterns();
  const selection = new FilterSelection(filter);
  const selected = await selectedNamespaces(source, filter, signal, selection);
  for (const entry of selection.entries()) logger.info(entry, selectionText(entry));
  const timeSeries = selected.filter(({ kind }) => kind === 'timeseries');
  if (timeSeries.length > 0) {
    throw new SyncError(
      'TimeSeriesNotSupported',
      `the source has time-series collections: ${namesOf(timeSeries)}`,
    );
  }
  const oddlyNamed = selected.filter(({ kind }) => kind === 'oddlyNamed');
  if (oddlyNamed.length > 0) throw oddNameError(namesOf(oddlyNamed));
  if (options.sharding) await checkSharding(source, options.sharding, selected, signal);
  const occupied = await selectedNamespaces(destination, filter, signal);
  if (occupied.length > 0) {
    throw new SyncError(
      'DestinationNotEmpty',
      `the destination already has data: ${namesOf(occupied)}`,
    );
  }
}

/** What a reversal needs in addition: the clusters change places. */
function checkReversible(
  options: StartOptions,
  { version: from }: Topology,
  { version: to }: Topology,
): void {
  if (options.reversible && majorVersion(from) !== majorVersion(to)) {
    throw new SyncError(
      'ReversibleNotSupported',
      `the source runs ${from} and the destination ${to}: the major versions must be equal`,
    );
  }
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
  const asSource = sourceActions(options);
  const asDestination = destinationActions(options, destinationKind);
  const both = {
    cluster: [...new Set([...asSource.cluster, ...asDestination.cluster, 'serverStatus'])],
    collections: [...new Set([...asSource.collections, ...asDestination.collections])],
  };
  const { reversible } = options;
  await checkPrivileges(source, 'source', options, reversible ? both : asSource, signal);
  await checkPrivileges(
    destination,
    'destination',
    options,
    reversible ? both : asDestination,
    signal,
  );
}

async function selectedNamespaces(
  cluster: ClusterClient,
  filter: NamespaceFilter,
  signal: AbortSignal,
  selection?: FilterSelection,
): Promise<NamespaceInfo[]> {
  const selected: NamespaceInfo[] = [];
  for (const db of await listUserDatabases(cluster, signal)) {
    for (const info of await listNamespaces(cluster, db, signal)) {
      if (await filter.selects(info.namespace)) selected.push(info);
      await selection?.add(info.namespace);
    }
  }
  return selected;
}

function namesOf(infos: readonly NamespaceInfo[]): string {
  const shown = infos.slice(0, 5).map(({ namespace }) => namespaceText(namespace));
  return `${shown.join(', ')}${infos.length > shown.length ? ` and ${infos.length - shown.length} more` : ''}`;
}

/** Actions on the cluster, and on every collection of every user database. */
interface NeededActions {
  readonly cluster: readonly string[];
  readonly collections: readonly string[];
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
  sharded: { cluster: ['inprog'], collections: ['enableSharding', 'splitChunk', 'moveChunk'] },
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

async function checkPrivileges(
  cluster: ClusterClient,
  side: 'source' | 'destination',
  options: StartOptions,
  needed: NeededActions,
  signal: AbortSignal,
): Promise<void> {
  const status = await runCommand(
    cluster.admin,
    { connectionStatus: 1, showPrivileges: true },
    { signal },
  );
  const authInfo = status.field('authInfo');
  // The server lets only users write to what is blocked: without a user the sync would block itself.
  if (options.enableUserWriteBlocking && !isAuthenticated(authInfo)) {
    throw new SyncError(
      'WriteBlockingNeedsUser',
      `the connection to ${options[side]} is not authenticated, so enableUserWriteBlocking would block the sync as well`,
    );
  }
  const missing = missingActions(authInfo, needed);
  if (missing.length > 0) {
    throw new SyncError(
      'MissingPrivileges',
      `the user of ${options[side]} lacks the actions ${missing.join(', ')}`,
    );
  }
}

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
    ...needed.cluster.filter((action) => !onCluster.has(action)),
    ...needed.collections.filter((action) => !onCollections.has(action)),
  ];
}

/**
 * Compares the collections to shard on the destination with those on the source (contract 4.1, rules 5 and 6). Skips those that
 * do not exist yet.
 * @param selected - what is synced of the source.
 * @throws SyncError InvalidShardKey, ShardKeyIndexMissing or IncompatibleUniqueIndex.
 */
export async function checkSharding(
  source: ClusterClient,
  { shardingEntries, createSupportingIndexes }: ShardingOptions,
  selected: readonly NamespaceInfo[],
  signal: AbortSignal,
): Promise<void> {
  for (const entry of shardingEntries) {
    const namespace = namespaceOf(entry);
    const info = selected.find((each) => isSameNamespace(each.namespace, namespace));
    if (!info) continue;
    const what = info.kind !== 'collection' ? info.kind : cappedText(info.options);
    if (what !== undefined) {
      throw new SyncError(
        'InvalidShardKey',
        `${namespaceText(namespace)} is a ${what}, and cannot be sharded`,
      );
    }
    const indexes = (await listIndexes(source, namespace, signal)) ?? [];
    const key = shardKeyOf(entry);
    checkUniqueIndexes(namespace, indexes, key);
    if (createSupportingIndexes || indexes.some((spec) => supportsShardKey(spec, key))) continue;
    throw new SyncError(
      'ShardKeyIndexMissing',
      `${namespaceText(namespace)} has no index that begins with ${keyText(key)}, holds every document, is not hidden, and has the simple collation`,
    );
  }
}

function cappedText(options: Document): string | undefined {
  return isTrue(options['capped']) ? 'capped collection' : undefined;
}
