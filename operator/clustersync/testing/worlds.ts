import { overlayFields } from '../../operand/pod-template.ts';
import { readProgress } from '../../../sync-api/syncer-answers.ts';
import { defaultOptions } from '../../../sync-api/testing/start-examples.ts';
import type { ClusterSync, ClusterSyncSpec, ClusterSyncStatus } from '../../api/clustersync.ts';
import type { Pod, StatefulSet } from '../../kube/builtin-resources.ts';
import { findCondition } from '../../kube/conditions.ts';
import type { CommandState, Observation, ProgressAnswer } from '../../operand/observation.ts';
import { givenSecrets } from '../../operand/testing/given-secrets.ts';
import { nowMs, runningOperandPod, runningProcess } from '../../operand/testing/running-pod.ts';
import { decide } from '../decide.ts';
import type { Decision, World } from '../decision.ts';
import type { CheckView } from '../start-checks.ts';
import type { SyncerCommand, SyncerProgress } from '../syncer-client.ts';

export const podName = 'orders-syncer-0';

/** The default of `spec.commit`. */
export const manual = {
  mode: 'Manual',
  maxLagSeconds: 10,
  workloadsAfterCommit: 'StayAtZero',
  deadlineSeconds: 300,
} as const;

/** A source known to be a replica set. */
const replicaSet: ClusterSyncStatus = { source: { kind: 'ReplicaSet', shards: ['rs'] } };

/** A ClusterSync `orders` from `old` to `new`, as the API server returns it. */
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
      ...defaultOptions,
      state: 'Running',
      direction: 'Forward',
      commit: manual,
      dryRun: false,
      suspend: false,
      onDelete: 'Keep',
      syncer: { resources: { requests: { cpu: '100m' } }, logLevel: 'info' },
      ...spec,
    },
    status,
  };
}

/** The answer of a tool that cannot check. */
export const noCheck: CheckView = {
  kind: 'unsupported',
  process: runningProcess,
  inputsHash: '',
  askedMs: nowMs,
};

/** A world in which nothing has been created yet. */
export function emptyWorld(parts: Partial<World> = {}): World {
  return {
    nowMs,
    settings: {
      image: 'example.dev/clustersync:1',
      imagePullPolicy: 'IfNotPresent',
      images: ['example.dev'],
      podFields: overlayFields.filter((path) => path !== 'spec.hostAliases'),
      operatorNamespace: 'clustersync',
    },
    ...givenSecrets,
    claim: { kind: 'held' },
    commit: { hold: undefined, workloads: undefined, verifications: [], isHeardOf: () => true },
    sourceView: { kind: 'unknown' },
    check: noCheck,
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
    statefulSet: {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name: 'orders-syncer', namespace: 'shop' },
    } satisfies StatefulSet,
    pods: new Map([[podName, runningPod()]]),
    observations: new Map([['old', observationOf({ answer, ...observation })]]),
    ...world,
  });
}

const shards = ['shard-0', 'shard-1', 'shard-2'] as const;

/** A source that was a sharded cluster of three shards when it was first seen. */
export const threeShards: ClusterSyncStatus = { source: { kind: 'Sharded', shards: [...shards] } };

/** What is known about an instance: its answer, more of its observation, or that it has no pod. */
export type InstanceScene =
  | ProgressAnswer<SyncerProgress>
  | undefined
  | 'no pod'
  | Partial<Observation<SyncerProgress, SyncerCommand>>;

/** A world with the pods of three shards, which are still the shards of the source. */
export function shardedWorld(
  scenes: readonly [InstanceScene, InstanceScene, InstanceScene],
  parts: Partial<World> = {},
): World {
  const there = scenes.flatMap((scene, index) => (scene === 'no pod' ? [] : [{ scene, index }]));
  return runningWorld(undefined, {
    sourceView: { kind: 'found', source: { kind: 'Sharded', shards: [...shards] } },
    pods: new Map(
      there.map(({ index }) => [
        `orders-syncer-${index}`,
        runningPod(`orders-syncer-${index}`, shards),
      ]),
    ),
    observations: new Map(
      there.map(({ scene, index }) => [shards[index] ?? '', observationOf(scene)]),
    ),
    ...parts,
  });
}

