import type { TopologyAnswer } from '../../sync-api/json.ts';
import { isDeepStrictEqual } from 'node:util';
import { connectCluster, type ClusterClient } from '../../mongo/cluster-client.ts';
import { latestWriteTime } from '../../mongo/cluster-time.ts';
import { namedError } from '../../mongo/named-error.ts';
import { readTopology, type Topology } from '../../mongo/topology.ts';
import { SyncError, toSyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { backoffMs, sleep } from '../../service/sleep.ts';
import type { ClusterName } from '../options/command-bodies.ts';
import { blockedText, withBlocked } from '../destination/write-blocking.ts';
import { ClusterPair, type Clusters, type InstanceNames } from '../store/clusters.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { restartsOf, type SyncRecord } from '../store/records.ts';
import { RecordStore } from '../store/record-store.ts';

/** What a process finds when it starts. */
export interface StoredState {
  readonly pair: ClusterPair;
  /** Undefined when there is no sync between these two clusters. */
  readonly record: SyncRecord | undefined;
}

/**
 * Connects to both clusters, and reads the stored state of a sync between them. During a reversal both may hold it: the one
 * with more reversals counts. To be retried until it succeeds.
 * @throws SyncError for a cluster that cannot be reached. If the other one holds a sync that blocks the writes of users, it
 * says so. OtherSyncUnfinished if one of them is the destination of a sync from a third deployment.
 */
export async function readStoredState(
  clusters: Clusters,
  instance: InstanceNames,
  signal: AbortSignal,
): Promise<StoredState> {
  const blockedBySyncOn = async (name: ClusterName): Promise<string | undefined> => {
    const { clusterId } = await connect(name, clusters[name], signal);
    const record = await new RecordStore(clusters[name], instance.id, signal).readSync();
    const isItsOwn =
      record?.destination.name === name && record.destination.clusterId === clusterId;
    return isItsOwn ? blockedText(record) : undefined;
  };
  const reach = async (name: ClusterName, other: ClusterName): Promise<Topology> => {
    try {
      return await connect(name, clusters[name], signal);
    } catch (error) {
      const blocked = await blockedBySyncOn(other).catch(() => undefined);
      throw withBlocked(toSyncError(error), blocked);
    }
  };
  const topologies = {
    cluster0: await reach('cluster0', 'cluster1'),
    cluster1: await reach('cluster1', 'cluster0'),
  };
  const pair = new ClusterPair(clusters, topologies, instance, signal);
  for (const name of ['cluster1', 'cluster0'] as const) {
    const store = pair.recordOn(name);
    requireSettled(name, await store.readSync(), await store.readSyncOfPrimary());
  }
  const record = await pair.findRecord();
  if (!record) await requireNoOther(pair);
  return { pair, record };
}

/**
 * Makes sure that the store holds no unsettled command that an earlier process was given: such a command cannot be taken back,
 * and may or may not have been accepted.
 * @param record - one that a majority has.
 * @param onPrimary - read after it.
 * @throws SyncError NotStarted, until a majority has what the primary has.
 */
export function requireSettled(
  name: ClusterName,
  record: SyncRecord | undefined,
  onPrimary: SyncRecord | undefined,
): void {
  const given = (one: SyncRecord | undefined): unknown =>
    one && [one.commandCount, one.received, one.paused, one.reversals];
  if (isDeepStrictEqual(given(record), given(onPrimary))) return;
  const command =
    onPrimary && onPrimary.commandCount !== record?.commandCount ? onPrimary.command : 'a command';
  throw new SyncError(
    'NotStarted',
    `${command} was sent to the store and cannot be undone: waiting until a majority of ${name} has it`,
  );
}

/**
 * Asks a cluster for its topology, for callers that have to know how many instances there must be.
 * @throws SyncError for a cluster that cannot be reached, or does not say.
 */
export async function tellTopology(
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<TopologyAnswer['topology']> {
  const { kind, shards } = await connect('cluster0', cluster, signal);
  return { kind, shards };
}

/** Where a person has named the cluster: which one is the source now depends on reversals. */
const nameTexts: Readonly<Record<ClusterName, string>> = {
  cluster0: 'cluster0 (spec.source)',
  cluster1: 'cluster1 (spec.destination)',
};

/** @throws SyncError that says which cluster it is about. */
async function connect(
  name: ClusterName,
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<Topology> {
  try {
    await connectCluster(cluster, signal);
    return await readTopology(cluster, signal);
  } catch (error) {
    signal.throwIfAborted();
    const named = namedError(error);
    throw new SyncError(named.name, `${nameTexts[name]}: ${named.message}`, { cause: error });
  }
}

/** Restores the figures of a stored sync, so that progress is right from its first answer on. */
export async function recall(
  monitor: SyncMonitor,
  { startTime, source, destination }: SyncRecord,
  pair: ClusterPair,
): Promise<void> {
  const instance = await pair.storeOn(destination.name).readInstance();
  if (instance) monitor.beginWork({ ...instance, restarts: restartsOf(instance) });
  monitor.appliedTime = instance?.appliedTime ?? startTime;
  monitor.latestTime = await latestWriteTime(pair.clients[source.name], pair.signal);
}

/**
 * Tries to boot until that succeeds, or the signal is aborted.
 * @param onFailure - gets the error of each failed attempt.
 */
export async function untilBooted(
  logger: Logger,
  signal: AbortSignal,
  boot: () => Promise<void>,
  onFailure: (error: SyncError) => void,
): Promise<void> {
  const isStopped = (): boolean => signal.aborted;
  for (let attempt = 0; !isStopped(); attempt++) {
    try {
      await boot();
      return;
    } catch (error) {
      if (isStopped()) return;
      const named = namedError(error);
      onFailure(named);
      const { name, message } = named;
      logger.warn({ attempt, error: name, reason: message }, 'cannot read the stored state');
      const pauseMs = backoffMs(attempt, { baseMs: 500, maxMs: 10_000 });
      await sleep(pauseMs, signal).catch(() => undefined);
    }
  }
}

/**
 * Reporting no sync would be wrong if a destination is in the middle of one, and the connection string of its source now leads
 * elsewhere, or the two are exchanged. A committed sync is over, and its destination may be the source of the next one.
 * @throws SyncError OtherSyncUnfinished.
 */
async function requireNoOther(pair: ClusterPair): Promise<void> {
  const { topologies } = pair;
  for (const name of ['cluster1', 'cluster0'] as const) {
    const { state, source, destination } = (await pair.recordOn(name).readSync()) ?? {};
    if (!source || !destination || state === 'COMMITTED') continue;
    if (destination.clusterId !== topologies[name].clusterId) continue;
    if (destination.name !== name) {
      if (source.clusterId !== topologies[destination.name].clusterId) continue;
      throw new SyncError(
        'OtherSyncUnfinished',
        `${name} is the destination of an unfinished sync from ${destination.name}, in which cluster0 and cluster1 were exchanged`,
      );
    }
    throw new SyncError(
      'OtherSyncUnfinished',
      `${name} holds the state of a sync from a deployment other than the one that ${source.name} now points to`,
    );
  }
}
