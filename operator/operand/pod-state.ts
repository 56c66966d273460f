import { shortened } from '../../service/errors.ts';
import type { Pod } from '../kube/builtin-resources.ts';
import type { OperandKind } from './names.ts';
import type { ConditionCause } from './condition-cause.ts';
import type { PodRefusal } from './pod-refusals.ts';

/** A pod of an operand, as far as the operator cares. */
export interface PodState {
  readonly name: string;
  /** Identifies one run of the container; undefined while it does not run. */
  readonly process: string | undefined;
  readonly ip: string | undefined;
  readonly isReady: boolean;
  /** What its container runs, by digest; undefined if nothing has run yet. Of a pod that is being replaced, only while it still runs. */
  readonly image: string | undefined;
  /** Why the container does not run. */
  readonly cause: ConditionCause | undefined;
  /** It runs, though it counts as not running: it is about to be replaced. */
  readonly isOutdated?: boolean;
}

/** A container that has failed this often will not recover without help. */
const crashesUntilStalled = 5;

/** So long after its grace period, a pod that has not ended needs somebody: kubelets take some seconds. */
const overdueMs = 60_000;

/** Admission policies may have long messages. */
const maxRefusalLength = 1_000;

/** As in the schema of the status: a longer one, which no kubelet reports, would make the whole status invalid. */
const maxImageLength = 1024;

/** Reads the pod's status. */
export function podState(pod: Pod, kind: OperandKind): PodState {
  const { name, uid, deletionTimestamp } = pod.metadata;
  const { status } = pod;
  const container = containerStatusOf(pod, kind);
  const isExecuting = container?.state?.running !== undefined;
  const isRunning = deletionTimestamp === undefined && isExecuting;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    name,
    ip: status?.podIP,
    process: isRunning ? `${uid ?? ''}/${container.containerID ?? ''}` : undefined,
    isReady: isRunning && ready?.status === 'True',
    image: deletionTimestamp === undefined || isExecuting ? imageOf(container) : undefined,
    cause: isRunning ? undefined : causeOf(pod, container),
  };
}

/**
 * The same for a pod whose container should have been started with some arguments. One that was started without them is about to be
 * replaced: it counts as not running, and nothing that it reports is read.
 * @param expected - the arguments; for each, what to say after the pod's name if it was started without.
 */
export function podStateWith(
  pod: Pod,
  kind: OperandKind,
  expected: ReadonlyMap<string, string>,
): PodState {
  const state = podState(pod, kind);
  const container = pod.spec?.containers.find((each) => each.name === kind);
  const [missing] = [...expected].filter(([argument]) => !container?.args?.includes(argument));
  if (!missing) return state;
  const cause = pendingPod(state.name, missing[1]);
  const image = containerStatusOf(pod, kind)?.state?.running && state.image;
  const isOutdated = state.process !== undefined;
  return { ...state, process: undefined, ip: undefined, isReady: false, image, cause, isOutdated };
}

const endedPhases: readonly (string | undefined)[] = ['Succeeded', 'Failed'];

/**
 * Whether nothing of a pod runs, or ever will. A finalizer can keep a pod in the API after it has ended.
 */
export function hasEnded({ metadata, spec, status }: Pod): boolean {
  // A pod that is being deleted is no longer scheduled.
  const isNeverRun = metadata.deletionTimestamp !== undefined && spec?.nodeName === undefined;
  return isNeverRun || endedPhases.includes(status?.phase);
}

/** Whether the node of a pod has not confirmed its end in time. */
export function isOverdue(pod: Pod, nowMs: number): boolean {
  // A pod's deletionTimestamp is when its grace period ends.
  const { deletionTimestamp } = pod.metadata;
  if (deletionTimestamp === undefined || hasEnded(pod)) return false;
  return nowMs - Date.parse(deletionTimestamp) >= overdueMs;
}

/**
 * The same for a pod whose node has not confirmed its end in time. Kubernetes creates no other pod of its name before: the node may be
 * cut off, and the pod may still work there.
 */
export function withOverdueEnd(state: PodState, pod: Pod, nowMs: number): PodState {
  if (!isOverdue(pod, nowMs)) return state;
  const { name, deletionTimestamp = '' } = pod.metadata;
  const node = pod.spec?.nodeName ?? '';
  const cause = {
    reason: 'NodeUnresponsive',
    message: `the node ${node} does not confirm that the pod ${name} has ended, which was to end by ${deletionTimestamp}; if the node is gone, delete it, or taint it ("kubectl taint nodes ${node} node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")`,
    level: 'stalled',
  } as const;
  return { ...state, cause };
}

/** The cause for a missing pod. @param refusal - why it cannot be created, if that is known. */
export function missingPod(name: string, refusal: PodRefusal | undefined): ConditionCause {
  if (!refusal)
    return pendingPod(name, "has not been created yet: the StatefulSet's events say why");
  return {
    reason: 'PodCreationFailed',
    message: `the pod ${name} cannot be created: ${shortened(refusal.message, maxRefusalLength)}`,
    level: refusal.isLasting ? 'stalled' : 'warning',
  };
}