/** What is known about a running instance. */
export function observationOf(
  scene: Exclude<InstanceScene, 'no pod'>,
): Observation<SyncerProgress, SyncerCommand> {
  return {
    process: runningProcess,
    answer: undefined,
    askedMs: nowMs - 100,
    unreachable: undefined,
    command: undefined,
    ...(scene && 'kind' in scene ? { answer: scene } : scene),
  };
}

/** An answer with some fields of its progress changed. */
export function changed(
  answer: ProgressAnswer<SyncerProgress>,
  fields: Readonly<Record<string, unknown>>,
): ProgressAnswer<SyncerProgress> {
  return answer.kind === 'progress' ? progress({ ...answer.progress.raw, ...fields }) : answer;
}

/** The pod, running and ready, created for these instances. */
export function runningPod(name = podName, ids: readonly string[] = ['old']): Pod {
  const argument = ids.length === 1 ? `--id=${ids.join()}` : `--ids=${ids.join()}`;
  return runningOperandPod('syncer', name, ['syncer', argument]);
}

type ProgressOf = ProgressAnswer<SyncerProgress> & { readonly kind: 'progress' };

/** An answer with this progress; of a sync from `old` to `new` unless it says otherwise. */
export function progress(raw: Readonly<Record<string, unknown>>): ProgressOf {
  const forward = { Source: 'cluster0: old:1', Destination: 'cluster1: new:1' };
  const read = readProgress({
    ...(raw['state'] !== 'IDLE' && { directionMapping: forward }),
    ...raw,
  });
  if (!read) throw new TypeError('a progress has a state');
  return { kind: 'progress', progress: read };
}

/** The progress in each stage of a sync. */
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

/** What is known about an instance that has accepted a reset, and has since reported that it knows of no sync. */
export const resetAndIdle = {
  answer: answers.idle,
  command: { name: 'reset', kind: 'taken', endedMs: nowMs - 200 },
} as const;

/** The progress in the same stage of a sync from `new` to `old`. */
export function reversed({ progress: { raw } }: ProgressOf): ProgressOf {
  return progress({
    ...raw,
    directionMapping: { Source: 'cluster1: new:1', Destination: 'cluster0: old:1' },
  });
}

/** An answer with an error. */
export function failure(name: string, isLasting = true): ProgressAnswer<SyncerProgress> {
  return { kind: 'error', error: { name, description: 'what is wrong', isLasting } };
}

/** A refused command, which may be repeated. */
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
    endedMs: nowMs - 1_000,
    retryAtMs: nowMs + 10_000,
  };
}

/** The decision for a sync of three shards. */
export function decideOn(
  world: World,
  spec: Partial<ClusterSyncSpec> = {},
  status: ClusterSyncStatus = threeShards,
): Decision {
  return decide(clusterSync(spec, status), world);
}

/** The commands to a sync of three shards, each with the number of its shard. */
export function commandsToShards(world: World, spec: Partial<ClusterSyncSpec> = {}): string[] {
  return decideOn(world, spec).commands.map(
    ({ id, command }) => `${command.name} ${id.replace('shard-', '')}`,
  );
}

/** Phase, and status and reason of the condition Ready. */
export function phaseAndReadiness({ phase, conditions }: ClusterSyncStatus): string {
  const ready = findCondition(conditions, 'Ready');
  return `${phase ?? ''}: ${ready?.status ?? ''} ${ready?.reason ?? ''}`;
}

/** The message of the condition Ready. */
export function readyMessage(status: ClusterSyncStatus): string {
  return findCondition(status.conditions, 'Ready')?.message ?? '';
}
