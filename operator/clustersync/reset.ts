import type { ClusterSync, ClusterSyncStatus } from '../api/clustersync.ts';
import { commandErrorCause } from '../operand/api-causes.ts';
import { isCurrent, lastOf } from '../operand/observation.ts';
import { gravestCause, type ConditionCause } from '../operand/condition-cause.ts';
import { asIdle, shownProgress, type Assessment } from './assessment.ts';
import { wantedDigest } from './identity.ts';
import type { InstanceView } from './instance-causes.ts';
import { isCommittedIn, isDeletedInForeground, isLetGo, resetFinalizer } from './on-record.ts';
import { instancesOf } from './resources.ts';
import { recordToken, wasUsedBefore } from './used-tokens.ts';

/** What the end of a sync leaves on the destination. */
export type ResetDestination = ClusterSync['spec']['onDelete'];

/** What asks for the end of a sync. */
export type ResetCause =
  | { readonly kind: 'deletion' }
  /** To begin it again. */
  | { readonly kind: 'startOver'; readonly token: string };

/** What to do about a requested end of a sync. */
export type ResetPlan =
  | { readonly kind: 'none' }
  /** The sync is committed, so nothing may be started again; or the token was used before. */
  | { readonly kind: 'refused'; readonly token: string }
  /**
   * There is no longer a sync, or none to end. `isReset`: a reset has ended it. `isLeft`: nothing was done, and something of the sync may
   * be left, on a destination that is in use, or belongs to another ClusterSync by now.
   */
  | {
      readonly kind: 'done';
      readonly cause: ResetCause;
      readonly isReset: boolean;
      readonly isLeft: boolean;
    }
  | {
      readonly kind: 'under way';
      readonly cause: ResetCause;
      readonly destination: ResetDestination;
      /** Whether to send the instances a reset. */
      readonly isSent: boolean;
      readonly conditionCause: ConditionCause;
    };

/** What the plan depends on, apart from the resource. */
export interface ResetInput {
  readonly views: readonly InstanceView[];
  readonly assessment: Assessment;
  /** Whether the destination is not known to be this ClusterSync's. */
  readonly isUnclaimed: boolean;
  /** Whether the destination is known to be another one's. */
  readonly isOfOther: boolean;
  /** Whether pods have been created for it. */
  readonly isMade: boolean;
  /** Whether those pods are known not to have started a sync, nor to have continued one. */
  readonly isNothingStarted: boolean;
  readonly nowMs: number;
}

/** The finalizers that a ClusterSync should have; undefined if it has them. */
export function finalizersWanted(
  { metadata, spec }: ClusterSync,
  plan: ResetPlan,
): readonly string[] | undefined {
  const finalizers = metadata.finalizers ?? [];
  const has = finalizers.includes(resetFinalizer);
  const isEnded = plan.kind === 'done' && plan.cause.kind === 'deletion';
  const isWanted =
    metadata.deletionTimestamp === undefined
      ? // A previous definition does not have the field.
        ['Unblock', 'Clean'].includes(spec.onDelete)
      : has && !isEnded;
  if (isWanted === has) return undefined;
  return isWanted
    ? [...finalizers, resetFinalizer]
    : finalizers.filter((name) => name !== resetFinalizer);
}

/** What to do for the end of the sync that the resource asks for. */
export function planReset(clusterSync: ClusterSync, input: ResetInput): ResetPlan {
  const { metadata, spec, status } = clusterSync;
  if (metadata.deletionTimestamp !== undefined)
    return isLetGo(clusterSync) ? { kind: 'none' } : planEnd(clusterSync, input);
  const { startOver } = spec;
  if (startOver === undefined || input.isUnclaimed || spec.suspend) return { kind: 'none' };
  // A dry run changes nothing; but what has begun is finished.
  if (spec.dryRun && status?.startOver?.state !== 'Resetting') return { kind: 'none' };
  const { token, destination } = startOver;
  if (status?.startOver?.token === token && status.startOver.state !== 'Resetting')
    return { kind: 'none' };
  if (isToBeRefused(clusterSync, token, input.assessment)) return { kind: 'refused', token };
  const cause = { kind: 'startOver', token } as const;
  if (isWithoutSync(input)) return { kind: 'done', cause, isReset: true, isLeft: false };
  return underWay(clusterSync, input, cause, destination);
}

/**
 * A ClusterSync as its sync was begun. `initialData` can be changed only together with the token, and has as little effect as that
 * if the start-over is refused: the sync continues, and is still this one.
 */
