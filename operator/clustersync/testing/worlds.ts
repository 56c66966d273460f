import type { ClusterSync, ClusterSyncSpec, ClusterSyncStatus } from '../../api/clustersync.ts';
import type { Pod, StatefulSet } from '../../kube/builtin-resources.ts';
import type { CommandState, Observation, ProgressAnswer } from '../../operand/observation.ts';
import type { World } from '../decide.ts';
import { readProgress, type SyncerCommand, type SyncerProgress } from '../syncer-client.ts';

export const nowMs = Date.UTC(2026, 0, 1, 12);
export const podName = 'orders-syncer-0';
/** What the pod's process is called. */
export const runningProcess = 'pod-uid/containerd://1';

/** A source that is known to be a replica set. */
const replicaSet: ClusterSyncStatus = { source: { kind: 'ReplicaSet', shards: ['rs'] } };

/** A ClusterSync `orders` from `old` to `new`, as the API server gives it. */
export function clusterSync(
  spec: Partial<ClusterSyncSpec> = {},
  status: ClusterSyncStatus = replicaSet,
): ClusterSync {
  return {
    apiVersion: 'clustersync.dev/v1alpha1',
    kind: 'ClusterSync',
    metadata: { name: 'orders', namespace: 'shop', uid: 'sync-uid', generation: 3 },
    spec: {
      source: { name: 'old', uriSecretRef: { name: 'old-uri', key: 'uri' } },
      destination: { name: 'new', uriSecretRef: { name: 'new-uri', key: 'connection' } },
      buildIndexes: 'beforeDataCopy',
      enableUserWriteBlocking: false,
      reversible: false,
      state: 'Running',
      suspend: false,
      syncer: { resources: { requests: { cpu: '100m' } }, logLevel: 'info' },
      ...spec,
    },
    status,
  };
}

/** A world in which nothing has been made yet. */
export function emptyWorld(parts: Partial<World> = {}): World {
  return {
    nowMs,
    settings: {
      image: 'example.dev/clustersync:1',
      imagePullPolicy: 'IfNotPresent',
      operatorNamespace: 'clustersync',
    },
    source: { kind: 'found', value: 'b2xk' },
    destination: { kind: 'found', value: 'bmV3' },
    sourceView: { kind: 'unknown' },
    token: undefined,
    newToken: 'fresh-token',
    statefulSet: undefined,
    pods: new Map(),
    observations: new Map(),
    ...parts,
  };
}

/** A world in which the pod runs, and has answered. */
export function runningWorld(
  answer: ProgressAnswer<SyncerProgress> | undefined,
  parts: Partial<World> & {
    readonly observation?: Partial<Observation<SyncerProgress, SyncerCommand>>;
  } = {},
): World {
  const { observation, ...world } = parts;
  return emptyWorld({
    token: 'token',
    statefulSet: {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'orders-syncer', namespace: 'shop' },
    } satisfies StatefulSet,
    pods: new Map([[podName, runningPod()]]),
    observations: new Map([
      [
        'old',
        {
          process: runningProcess,
          answer,
          askedMs: nowMs - 100,
          unreachable: undefined,
          command: undefined,
          ...observation,
        },
      ],
    ]),
    ...world,
  });
}

/** The pod, running and ready. */
export function runningPod(): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: podName, namespace: 'shop', uid: 'pod-uid' },
    status: {
      podIP: '10.1.2.3',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [
        {
          name: 'syncer',
          image: '',
          imageID: '',
          ready: true,
          restartCount: 0,
          containerID: 'containerd://1',
          state: { running: {} },
        },
      ],
    },
  };
}

/** An answer with this progress. */
export function progress(raw: Readonly<Record<string, unknown>>): ProgressAnswer<SyncerProgress> {
  const read = readProgress(raw);
  if (!read) throw new TypeError('a progress has a state');
  return { kind: 'progress', progress: read };
}

/** What progress says in each stage of a sync. */
export const answers = {
  idle: progress({ state: 'IDLE', canCommit: false, collectionCopy: null }),
  copy: progress({
    state: 'RUNNING',
    canCommit: false,
    canWrite: false,
    info: 'collection copy',
    lagTimeSeconds: 0,
    collectionCopy: { estimatedTotalBytes: 200, estimatedCopiedBytes: 101 },
    coordinatorID: null,
  }),
  changes: progress({
    state: 'RUNNING',
    canCommit: true,
    canWrite: false,
    info: 'change event application',
    lagTimeSeconds: 2,
    collectionCopy: { estimatedTotalBytes: 200, estimatedCopiedBytes: 190 },
    syncerID: 'old',
    coordinatorID: 'old',
  }),
  paused: progress({
    state: 'PAUSED',
    canCommit: false,
    canWrite: false,
    info: 'change event application',
    lagTimeSeconds: null,
    collectionCopy: { estimatedTotalBytes: 200, estimatedCopiedBytes: 190 },
    syncerID: 'old',
    coordinatorID: 'old',
  }),
  committing: progress({
    state: 'COMMITTING',
    canCommit: false,
    canWrite: false,
    info: 'waiting for commit to complete',
    lagTimeSeconds: 1,
  }),
  committed: progress({
    state: 'COMMITTED',
    canCommit: false,
    canWrite: true,
    info: 'commit completed',
    lagTimeSeconds: 0,
  }),
};

/** An answer with an error. */
export function failure(name: string, isLasting = true): ProgressAnswer<SyncerProgress> {
  return { kind: 'error', error: { name, description: 'what is wrong', isLasting } };
}

/** A command that was refused, and may be repeated. */
export function refused(
  name: SyncerCommand,
  error: string,
  isLasting = true,
): CommandState<SyncerCommand> {
  return {
    name,
    kind: 'refused',
    error: { name: error, description: 'what is wrong', isLasting },
    attempts: 1,
    retryAtMs: nowMs + 10_000,
  };
}