/** By the reason why a Secret cannot be used: what keeps a pod that needs it from running, as far as its own status tells. */
const secretSymptoms: Readonly<Record<string, readonly string[]>> = {
  // Without a Secret, the kubelet starts no container; one that crashes has found its files.
  SecretNotFound: ['PodPending'],
  InvalidCertificate: ['PodPending', 'PodCrashLooping'],
};

/**
 * Why a pod does not run, if a Secret that it reads when it starts cannot be used: that Secret, unless something else keeps the pod.
 * @param cause - what its own status tells.
 * @param unusable - why the Secret cannot be used; undefined if all can.
 */
export function orItsSecret(
  cause: ConditionCause,
  name: string,
  unusable: ConditionCause | undefined,
): ConditionCause {
  if (!unusable || !secretSymptoms[unusable.reason]?.includes(cause.reason)) return cause;
  const message = `${unusable.message}: the pod ${name} cannot start until this is corrected`;
  return { ...unusable, message };
}

/** The same, with that cause. */
export function orWithItsSecret(state: PodState, unusable: ConditionCause | undefined): PodState {
  if (!state.cause || state.isOutdated) return state;
  return { ...state, cause: orItsSecret(state.cause, state.name, unusable) };
}

/** How many of an operand's pods run. */
export type RunningPods = 'all' | 'some' | 'none';

/** See {@link RunningPods}. @param pods - undefined for one that does not exist. */
export function runningPods(pods: readonly (PodState | undefined)[]): RunningPods {
  const running = pods.filter((pod) => pod && (pod.process !== undefined || pod.isOutdated)).length;
  if (running === 0) return 'none';
  return running === pods.length ? 'all' : 'some';
}

/** The cause for a pod that is about to be replaced. */
export const beingReplaced = 'is being replaced';

function pendingPod(name: string, how: string): ConditionCause {
  return { reason: 'PodPending', message: `the pod ${name} ${how}`, level: 'waiting' };
}

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

function containerStatusOf({ status }: Pod, kind: OperandKind): ContainerStatus | undefined {
  return status?.containerStatuses?.find(({ name }) => name === kind);
}

/** Without the scheme by which some runtimes say how the image can be found, such as `docker-pullable://`. */
function imageOf(container: ContainerStatus | undefined): string | undefined {
  const image = container?.imageID.replace(/^[a-z][a-z0-9+.-]*:\/\//, '') ?? '';
  return image === '' || image.length > maxImageLength ? undefined : image;
}

function causeOf(pod: Pod, container: ContainerStatus | undefined): ConditionCause {
  const { name, deletionTimestamp } = pod.metadata;
  if (deletionTimestamp !== undefined) return pendingPod(name, beingReplaced);
  const waiting = container?.state?.waiting;
  const detail = waiting?.message === undefined ? '' : `: ${waiting.message}`;
  switch (waiting?.reason ?? '') {
    case 'ErrImagePull':
    case 'ErrImageNeverPull':
    case 'ImagePullBackOff':
    case 'InvalidImageName':
      return {
        reason: 'ImagePullFailed',
        message: `the image of the pod ${name} cannot be pulled${detail}`,
        level: waiting?.reason === 'ErrImagePull' ? 'waiting' : 'stalled',
      };
    case 'CreateContainerConfigError':
    case 'CreateContainerError':
    case 'RunContainerError':
      return {
        reason: 'PodStartFailed',
        message: `the container of the pod ${name} cannot start${detail}`,
        level: 'stalled',
      };
    case 'CrashLoopBackOff':
      return crashing(name, container);
    default:
      return unscheduled(pod) ?? pending(name, container);
  }
}

function crashing(name: string, container: ContainerStatus | undefined): ConditionCause {
  const restarts = container?.restartCount ?? 0;
  return {
    reason: 'PodCrashLooping',
    // Without the number of restarts: each would be another event.
    message: `the container of the pod ${name} keeps crashing${lastEnd(container)}`,
    level: restarts >= crashesUntilStalled ? 'stalled' : 'warning',
  };
}

function pending(name: string, container: ContainerStatus | undefined): ConditionCause {
  return {
    reason: 'PodPending',
    message: `the container of the pod ${name} is not running yet${lastEnd(container)}`,
    level: 'waiting',
  };
}

function lastEnd(container: ContainerStatus | undefined): string {
  const end = container?.lastState?.terminated ?? container?.state?.terminated;
  if (!end) return '';
  return `; last time with exit code ${end.exitCode} (${end.reason ?? 'no reason given'})`;
}

function unscheduled({ metadata, status }: Pod): ConditionCause | undefined {
  const scheduled = status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (scheduled?.reason !== 'Unschedulable') return undefined;
  return {
    reason: 'PodUnschedulable',
    message: `the pod ${metadata.name} cannot be scheduled: ${scheduled.message ?? 'no reason given'}`,
    level: 'warning',
  };
}
