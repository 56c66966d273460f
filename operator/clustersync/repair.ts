import { optionsDigestHeader } from '../../sync-api/headers.ts';
import type { RepairBody } from '../../sync-api/json.ts';
import type { ClusterSync, ClusterSyncStatus, Direction } from '../api/clustersync.ts';
import { commandErrorCause } from '../operand/api-causes.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import { isCurrent, lastOf, maySend } from '../operand/observation.ts';
import type { Assessment } from './assessment.ts';
import type { InstanceCommand } from './commands.ts';
import { wantedDigest } from './identity.ts';
import type { InstanceView } from './instance-causes.ts';
import { isCommittedIn } from './on-record.ts';
import type { ResetPlan } from './reset.ts';
import { isTheOtherWay } from './stage.ts';
import { recordToken, wasUsedBefore } from './used-tokens.ts';

type RepairStatus = NonNullable<ClusterSyncStatus['repair']>;
type Comparison = NonNullable<RepairStatus['comparison']>;

/** What to do about a requested repair. */
export type RepairPlan =
  | { readonly kind: 'none' }
  /** There is nothing to repair, nothing may be repaired, or every instance has been given the repair. */
  | { readonly kind: 'over'; readonly record: RepairStatus }
  | {
      readonly kind: 'under way';
      readonly record: RepairStatus;
      /** The instances to send it to now: none before the request is recorded, nor while it waits. */
      readonly receivers: readonly InstanceView[];
      readonly conditionCause: ConditionCause;
    };

/** What the plan depends on, apart from the resource. */
export interface RepairInput {
  readonly views: readonly InstanceView[];
  readonly assessment: Assessment;
  /** The end of the sync, which comes before its repair. */
  readonly reset: ResetPlan;
  /** Whether the operator sends no commands, for a reason that the assessment names. */
  readonly isBlocked: boolean;
  /** Whether nothing is started because of spec.dryRun. */
  readonly isDry: boolean;
  readonly nowMs: number;
}

/** What to do for the repair that the resource asks for. */
export function planRepair(clusterSync: ClusterSync, input: RepairInput): RepairPlan {
  const { metadata, spec, status } = clusterSync;
  const { repair } = spec;
  const former = status?.repair;
  if (repair === undefined || metadata.deletionTimestamp !== undefined) return { kind: 'none' };
  const { token } = repair;
  const request = former?.token === token ? former : undefined;
  if (request && request.state !== 'Requested') return { kind: 'none' };
  const over = (state: RepairStatus['state']): RepairPlan => ({
    kind: 'over',
    record: { ...recordToken(former, token), state },
  });
  // What is there from the beginning is not a change: as when a ClusterSync is created again from Git.
  if (status?.phase === undefined) return over('NotNeeded');
  const { reset } = input;
  if (spec.suspend || reset.kind === 'under way') return { kind: 'none' };
  if (reset.kind === 'done') return over('NotNeeded');
  if (wasUsedBefore(token, former)) return over('Refused');
  if (isCommittedIn(clusterSync) || input.assessment.stage === 'committed') return over('Refused');
  if (isWithoutSync(input)) return over('NotNeeded');
  if (input.isDry) return { kind: 'none' };
  const { comparison = repair.comparison } = request ?? {};
  if (request && input.views.length > 0 && input.views.every((view) => isGiven(view, request)))
    return { kind: 'over', record: { ...recordToken(former, token), state: 'Begun', comparison } };
  return underWay(clusterSync, input, request, { token, comparison });
}

/** Puts the repair into the status: the request is recorded before it is sent. */
export function withRepair(
  clusterSync: ClusterSync,
  status: ClusterSyncStatus,
  plan: RepairPlan,
): ClusterSyncStatus {
  const repair = plan.kind === 'none' ? clusterSync.status?.repair : plan.record;
  return repair ? { ...status, repair } : status;
}

/** The assessment of a sync that is to be repaired: it is not committed before. */
export function assessedForRepair(assessment: Assessment, plan: RepairPlan): Assessment {
  if (plan.kind !== 'under way') return assessment;
  return {
    ...assessment,
    canCommit: false,
    commitObstacles: ['the repair that spec.repair requests comes first'],
    cause: plan.conditionCause,
    commitCause: plan.conditionCause,
  };
}

/** The repair, for every instance that has not been given it. */
export function repairCommands(
  clusterSync: ClusterSync,
  plan: RepairPlan,
  nowMs: number,
): InstanceCommand[] {
  if (plan.kind !== 'under way') return [];
  const { token: request, comparison = 'Hashes' } = plan.record;
  const body: RepairBody = { comparison: comparison === 'Bytes' ? 'bytes' : 'hashes' };
  const headers = { [optionsDigestHeader]: wantedDigest(clusterSync) };
  return plan.receivers.flatMap(({ instance, observation }): InstanceCommand[] => {
    if (!observation || !maySend(observation, 'repair', nowMs, request)) return [];
    return [{ id: instance.id, command: { name: 'repair', body, headers, request } }];
  });
}