export function asBegun(
  clusterSync: ClusterSync,
  observations: ReadonlyMap<string, InstanceView['observation']>,
): ClusterSync {
  const { spec, status } = clusterSync;
  if (status?.startedAt === undefined) return clusterSync;
  const reported = instancesOf(clusterSync).map((instance) =>
    shownProgress({ instance, observation: observations.get(instance.id) }, status),
  );
  const known = status.startOver;
  const { token } = spec.startOver ?? known ?? {};
  if (token === undefined) return clusterSync;
  const isRefused =
    token === known?.token && known.state !== 'Resetting'
      ? known.state === 'Refused'
      : isToBeRefused(clusterSync, token, { reported });
  if (!isRefused) return clusterSync;
  const initialData = spec.initialData === 'Present' ? 'Absent' : 'Present';
  const begun = { ...clusterSync, spec: { ...spec, initialData } } as const;
  const digest = wantedDigest(begun);
  return reported.some((progress) => progress?.optionsDigest === digest) ? begun : clusterSync;
}

/** Puts the reset into the status: the end of the sync is recorded before another one is started. */
export function withReset(
  clusterSync: ClusterSync,
  status: ClusterSyncStatus,
  plan: ResetPlan,
): ClusterSyncStatus {
  const former = clusterSync.status?.startOver;
  switch (plan.kind) {
    case 'none':
      return former ? { ...status, startOver: former } : status;
    case 'refused':
      return { ...status, startOver: seen(former, plan.token, 'Refused') };
    case 'under way':
    case 'done': {
      if (plan.cause.kind === 'deletion') return former ? { ...status, startOver: former } : status;
      const { token } = plan.cause;
      if (plan.kind === 'under way')
        return { ...status, startOver: seen(former, token, 'Resetting') };
      // Everything else was about the previous sync; the source is examined again. What was missed of a commit stays missed.
      const { observedGeneration, phase, conditions, commit } = status;
      return {
        ...(observedGeneration !== undefined && { observedGeneration }),
        ...(phase !== undefined && { phase }),
        ...(conditions !== undefined && { conditions }),
        ...(commit !== undefined && { commit }),
        startOver: seen(former, token, 'Done'),
      };
    }
  }
}

type StartOver = NonNullable<ClusterSyncStatus['startOver']>;

function seen(former: StartOver | undefined, token: string, state: StartOver['state']): StartOver {
  return { ...recordToken(former, token), state };
}

/** The assessment of a sync that is being ended: shows nothing of what it was. */
export function assessedForReset(assessment: Assessment, plan: ResetPlan): Assessment {
  if (plan.kind !== 'under way') return assessment;
  const causes = { cause: plan.conditionCause, commitCause: plan.conditionCause };
  return { ...(plan.isSent ? asIdle(assessment) : assessment), ...causes };
}

/**
 * What a deletion without a reset leaves, for an event; undefined if the sync was not started, or is committed.
 */
export function leftBehind(clusterSync: ClusterSync): string | undefined {
  const { spec, status } = clusterSync;
  if (status?.startedAt === undefined || isCommittedIn(clusterSync)) return undefined;
  const [source, destination] =
    status.direction === 'Reverse'
      ? [spec.destination.name, spec.source.name]
      : [spec.source.name, spec.destination.name];
  const isCommitting = status.phase === 'Committing';
  const blocked = spec.enableUserWriteBlocking
    ? [...(isCommitting ? [source] : []), ...(status.canWrite === true ? [] : [destination])]
    : [];
  const bytes = status.totals?.estimatedCopiedBytes ?? 0;
  const isCopied = status.totals?.percent === 100;
  return [
    `the sync was not committed when this ClusterSync was deleted, and spec.onDelete is ${spec.onDelete}. It leaves `,
    `${isCopied ? 'a copy' : 'a partial copy'} of about ${bytes} bytes on ${destination}`,
    blocked.length > 0 ? `, writes by ordinary users blocked on ${blocked.join(' and ')}` : '',
    `, and its state in clustersync_internal on ${destination}: a ClusterSync with the same spec resumes from there`,
    // Data in use is not cleaned up.
    status.canWrite === true || status.committedAt !== undefined
      ? ''
      : '. To clean up, recreate the ClusterSync with spec.onDelete: Clean (or Unblock), and delete it once its pods run',
  ].join('');
}

function planEnd(clusterSync: ClusterSync, input: ResetInput): ResetPlan {
  const cause = { kind: 'deletion' } as const;
  const { onDelete } = clusterSync.spec;
  const isNothing =
    !['Unblock', 'Clean'].includes(onDelete) ||
    input.isOfOther ||
    input.isNothingStarted ||
    isInUse(clusterSync, input.assessment) ||
    // The sync there belongs to another ClusterSync.
    input.assessment.stages.includes('different') ||
    input.views.some(hasFoundOther) ||
    // Nothing of it has ever run.
    (!input.isMade && clusterSync.status?.startedAt === undefined) ||
    // The source is recorded before anything starts.
    (isEndedBefore(clusterSync) && clusterSync.status?.source === undefined) ||
    isWithoutSync(input);
  const isCommitted = input.assessment.stage === 'committed';
  const isHandsOff = input.isOfOther || (!isCommitted && isInUse(clusterSync, input.assessment));
  const isLeft = isHandsOff && clusterSync.status?.startedAt !== undefined;
  const isReset = !isLeft && input.views.some(hasTakenReset);
  return isNothing
    ? { kind: 'done', cause, isReset, isLeft }
    : underWay(clusterSync, input, cause, onDelete);
}

