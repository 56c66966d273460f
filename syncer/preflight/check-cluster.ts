import type { ClusterClient } from '../../mongo/cluster-client.ts';
import {
  featureVersionRights,
  readFeatureVersion,
  type FeatureVersion,
} from '../../mongo/feature-version.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { majorVersion, type Topology } from '../../mongo/topology.ts';
import { SyncError } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';

/**
 * Oldest featureCompatibilityVersion that is synced. With an older one a 6.0 server refuses the `collMod`s that make indexes unique
 * and give capped collections their sizes (seen on 6.0.5): nothing but a commit that cannot be taken back any more would show that.
 * Any cluster can be the destination after a reversal, and all that is tested of a source is its own version.
 */
const oldestMajorVersion = 6;

/** How long a balancer that is stopped may be in a round: it begins one every ten seconds, to find that it is stopped (6.0.5). */
const lastRoundMs = 5_000;
const pollMs = 100;

/**
 * Makes sure that a cluster has a featureCompatibilityVersion that a sync can work with, and is not changing it.
 * @throws SyncError FeatureVersionNotSupported; MissingPrivileges where the user may not see it.
 */
export async function checkFeatureVersion(
  cluster: ClusterClient,
  option: string,
  { kind, host }: Topology,
  signal: AbortSignal,
): Promise<void> {
  try {
    requireFeatureVersion(`${option} (${host})`, await readFeatureVersion(cluster, kind, signal));
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
 * @param cluster - what it is called in an error.
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
  if (majorVersion(version) < oldestMajorVersion) {
    throw new SyncError(
      'FeatureVersionNotSupported',
      `the featureCompatibilityVersion of ${cluster} is ${version}; ${oldestMajorVersion}.0 is required`,
    );
  }
}

/**
 * Makes sure that no chunks move while a sync runs.
 * @throws SyncError BalancerRunning.
 */
export async function checkBalancer(
  cluster: ClusterClient,
  option: string,
  { kind }: Topology,
  signal: AbortSignal,
): Promise<void> {
  if (kind !== 'sharded') return;
  const endMs = performance.now() + lastRoundMs;
  for (;;) {
    const status = await runCommand(cluster.admin, { balancerStatus: 1 }, { signal });
    const mode = status.field('mode').text();
    if (mode !== 'off')
      throw new SyncError('BalancerRunning', `the balancer of ${option} is running (mode ${mode})`);
    if (!status.field('inBalancerRound').boolean()) return;
    if (performance.now() > endMs)
      throw new SyncError('BalancerRunning', `the balancer of ${option} is in its last round`);
    await sleep(pollMs, signal);
  }
}
