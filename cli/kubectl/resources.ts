import { arrayOf, numberOf, objectOf, textOf, type JsonObject } from '../../service/json-fields.ts';
import { readProgress } from '../../sync-api/syncer-answers.ts';

/** The resource name of ClusterSyncs for kubectl. */
export const syncsResource = 'clustersyncs.clustersync.dev';

/** A ClusterSync, as far as it is displayed. */
export interface SyncResource {
  readonly namespace: string;
  readonly name: string;
  readonly desired: string;
  readonly phase: string;
  readonly direction: string | null;
  readonly percent: number | null;
  readonly lagSeconds: number | null;
  /** Whether a commit is advisable: the status of its condition. */
  readonly readyToCommit: 'yes' | 'no' | 'unknown';
  readonly coordinatorId: string | null;
  readonly source: string;
  readonly destination: string;
  readonly conditions: readonly Condition[];
  /** Whether its status is about its present spec. */
  readonly isObserved: boolean;
  /** What the check before the start has found. */
  readonly findings: readonly FindingResource[];
  /** How many more there are. */
  readonly omittedFindings: number;
  readonly instances: readonly InstanceResource[];
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface FindingResource {
  readonly severity: string;
  readonly name: string;
  readonly side: string | null;
  readonly message: string;
  readonly action: string | null;
}

export interface InstanceResource {
  readonly id: string;
  readonly pod: string | null;
  readonly ready: boolean;
  readonly state: string | null;
  readonly info: string | null;
  readonly lagSeconds: number | null;
  readonly error: string | null;
}

/** A SyncVerification, as far as it is displayed. */
export interface VerificationResource {
  readonly namespace: string;
  readonly name: string;
  readonly syncName: string;
  readonly phase: string;
  readonly verdict: string | null;
  readonly differences: number | null;
  readonly conditions: readonly Condition[];
  /** Whether its status is about its present spec. */
  readonly isObserved: boolean;
}

/** Reads a ClusterSync as the API server returns it. */
export function readSync(object: JsonObject): SyncResource {
  const { namespace, name } = metadataOf(object);
  const spec = objectOf(object['spec']);
  const status = objectOf(object['status']);
  const conditions = conditionsOf(status);
  return {
    namespace,
    name,
    desired: textOf(spec['state']) ?? 'Running',
    phase: textOf(status['phase']) ?? 'Pending',
    direction: textOf(status['direction']) ?? null,
    percent: numberOf(objectOf(status['totals'])['percent']) ?? null,
    lagSeconds: numberOf(status['lagTimeSeconds']) ?? null,
    readyToCommit: readyToCommitIn(conditions),
    coordinatorId: textOf(status['coordinatorID']) ?? null,
    source: textOf(objectOf(spec['source'])['name']) ?? '',
    destination: textOf(objectOf(spec['destination'])['name']) ?? '',
    conditions,
    isObserved: isObserved(object),
    findings: arrayOf(status['preflight']).map(objectOf).map(readFinding),
    omittedFindings: numberOf(objectOf(status['preflightCheck'])['omittedFindings']) ?? 0,
    instances: arrayOf(status['instances']).map(objectOf).map(readInstance),
  };
}

function readyToCommitIn(conditions: readonly Condition[]): SyncResource['readyToCommit'] {
  const { status } = conditionIn(conditions, 'ReadyToCommit') ?? {};
  if (status === 'True') return 'yes';
  return status === 'False' ? 'no' : 'unknown';
}

/** The condition of a type; undefined if there is none. */
export function conditionIn(
  conditions: readonly Condition[],
  wanted: string,
): Condition | undefined {
  return conditions.find(({ type }) => type === wanted);
}

/** Reads a SyncVerification as the API server returns it. */
export function readVerification(object: JsonObject): VerificationResource {
  const { namespace, name } = metadataOf(object);
  const status = objectOf(object['status']);
  return {
    namespace,
    name,
    syncName: textOf(objectOf(objectOf(object['spec'])['clusterSyncRef'])['name']) ?? '',
    phase: textOf(status['phase']) ?? 'Pending',
    verdict: textOf(status['verdict']) ?? null,
    differences: numberOf(objectOf(status['mismatches'])['total']) ?? null,
    conditions: conditionsOf(status),
    isObserved: isObserved(object),
  };
}

/** Until the operator has seen a change of the spec, the status is about an earlier one. */
function isObserved(object: JsonObject): boolean {
  const generation = numberOf(objectOf(object['metadata'])['generation']) ?? 0;
  return (numberOf(objectOf(object['status'])['observedGeneration']) ?? -1) >= generation;
}

/** The objects of a list, as the API server returns it. */
export function itemsOf(list: JsonObject): JsonObject[] {
  return arrayOf(list['items']).map(objectOf);
}

export function metadataOf(object: JsonObject): {
  readonly namespace: string;
  readonly name: string;
  readonly annotations: JsonObject;
} {
  const metadata = objectOf(object['metadata']);
  return {
    namespace: textOf(metadata['namespace']) ?? '',
    name: textOf(metadata['name']) ?? '',
    annotations: objectOf(metadata['annotations']),
  };
}

function readFinding(one: JsonObject): FindingResource {
  return {
    severity: textOf(one['severity']) ?? '',
    name: textOf(one['name']) ?? '',
    side: textOf(one['side']) ?? null,
    message: textOf(one['message']) ?? '',
    action: textOf(one['action']) ?? null,
  };
}

function readInstance(one: JsonObject): InstanceResource {
  const progress = readProgress(one['progress']);
  return {
    id: textOf(one['id']) ?? '',
    pod: textOf(one['pod']) ?? null,
    ready: one['ready'] === true,
    state: progress?.state ?? null,
    info: progress?.info ?? null,
    lagSeconds: progress?.lagTimeSeconds ?? null,
    error: textOf(one['error']) ?? null,
  };
}

function conditionsOf(status: JsonObject): Condition[] {
  return arrayOf(status['conditions'])
    .map(objectOf)
    .map((condition) => ({
      type: textOf(condition['type']) ?? '',
      status: textOf(condition['status']) ?? '',
      reason: textOf(condition['reason']) ?? '',
      message: textOf(condition['message']) ?? '',
    }));
}
