import type { ClusterClient } from '../../mongo/cluster-client.ts';
import {
  featureVersionRights,
  readFeatureVersion,
  type FeatureVersion,
} from '../../mongo/feature-version.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { isOlderRelease, majorVersion, readVersion, type Topology } from '../../mongo/topology.ts';
import { SyncError } from '../../service/errors.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { Clusters, Topologies } from '../store/clusters.ts';

/** The oldest supported server: change streams with DDL events, and exact updates, exist since 6.0. */
const oldestMajorVersion = 6;

/**
 * The oldest supported featureCompatibilityVersion. With an older one a 6.0 server refuses the `collMod`s that make indexes
 * unique and give capped collections their sizes (seen on 6.0.5): that would only show in a commit that can no longer be taken
 * back. Any cluster can be the destination after a reversal, and a source is only tested with its own version.
 */
const oldestFeatureVersion = 6;

/** How many major versions a destination may be ahead of the source: mongosync and Percona ClusterSync allow no more. */
const maxMajorsAhead = 2;

/** One of the two clusters of a sync, with its name in errors. */
export interface Versioned {
  readonly option: string;
  readonly host: string;
  /** Of its servers, such as `6.0.27`; or its featureCompatibilityVersion, such as `6.0`. */
  readonly version: string;
}

const named = ({ option, host }: Pick<Versioned, 'option' | 'host'>): string =>
  `${option} (${host})`;

/**
 * Whether data of the source can go to the destination: an older server refuses features of a newer one in the middle of the
 * work, or misinterprets them.
 * @returns a SyncError ServerVersionNotSupported for each server that is older than the oldest supported one, a destination that
 * is older than the source, or one that is more than two major versions ahead.
 */
export function serverVersionErrors(source: Versioned, destination: Versioned): SyncError[] {
  const versionOf = (cluster: Versioned): string => `${named(cluster)} runs ${cluster.version}`;
  const [from, to] = [versionOf(source), versionOf(destination)];
  const reasons = [source, destination]
    .filter(({ version }) => majorVersion(version) < oldestMajorVersion)
    .map((cluster) => `${versionOf(cluster)}; ${oldestMajorVersion}.0 is required`);
  if (isOlderRelease(destination.version, source.version))
    reasons.push(`${to}, which is older than the source: ${from}`);
  if (majorVersion(destination.version) > majorVersion(source.version) + maxMajorsAhead)
    reasons.push(`${to}, more than ${maxMajorsAhead} major versions ahead of the source: ${from}`);
  return reasons.map((reason) => new SyncError('ServerVersionNotSupported', reason));
}

/**
 * Makes sure that data of the source can go to the destination, by the versions that their servers have now: they may have been
 * upgraded since the start.
 * @throws SyncError ServerVersionNotSupported.
 */
export async function requireServerVersions(
  clusters: Clusters,
  topologies: Topologies,
  { source, destination }: Pick<StartOptions, 'source' | 'destination'>,
  signal: AbortSignal,
): Promise<void> {
  const [error] = serverVersionErrors(
    await serverVersion(clusters[source], source, topologies[source], signal),
    await serverVersion(clusters[destination], destination, topologies[destination], signal),
  );
  if (error) throw error;
}

async function serverVersion(
  cluster: ClusterClient,
  option: string,
  { host }: Topology,
  signal: AbortSignal,
): Promise<Versioned> {
  return { option, host, version: await readVersion(cluster, signal) };
}

/**
 * Makes sure that both clusters have a featureCompatibilityVersion that a sync can work with, are not changing it, and that the
 * destination's is not below the source's.
 * @throws SyncError as {@link checkFeatureVersion} does.
 */
export async function requireFeatureVersions(
  clusters: Clusters,
  topologies: Topologies,
  { source, destination }: Pick<StartOptions, 'source' | 'destination'>,
  signal: AbortSignal,
): Promise<void> {
  const from = await checkFeatureVersion(clusters[source], source, topologies[source], signal);
  const to = await checkFeatureVersion(
    clusters[destination],
    destination,
    topologies[destination],
    signal,
  );
  requireFeatureVersionPair(from, to);
}

/** @throws SyncError FeatureVersionNotSupported if the destination's version is below the source's. */
export function requireFeatureVersionPair(source: Versioned, destination: Versioned): void {
  if (!isOlderRelease(destination.version, source.version)) return;
  throw new SyncError(
    'FeatureVersionNotSupported',
    `the featureCompatibilityVersion of ${named(destination)} is ${destination.version}, below that of the source, ${named(source)}: ${source.version}`,
  );
}

/**
 * Makes sure that a cluster has a featureCompatibilityVersion that a sync can work with, and is not changing it.
 * @returns that version.
 * @throws SyncError FeatureVersionNotSupported; MissingPrivileges if the user may not see it.
 */
export async function checkFeatureVersion(
  cluster: ClusterClient,
  option: string,
  { kind, host }: Topology,
  signal: AbortSignal,
): Promise<Versioned> {
  try {
    const read = await readFeatureVersion(cluster, kind, signal);
    requireFeatureVersion(named({ option, host }), read);
    return { option, host, version: read.version };
  } catch (error) {
    if (codeOf(error) !== serverCode.unauthorized) throw error;
    throw new SyncError(
      'MissingPrivileges',
      `the user of ${option} may not see the featureCompatibilityVersion: it lacks ${featureVersionRights[kind]}`,
      { cause: error },
    );
  }
}

/**
 * @param cluster - its name in an error.
 * @throws SyncError FeatureVersionNotSupported.
 */
export function requireFeatureVersion(
  cluster: string,
  { version, targetVersion }: FeatureVersion,
): void {
  if (targetVersion !== undefined) {
    throw new SyncError(
      'FeatureVersionNotSupported',
      `the featureCompatibilityVersion of ${cluster} is still being changed to ${targetVersion}`,
    );
  }
  if (majorVersion(version) < oldestFeatureVersion) {
    throw new SyncError(
      'FeatureVersionNotSupported',
      `the featureCompatibilityVersion of ${cluster} is ${version}; ${oldestFeatureVersion}.0 is required`,
    );
  }
}
