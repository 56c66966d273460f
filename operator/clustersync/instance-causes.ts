import {
  commandErrorCause,
  apiErrorCause,
  silenceCause,
  type ProcessView,
} from '../operand/api-causes.ts';
import type { Observation } from '../operand/observation.ts';
import type { PodRefusal } from '../operand/pod-refusals.ts';
import { missingPod, orItsSecret } from '../operand/pod-state.ts';
import { gravestCause, type ConditionCause } from '../operand/condition-cause.ts';
import { listed, type Instance } from './resources.ts';
import type { Stage } from './stage.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';

/** What is known about an instance. */
export interface InstanceView extends ProcessView {
  readonly instance: Instance;
  readonly observation: Observation<SyncerProgress, SyncerCommand> | undefined;
  /** Why it has no pod, if it has none and that is known. */
  readonly refusal?: PodRefusal | undefined;
  /** Why a Secret that its pod reads when it starts cannot be used. */
  readonly unusableSecret?: ConditionCause | undefined;
}

/**
 * The gravest cause of all instances.
 * @param stages - how far each instance has come.
 */
export function gravestInstanceCause(
  instances: readonly InstanceView[],
  stages: readonly Stage[],
  nowMs: number,
): ConditionCause | undefined {
  return gravestCause(
    instances.flatMap((view, index) => [
      answeredError(view),
      refusedCommand(view, stages[index] ?? 'unknown'),
      view.pod ? view.pod.cause : absence(view),
      unreachable(view, stages[index] ?? 'unknown', nowMs),
    ]),
  );
}

/** An instance, as it would be seen if it had not refused a commit. */
export function withoutRefusedCommit(view: InstanceView): InstanceView {
  const { observation } = view;
  if (observation?.command?.kind !== 'refused' || observation.command.name !== 'commit')
    return view;
  return { ...view, observation: { ...observation, command: undefined } };
}

function absence({ instance, refusal, unusableSecret }: InstanceView): ConditionCause {
  return orItsSecret(missingPod(instance.podName, refusal), instance.podName, unusableSecret);
}

/** @param views - the instances that work, or have worked, on another sync. */
export function otherSyncCause(views: readonly InstanceView[]): ConditionCause {
  const ids = views.map(({ instance }) => instance.id);
  const failed = views.flatMap(({ observation }) =>
    observation?.answer?.kind === 'error' ? [observation.answer.error] : [],
  )[0];
  const failure = failed ? `; it has failed with ${failed.name}: ${failed.description}` : '';
  return {
    reason: 'DifferentSync',
    message: `the destination holds a sync that was started with options other than this spec (of the syncer ${listed(ids)}${failure}): no commands are sent to it. To continue that sync, recreate the ClusterSync with the options that it was started with; to abandon it and start with these options, set spec.startOver`,
    level: 'stalled',
  };
}

function answeredError({ instance, observation }: InstanceView): ConditionCause | undefined {
  if (observation?.answer?.kind !== 'error') return undefined;
  return apiErrorCause(observation.answer.error, `the syncer ${instance.id} reports`);
}

/** A refusal counts as long as the command is still required. */
function refusedCommand(
  { instance, observation }: InstanceView,
  stage: Stage,
): ConditionCause | undefined {
  const command = observation?.command;
  if (command?.kind !== 'refused') return undefined;
  if (!stagesOf[command.name].includes(stage)) return undefined;
  return commandErrorCause(command.error, `the syncer ${instance.id}`, command.name);
}

/** The stage in which an instance needs a command. */
const stagesOf: Record<SyncerCommand, readonly Stage[]> = {
  start: ['idle'],
  pause: ['reversing', 'copy', 'changes'],
  resume: ['reversing', 'copy', 'changes'],
  commit: ['changes'],
  reverse: ['reversing'],
  // Only while they are requested: see planRepair, limitsCause and planReset.
  repair: [],
  limits: [],
  reset: [],
};

function unreachable(view: InstanceView, stage: Stage, nowMs: number): ConditionCause | undefined {
  const who = `the syncer ${view.instance.id}`;
  const cause = silenceCause(view, { reason: 'SyncerUnreachable', who }, nowMs);
  const command = view.observation?.command;
  const isOpen =
    command?.kind === 'refused' ? command.error.isUnanswered : command?.kind === 'sending';
  if (!cause || !command || !isOpen || !stagesOf[command.name].includes(stage)) return cause;
  const { message } = cause;
  return {
    ...cause,
    message: `${message}; it is unknown whether it has accepted ${command.name}`,
  };
}
