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
  /** Why the container does not run. */
  readonly cause: ConditionCause | undefined;
}

/** A container that has failed this often will not recover without help. */
const crashesUntilStalled = 5;

/** Admission policies may have long messages. */
const maxRefusalLength = 1_000;

/** Reads the pod's status. */
export function podState(pod: Pod, kind: OperandKind): PodState {
  const { name, uid, deletionTimestamp } = pod.metadata;
  const { status } = pod;
  const container = status?.containerStatuses?.find((each) => each.name === kind);
  const isRunning = deletionTimestamp === undefined && container?.state?.running !== undefined;
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return {
    name,
    ip: status?.podIP,
    process: isRunning ? `${uid ?? ''}/${container.containerID ?? ''}` : undefined,
    isReady: isRunning && ready?.status === 'True',
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
  return { ...state, process: undefined, ip: undefined, isReady: false, cause };
}

const endedPhases: readonly (string | undefined)[] = ['Succeeded', 'Failed'];

/**
 * Whether nothing of a pod runs any more, or ever will. A finalizer can keep a pod in the API after it has ended.
 */
export function hasEnded({ metadata, spec, status }: Pod): boolean {
  // A pod that is being deleted is no longer scheduled.
  const isNeverRun = metadata.deletionTimestamp !== undefined && spec?.nodeName === undefined;
  return isNeverRun || endedPhases.includes(status?.phase);
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

/** The cause for a pod that is about to be replaced. */
export const beingReplaced = 'is being replaced';

function pendingPod(name: string, how: string): ConditionCause {
  return { reason: 'PodPending', message: `the pod ${name} ${how}`, level: 'waiting' };
}

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number];

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