/** Whether a token that has not been handled yet starts nothing over. */
function isToBeRefused(
  clusterSync: ClusterSync,
  token: string,
  assessment: Pick<Assessment, 'reported'>,
): boolean {
  return wasUsedBefore(token, clusterSync.status?.startOver) || isInUse(clusterSync, assessment);
}

/**
 * Whether an instance has found another sync on the destination when it was given a reset, which names the sync that it is for. Its
 * progress may say nothing of that sync: it reports the one that it knows.
 */
function hasFoundOther({ observation }: InstanceView): boolean {
  const last = observation && lastOf(observation, 'reset');
  return last?.kind === 'refused' && last.error.name === 'DifferentSync';
}

function hasTakenReset({ observation }: InstanceView): boolean {
  return observation !== undefined && lastOf(observation, 'reset')?.kind === 'taken';
}

/** Whether users may write to the destination, or have been able to since a commit: such data is never replaced by another copy. */
function isInUse(clusterSync: ClusterSync, { reported }: Pick<Assessment, 'reported'>): boolean {
  if (isCommittedIn(clusterSync) || clusterSync.status?.committedAt !== undefined) return true;
  // Any sync counts: one with options other than those of spec is ended so that this one can start.
  return reported.some((progress) => progress?.state === 'COMMITTED' || progress?.canWrite);
}

/** Whether the sync has been ended to start over, and is not known to have begun. */
export function isEndedBefore({ status }: ClusterSync): boolean {
  return status?.startOver?.state === 'Done' && status.startedAt === undefined;
}

/** Whether every instance has just reported that it knows of no sync. */
function isWithoutSync({ views, nowMs }: ResetInput): boolean {
  return (
    views.length > 0 &&
    views.every(({ observation }) => {
      if (!observation || observation.unreachable || !isCurrent(observation, nowMs)) return false;
      const { answer, command, askedMs } = observation;
      if (answer?.kind !== 'progress' || answer.progress.state !== 'IDLE') return false;
      // It may be working on a start whose answer was lost, or that a previous operator sent: it accepts a reset once it has
      // ended that.
      if (command === undefined || command.kind === 'sending') return false;
      if (command.kind === 'refused' && command.error.isUnanswered) return false;
      return askedMs > command.endedMs;
    })
  );
}

function underWay(
  clusterSync: ClusterSync,
  { views, assessment }: ResetInput,
  cause: ResetCause,
  destination: ResetDestination,
): ResetPlan {
  // A successful commit is not ended: users are about to write to the destination.
  const isCommitting =
    views.length > 0 &&
    views.every(
      ({ observation }) =>
        observation?.answer?.kind === 'progress' &&
        ['COMMITTING', 'COMMITTED'].includes(observation.answer.progress.state),
    );
  const isSent = !isCommitting && !clusterSync.spec.suspend;
  const conditionCause = unfinishedResetCause(clusterSync, views, assessment, cause, isCommitting);
  return { kind: 'under way', cause, destination, isSent, conditionCause };
}

function unfinishedResetCause(
  clusterSync: ClusterSync,
  views: readonly InstanceView[],
  assessment: Assessment,
  cause: ResetCause,
  isCommitting: boolean,
): ConditionCause {
  const wayOut =
    cause.kind === 'deletion' ? '; to release it as it is, set spec.onDelete to Keep' : '';
  const refused = views.map(({ instance, observation }) =>
    observation?.command?.kind === 'refused' && observation.command.name === 'reset'
      ? commandErrorCause(observation.command.error, `the syncer ${instance.id}`, 'reset')
      : undefined,
  );
  const inForeground: ConditionCause | undefined =
    cause.kind === 'deletion' && isDeletedInForeground(clusterSync)
      ? {
          reason: 'DeletedInForeground',
          message:
            'Kubernetes deletes the pods of this ClusterSync first; without them its sync cannot be reset',
          level: 'stalled',
        }
      : undefined;
  const suspended: ConditionCause | undefined = clusterSync.spec.suspend
    ? {
        reason: 'Suspended',
        message: 'spec.suspend prevents the reset of the sync',
        level: 'warning',
      }
    : undefined;
  // The other sync is the reason for ending it.
  const other = assessment.cause?.reason === 'DifferentSync' ? undefined : assessment.cause;
  const known = gravestCause([inForeground, suspended, ...refused, other]);
  if (known) return { ...known, message: `${known.message}${wayOut}` };
  const message = isCommitting
    ? 'waiting for the commit in progress'
    : 'the sync is being ended, and its destination handled as in spec';
  const reason = cause.kind === 'deletion' ? 'Resetting' : 'StartingOver';
  return { reason, message: `${message}${wayOut}`, level: 'waiting' };
}
