import { actionFor, reasonFor, type ApiError } from '../operand/http-api.ts';
import type { Observation } from '../operand/observation.ts';
import { missingPod, type PodState } from '../operand/pod-state.ts';
import { gravest, type Trouble } from '../operand/trouble.ts';
import { unansweredTrouble, unreachableTrouble } from '../operand/api-trouble.ts';
import type { Instance } from './resources.ts';
import type { Stage } from './stage.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';

/** What is known of an instance. */
export interface InstanceView {
  readonly instance: Instance;
  readonly pod: PodState | undefined;
  readonly observation: Observation<SyncerProgress, SyncerCommand> | undefined;
}

/**
 * The gravest trouble of all instances.
 * @param stages - how far each of them has come.
 */
export function troubleOfInstances(
  instances: readonly InstanceView[],
  stages: readonly Stage[],
  nowMs: number,
): Trouble | undefined {
  return gravest(
    instances.flatMap((view, index) => [
      answeredError(view),
      refusedCommand(view, stages[index] ?? 'unknown'),
      view.pod ? view.pod.trouble : missingPod(view.instance.podName),
      unreachable(view, stages[index] ?? 'unknown', nowMs),
    ]),
  );
}

function answeredError({ instance, observation }: InstanceView): Trouble | undefined {
  if (observation?.answer?.kind !== 'error') return undefined;
  return troubleOfError(observation.answer.error, `the syncer ${instance.id} reports`);
}

/** A refusal counts as long as the command is still called for. */
function refusedCommand(
  { instance, observation }: InstanceView,
  stage: Stage,
): Trouble | undefined {
  const command = observation?.command;
  if (command?.kind !== 'refused') return undefined;
  if (!stagesOf[command.name].includes(stage)) return undefined;
  return troubleOfCommand(command.error, `the syncer ${instance.id}`, command.name);
}

/** How far an instance is when a command is called for. */
const stagesOf: Record<SyncerCommand, readonly Stage[]> = {
  start: ['idle'],
  pause: ['reversing', 'copy', 'changes'],
  resume: ['reversing', 'copy', 'changes'],
  commit: ['changes'],
  reverse: ['reversing'],
  // Only while it is asked for: see planReset.
  reset: [],
};

/** What to say of a command that is not known to be taken. */
export function troubleOfCommand(error: ApiError, who: string, command: SyncerCommand): Trouble {
  return error.isUnanswered
    ? unansweredTrouble(error, who, command)
    : troubleOfError(error, `${who} refuses ${command} with`);
}

/** @param who - and what it does: the message goes on with the name of the error. */
export function troubleOfError({ name, description, isLasting }: ApiError, who: string): Trouble {
  const action = actionFor(name);
  return {
    reason: reasonFor(name),
    message: `${who} ${name}: ${description}${action === undefined ? '' : ` (${action})`}`,
    // A transition that is refused has been overtaken by events: the next answer tells which.
    level: isLasting && name !== 'InvalidStateTransition' ? 'stalled' : 'waiting',
  };
}

function unreachable(
  { instance, pod, observation }: InstanceView,
  stage: Stage,
  nowMs: number,
): Trouble | undefined {
  if (!observation || !pod?.process) return undefined;
  const who = `the syncer ${instance.id} in the pod ${pod.name}`;
  const trouble = unreachableTrouble(observation, { reason: 'SyncerUnreachable', who }, nowMs);
  const { command } = observation;
  const isOpen =
    command?.kind === 'refused' ? command.error.isUnanswered : command?.kind === 'sending';
  if (!trouble || !command || !isOpen || !stagesOf[command.name].includes(stage)) return trouble;
  const { message } = trouble;
  return {
    ...trouble,
    message: `${message}; it is not known whether it has taken ${command.name}`,
  };
}
