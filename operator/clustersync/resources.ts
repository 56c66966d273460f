import { environmentName } from '../../service/options.ts';
import type { StartBody } from '../../sync-api/json.ts';
import {
  sameAsNone,
  startDefaults,
  startOptions,
  type StartOption,
} from '../../sync-api/start-options.ts';
import type { ClusterSync, ClusterSyncStatus } from '../api/clustersync.ts';
import type { Pod, StatefulSet } from '../kube/builtin-resources.ts';
import { operandName } from '../operand/names.ts';
import { mountedSide, type SecretsRecord } from '../operand/operand-secrets.ts';
import { beingReplaced, podStateWith, type PodState } from '../operand/pod-state.ts';
import {
  operandObjects,
  optionalArguments,
  tokenArgument,
  type OperandObjects,
  type OperandSettings,
} from '../operand/workload.ts';

/** Port of a syncer's API in its pod. */
export const syncerPort = 27182;

/** A process that does part of the sync. */
export interface Instance {
  /** `--id` of the syncer. */
  readonly id: string;
  readonly podName: string;
}

/** What the source is, which determines the number of instances. */
export type SourceShape = NonNullable<ClusterSyncStatus['source']>;

/** The name of all objects of a ClusterSync. */
export function syncerName({ metadata }: Pick<ClusterSync, 'metadata'>): string {
  return operandName(metadata.name, 'syncer');
}

/**
 * The instances of a ClusterSync, in the order of their pods. They are named after the source and numbered if there are several:
 * neither can be changed, so that a restarted pod finds its state again. If their number is not given, those of a sharded cluster
 * have the names that its shards had when they were first seen. Until the topology is known there is one instance, which reports
 * it.
 */
export function instancesOf(clusterSync: ClusterSync): readonly Instance[] {
  const ids = idsOf(clusterSync);
  return ids.map((id, index) => ({ id, podName: `${syncerName(clusterSync)}-${index}` }));
}

function idsOf({ spec, status }: ClusterSync): readonly string[] {
  const { name } = spec.source;
  const { instances } = spec.syncer;
  const source = status?.source;
  if (source?.kind === 'Sharded' && instances === undefined) return source.shards;
  if (source === undefined || instances === undefined || instances === 1) return [name];
  return Array.from({ length: instances }, (_, index) => `${name}-${index}`);
}

/** Tells the pod names of a ClusterSync from all others: they are the name of its StatefulSet with a number. */
export function isSyncerPodName(
  clusterSync: Pick<ClusterSync, 'metadata'>,
): (name: string) => boolean {
  const start = `${syncerName(clusterSync)}-`;
  return (name) => name.startsWith(start) && /^\d+$/.test(name.slice(start.length));
}

/** How many names fit into a message. */
const maxListed = 5;

/** Ids of instances or shards, for a message. */
export function listed(ids: readonly string[]): string {
  const more = ids.length > maxListed ? ` and ${ids.length - maxListed} more` : '';
  return `${ids.slice(0, maxListed).join(', ')}${more}`;
}

/** What determines how the syncers run, apart from the resource. */
export interface SyncerPlan {
  readonly instances: readonly Instance[];
  /** Scale down to no pods. */
  readonly isResting: boolean;
  /** A sync that they find on the destination may belong to another ClusterSync, or this is a dry run: they must not continue it. */
  readonly isContested: boolean;
  readonly secretsRecord: SecretsRecord;
  /** The token of the API. */
  readonly token: string;
}

const continuesNone = '--continues=none';

/** Whether the pods of a StatefulSet do not continue a sync that they find, see {@link SyncerPlan.isContested}. */
export function isMadeContested(statefulSet: StatefulSet | undefined): boolean {
  const containers = statefulSet?.spec?.template.spec?.containers ?? [];
  return containers.some(({ name, args }) => name === 'syncer' && args?.includes(continuesNone));
}

/** The objects that run the syncer. */
export function syncerObjects(
  clusterSync: ClusterSync,
  { instances, isResting, isContested, secretsRecord, token }: SyncerPlan,
  settings: OperandSettings,
): OperandObjects {
  const { spec } = clusterSync;
  const { copyWorkers, applyWorkers } = spec.syncer;
  const source = mountedSide('source', spec.source, [{ uri: 'cluster0', prefix: 'cluster0' }]);
  const destination = mountedSide('destination', spec.destination, [
    { uri: 'cluster1', prefix: 'cluster1' },
  ]);
  return operandObjects(
    {
      owner: clusterSync,
      name: syncerName(clusterSync),
      kind: 'syncer',
      replicas: isResting ? 0 : instances.length,
      port: syncerPort,
      args: [
        idArgument(instances),
        ...source.args,
        ...destination.args,
        ...(isContested ? [continuesNone] : []),
        ...optionalArguments({ copyWorkers, applyWorkers }),
      ],
      ...(instances.length > 1 && { podIndexVariable: environmentName('instance') }),
      secrets: [...source.secrets, ...destination.secrets],
      options: spec.syncer,
      secretsRecord,
      token,
    },
    settings,
  );
}

/**
 * Tells a pod which part of the sync is its own. All pods of a StatefulSet have the same command line: the pod's index selects its name
 * from the list.
 */
export function idArgument(instances: readonly Instance[]): string {
  const ids = instances.map(({ id }) => id).join(',');
  return instances.length === 1 ? `--id=${ids}` : `--ids=${ids}`;
}

/** Whether a pod was started for these instances and with this token; and what to say about one that was not. */
export function syncerPodState(pod: Pod, instances: readonly Instance[], token: string): PodState {
  const expected = [idArgument(instances), tokenArgument(token)];
  return podStateWith(pod, 'syncer', new Map(expected.map((each) => [each, beingReplaced])));
}

/** Options that every tool with the API of the contract knows; a tool of another image may not know the others. */
const knownToAll: readonly StartOption[] = [
  'buildIndexes',
  'enableUserWriteBlocking',
  'reversible',
];

/** What is the same start when it is left out. */
const needless: Readonly<Record<string, unknown>> = { ...startDefaults, ...sameAsNone };

/** The body of POST /start: the contract's options, by their names there. */
export function startBody({ spec }: Pick<ClusterSync, 'spec'>): StartBody {
  const { limits = {} } = spec;
  const options: Pick<StartBody, StartOption> = spec;
  const told = startOptions.filter(
    (name) =>
      knownToAll.includes(name) ||
      (options[name] !== undefined && options[name] !== needless[name]),
  );
  return {
    source: 'cluster0',
    destination: 'cluster1',
    ...Object.fromEntries(told.map((name) => [name, options[name]])),
    // They hold from the first document on; another tool need not know them.
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}
