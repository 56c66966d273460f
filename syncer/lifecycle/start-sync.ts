import { deploymentOf } from '../../mongo/deployment.ts';
import type { NamespaceFilter } from '../../mongo/namespace-filter.ts';
import { SyncError } from '../../service/errors.ts';
import type { ClusterName, StartOptions } from '../options/start-body.ts';
import { isBetween } from '../store/find-record.ts';
import { estimateTotalBytes } from '../source/read-catalog.ts';
import type { Clusters, Topologies } from '../store/clusters.ts';
import { newRecord } from '../store/new-record.ts';
import { setWriteBlocking } from '../destination/write-blocking.ts';
import { requireMember, requireSameOptions, stateOf } from '../store/instances.ts';
import type { LiveSync } from '../store/live-sync.ts';
import { checkClusters } from '../preflight/preflight.ts';
import { resetError } from '../store/reset-error.ts';
import type { SyncStore } from '../store/store.ts';
import type { Logger } from '../../service/logger.ts';

/** What the start of a sync needs of its process. */
export interface StartParts {
  /** Of this instance. */
  readonly id: string;
  readonly clusters: Clusters;
  readonly topologies: Topologies;
  readonly live: LiveSync;
  readonly storeOn: (cluster: ClusterName) => SyncStore;
  readonly filterOf: (options: StartOptions) => NamespaceFilter;
  /**
   * Repeats a write to the store until it is known what has become of it.
   * @param isPassing - after which errors it is repeated; by default those that pass by themselves.
   */
  readonly persisting: (
    write: () => Promise<void>,
    isPassing?: (error: unknown) => boolean,
  ) => Promise<void>;
  readonly logger: Logger;
  /** Aborted when the program stops. */
  readonly signal: AbortSignal;
}

/**
 * Creates a sync, or takes part in one that another instance has been given the start of. What its first progress tells is
 * known then: how much there is to copy.
 * @throws SyncError for whatever forbids it; nothing has been written then.
 */
export async function startSync(parts: StartParts, options: StartOptions): Promise<void> {
  if (await joinSync(parts, options)) return;
  try {
    await createSync(parts, options);
  } catch (error) {
    // Another instance may have been given the start meanwhile.
    if (!(await joinSync(parts, options))) throw error;
  }
}

/**
 * Blocks ordinary users on the destination, where the sync asks for it: its start is answered when they cannot write there any
 * more. The record comes first, so that a process which takes the sync up knows what is blocked, and blocks it where this
 * one has not come to it.
 */
export async function blockDestination(parts: StartParts, options: StartOptions): Promise<void> {
  if (!options.enableUserWriteBlocking) return;
  const { clusters, persisting, signal } = parts;
  await persisting(async () => {
    await setWriteBlocking(clusters[options.destination], true, signal);
  });
}

/**
 * Makes sure that a start would be taken, or is the one that the sync was started with. Writes nothing.
 * @throws SyncError as {@link startSync} does; DifferentSync where the sync was started with others.
 */
export async function checkStart(parts: StartParts, options: StartOptions): Promise<void> {
  const { live, topologies, id } = parts;
  const stored = await parts.storeOn(options.destination).readSync();
  if (live.record) requireSameOptions(options, live.stored);
  else if (!stored) await checkNewSync(parts, options);
  else if (!isBetween(topologies, stored, options.destination)) throw otherSync(options);
  else {
    requireMember(stored, id);
    requireSameOptions(options, stored);
  }
}

async function createSync(parts: StartParts, options: StartOptions): Promise<void> {
  const { clusters, topologies, filterOf, signal } = parts;
  await checkNewSync(parts, options);
  const estimatedTotalBytes = await estimateTotalBytes({
    source: deploymentOf(clusters[options.source], topologies[options.source]),
    filter: filterOf(options),
    signal,
  });
  const record = { ...newRecord(options, topologies, parts.id), estimatedTotalBytes };
  const store = parts.storeOn(options.destination);
  await parts.persisting(async () => {
    await store.createSync(record);
  });
  parts.live.adopt(record);
}

/** Looks at both clusters. @throws SyncError for whatever forbids a start. */
async function checkNewSync(parts: StartParts, options: StartOptions): Promise<void> {
  const { clusters, topologies, storeOn, filterOf, logger, signal } = parts;
  await checkClusters({
    source: clusters[options.source],
    destination: clusters[options.destination],
    sourceTopology: topologies[options.source],
    destinationTopology: topologies[options.destination],
    options,
    filter: filterOf(options),
    logger,
    signal,
  });
  // A reversal is going to bring the state of the sync there.
  if (!options.reversible || (await storeOn(options.source).readSync()) === undefined) return;
  throw new SyncError(
    'OtherSyncUnfinished',
    `${options.source} holds the state of another sync, in clustersync_internal`,
  );
}

/**
 * Takes part in a sync that another instance has been given the start of.
 * @returns false where there is none that waits for this instance.
 * @throws SyncError OtherStartOptions; OtherSyncUnfinished where the destination holds a sync of other clusters.
 */
async function joinSync(parts: StartParts, options: StartOptions): Promise<boolean> {
  const { id, live, topologies } = parts;
  const stored = await parts.storeOn(options.destination).readSync();
  if (stored && !isBetween(topologies, stored, options.destination)) throw otherSync(options);
  const isMember = stored?.instances.includes(id) === true;
  if (!isMember || stateOf(stored, id) !== 'IDLE') return false;
  const resetUnderWay = resetError(stored);
  if (resetUnderWay) throw resetUnderWay;
  requireSameOptions(options, stored, 'OtherStartOptions');
  live.adopt(stored);
  await parts.persisting(live.receiving('start', {}));
  return true;
}

function otherSync({ destination }: StartOptions): SyncError {
  return new SyncError(
    'OtherSyncUnfinished',
    `${destination} holds the state of another sync, in clustersync_internal: it is between other deployments`,
  );
}