function underWay(
  clusterSync: ClusterSync,
  input: RepairInput,
  request: RepairStatus | undefined,
  wanted: { readonly token: string; readonly comparison: Comparison },
): RepairPlan {
  const { views, assessment } = input;
  const { token, comparison } = wanted;
  const formerRepairs = formerRepairsOf(input, request, token);
  const record: RepairStatus = {
    ...recordToken(clusterSync.status?.repair, token),
    ...{ state: 'Requested', comparison },
    ...(formerRepairs !== undefined && { formerRepairs }),
  };
  const open = views.filter((view) => !isGiven(view, record));
  const obstacle = obstacleOf(clusterSync, input, open);
  if (obstacle !== undefined) {
    const { cause } = assessment;
    const conditionCause: ConditionCause = cause
      ? { ...cause, message: `${cause.message}; ${obstacle}` }
      : { reason: 'RepairWaiting', message: obstacle, level: 'waiting' };
    return { kind: 'under way', record, receivers: [], conditionCause };
  }
  const [refusal] = open.flatMap(({ instance, observation }) => {
    const command = observation && lastOf(observation, 'repair');
    if (command?.kind !== 'refused' || !isFor(command, token)) return [];
    return [commandErrorCause(command.error, `the syncer ${instance.id}`, 'repair')];
  });
  // The error of a sync that has stopped is what the repair is for.
  const conditionCause = refusal ?? sending;
  return { kind: 'under way', record, receivers: request ? open : [], conditionCause };
}

const sending: ConditionCause = {
  reason: 'Repairing',
  message: 'the repair that spec.repair requests is being sent',
  level: 'waiting',
};

/** How many repairs there were before the request; undefined if nobody has told. */
function formerRepairsOf(
  { views, assessment }: RepairInput,
  request: RepairStatus | undefined,
  token: string,
): number | undefined {
  if (request?.formerRepairs !== undefined) return request.formerRepairs;
  // Once it is sent, what the instances count may include it.
  const isSent = views.some(({ observation }) =>
    isFor(observation && lastOf(observation, 'repair'), token),
  );
  if (isSent) return undefined;
  const counts = assessment.progresses.flatMap((progress) => progress?.repairs ?? []);
  return counts.length > 0 ? Math.max(...counts) : undefined;
}

/** Whether an instance has been given the repair: by its own count, which outlives this operator, or by its answer. */
function isGiven(
  { observation }: InstanceView,
  { token, formerRepairs }: Pick<RepairStatus, 'token' | 'formerRepairs'>,
): boolean {
  const { answer, askedMs = 0 } = observation ?? {};
  const command = observation && lastOf(observation, 'repair');
  const repairs = answer?.kind === 'progress' ? answer.progress.repairs : undefined;
  if (repairs !== undefined && formerRepairs !== undefined) return repairs > formerRepairs;
  return command?.kind === 'taken' && isFor(command, token) && askedMs > command.endedMs;
}

function isFor(
  command: NonNullable<InstanceView['observation']>['command'],
  token: string,
): boolean {
  return command?.name === 'repair' && command.request === token;
}

/** Whether every instance has just reported that there is no sync: its start copies everything. */
function isWithoutSync({ views, nowMs }: RepairInput): boolean {
  return (
    views.length > 0 &&
    views.every(
      ({ observation }) =>
        observation?.answer?.kind === 'progress' &&
        isCurrent(observation, nowMs) &&
        observation.answer.progress.state === 'IDLE',
    )
  );
}

/**
 * What a repair waits for, and what to do about it; undefined if it can be sent. It is sent to all instances, or to none: those that have
 * it wait for the others.
 */
function obstacleOf(
  { spec }: ClusterSync,
  { assessment, isBlocked, nowMs }: RepairInput,
  open: readonly InstanceView[],
): string | undefined {
  if (isBlocked || assessment.stages.includes('different'))
    return assessment.cause
      ? 'spec.repair waits until this is resolved'
      : 'spec.repair waits until the destination is known to belong to this ClusterSync';
  const obstacles = open.map((view) => obstacleOfInstance(view, spec.direction, nowMs));
  const first = obstacles.find((text) => text !== undefined);
  if (first !== undefined) return first;
  return spec.state === 'Paused' ? paused : undefined;
}

const paused =
  'spec.repair waits: a paused sync cannot be repaired; set spec.state to Running to have it repaired';

function obstacleOfInstance(
  { instance, observation }: InstanceView,
  direction: Direction,
  nowMs: number,
): string | undefined {
  const who = `the syncer ${instance.id}`;
  if (!observation?.answer || !isCurrent(observation, nowMs))
    return `spec.repair waits until ${who} answers; check its pod if it does not`;
  const { answer } = observation;
  if (answer.kind === 'error') {
    // Only a sync that has stopped for good has to receive it.
    return answer.error.isLasting || answer.optionsDigest !== undefined
      ? undefined
      : `spec.repair waits until ${who} has overcome the error, or has stopped`;
  }
  const { progress } = answer;
  if (progress.state === 'COMMITTING')
    return 'spec.repair waits for the commit in progress; once it succeeds, nothing is repaired';
  if (progress.state === 'PAUSED') return paused;
  if (progress.state === 'IDLE') return `spec.repair waits until ${who} is started`;
  if (progress.state === 'RUNNING' && !isTheOtherWay(progress, direction)) return undefined;
  return 'spec.repair waits until the sync goes in the direction of spec.direction';
}
