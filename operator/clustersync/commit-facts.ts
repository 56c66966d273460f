import { tellsNoCommit } from '../../sync-api/syncer-answers.ts';
import type { ClusterSync, ClusterSyncStatus } from '../api/clustersync.ts';
import type { SyncVerification } from '../api/sync-verification.ts';
import { hashOfOptions, type CommitOptions, type Hold } from '../commit/hold.ts';
import {
  commitSettledMs,
  deadlineMs,
  type CommitFacts,
  type CommitPlan,
  type CommitProgress,
  type Obstacle,
} from '../commit/plan.ts';
import type { WorkloadView } from '../commit/plan.ts';
import { holderOf } from '../leases/lease-holder.ts';
import { secondTime } from '../kube/micro-time.ts';
import { isCurrent, lastOf, maySend, type Observation } from '../operand/observation.ts';
import { syncStartOf } from '../operand/sync-start.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import type { InstanceView } from './instance-causes.ts';
import type { SourceFinding } from './source.ts';
import { isAtLeast, isTheOtherWay } from './stage.ts';
import { textUntilCanCommit, textUntilConfirmed, type Assessment } from './assessment.ts';
import { isCommittedIn } from './on-record.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';
import { doubtOfAll } from './verification-gate.ts';

/** What an automatic commit depends on, apart from the sync. */
export interface CommitWorld {
  readonly hold: Hold | undefined;
  /** Undefined if they have not been read. */
  readonly workloads: readonly WorkloadView[] | undefined;
  /** Those in the namespace of the ClusterSync that are about it, and the one of `spec.commit.verificationRef`. */
  readonly verifications: readonly SyncVerification[];
  /** Whether this operator has heard of one of them since it began. */
  readonly isHeardOf: (verification: SyncVerification) => boolean;
}

/** What else the facts are derived from. */
export interface CommitInput {
  readonly clusterSync: ClusterSync;
  readonly nowMs: number;
  readonly assessment: Assessment;
  readonly finding: SourceFinding;
  readonly instances: readonly InstanceView[];
  /** Whether the destination belongs to another ClusterSync. */
  readonly isUnclaimed: boolean;
  /** Whether the sync is about to start over: it is being ended to start over, or its repair is requested. */
  readonly isToBeginAgain: boolean;
  /** Whether the sync has been ended to start over, and was not started since. */
  readonly isSyncEnded: boolean;
}

/** What the next step of an automatic commit depends on. */
export function commitFacts(input: CommitInput, world: CommitWorld): CommitFacts {
  const { clusterSync, nowMs, isUnclaimed, isToBeginAgain } = input;
  const { metadata, spec, status } = clusterSync;
  const { commit: options, state, direction } = spec;
  const isByHand = isAskedForByHand(clusterSync, world.hold);
  return {
    nowMs,
    options,
    direction,
    holder: holderOf(clusterSync),
    optionsHash: hashOfOptions(options),
    isAskedFor:
      (options.mode === 'Automatic' || isByHand) &&
      state !== 'Paused' &&
      metadata.deletionTimestamp === undefined &&
      !isUnclaimed &&
      !isToBeginAgain,
    isByHand,
    commit: progressOfCommit(input, world.hold),
    isCarriedOut: isCarriedOut(input, world.hold),
    obstacle: obstacleOf(input, options, world),
    hold: world.hold,
    missedHash: status?.commit?.missedOptions,
    workloads: world.workloads,
  };
}

/** Whether a person asks for a commit while workloads are held: see `isByHand` in {@link CommitFacts}. */
function isAskedForByHand({ spec }: ClusterSync, hold: Hold | undefined): boolean {
  return hold !== undefined && spec.commit.mode === 'Manual' && spec.state === 'Committed';
}

/** Whether workloads are held for the commit that may come next: not for one that was carried out, or of the other direction. */
export function isHoldOfCommit({ hold, direction }: CommitFacts): boolean {
  return hold?.direction === direction && hold.afterCommit === undefined;
}

/** What the status says about an automatic commit. */
export function commitStatus(
  { hold, options, isByHand, missedHash }: CommitFacts,
  plan: CommitPlan | undefined,
): ClusterSyncStatus['commit'] {
  // While the operator does nothing, what it missed stays missed.
  const missed = plan ? plan.missedHash : missedHash;
  if (!hold && missed === undefined) return undefined;
  return {
    ...(hold && {
      heldSince: secondTime(hold.sinceMs),
      ...(!isByHand &&
        hold.ending === undefined &&
        hold.commitSentMs === undefined && { deadline: secondTime(deadlineMs(hold, options)) }),
      workloads: hold.workloads.map(({ kind, name, replicas }) => ({ kind, name, replicas })),
    }),
    ...(missed !== undefined && { missedOptions: missed }),
  };
}

/** Judged by the direction of the hold: a reversal may have been requested since. */
function isCarriedOut({ assessment }: CommitInput, hold: Hold | undefined): boolean {
  if (!hold) return false;
  return assessment.progresses.some((progress) => {
    if (isTheOtherWay(progress, hold.direction)) return false;
    const { state, canWrite } = progress ?? {};
    return state === 'COMMITTED' || (state === 'COMMITTING' && canWrite === true);
  });
}

function progressOfCommit(
  { clusterSync, assessment, instances, isSyncEnded, nowMs }: CommitInput,
  hold: Hold | undefined,
): CommitProgress {
  if (isCommittedIn(clusterSync)) return 'done';
  if (assessment.stages.some((stage) => isAtLeast(stage, 'committing'))) return 'taken';
  const sentMs = hold?.commitSentMs ?? -Infinity;
  const isNone = instances.every(
    ({ observation }) => observation && provesNoCommit(observation, sentMs, nowMs, isSyncEnded),
  );
  return isNone && instances.length > 0 ? 'none' : 'unknown';
}

/**
 * Whether an instance's answer proves that it has no commit that may still be carried out: the instance says so itself, and was asked after
 * every request was answered or lost. A failed request proves nothing, and neither does the state RUNNING.
 * @param sentMs - when the intent to send a commit was last recorded.
 * @param isSyncEnded - whether its sync has ended: then one that knows of no sync has no commit.
 */
export function provesNoCommit(
  observation: Observation<SyncerProgress, SyncerCommand>,
  sentMs: number,
  nowMs: number,
  isSyncEnded = false,
): boolean {
  if (observation.unreachable || !isCurrent(observation, nowMs)) return false;
  const { answer, command, askedMs } = observation;
  if (answer?.kind !== 'progress' || command?.kind === 'sending') return false;
  const commit = lastOf(observation, 'commit');
  const endedMs = commit === undefined || commit.kind === 'sending' ? 0 : commit.endedMs;
  if (askedMs <= Math.max(endedMs, sentMs + commitSettledMs)) return false;
  return tellsNoCommit(answer.progress) || (isSyncEnded && answer.progress.state === 'IDLE');
}

/** Whether an instance has refused a commit, and is not sent it again yet. */
function isHeldBack({ observation }: InstanceView, nowMs: number): boolean {
  if (observation === undefined || lastOf(observation, 'commit')?.kind !== 'refused') return false;
  return !maySend(observation, 'commit', nowMs);
}

function obstacleOf(
  { clusterSync, assessment, finding, instances, nowMs }: CommitInput,
  options: CommitOptions,
  { hold, verifications, isHeardOf }: CommitWorld,
): Obstacle | undefined {
  const { stage, commitCause, paused, canCommit, isCommitUnderWay, lagTimeSeconds } = assessment;
  // The conditions already say all that.
  const isElsewhere = stage !== 'changes' || paused !== 'none';
  const isSent = isCommitUnderWay && !canCommit;
  // Nobody stops an application for what cannot be sent.
  const isTooSoon = instances.some((view) => isHeldBack(view, nowMs));
  if (commitCause || isElsewhere || isSent || isTooSoon) return { cause: undefined };
  if (!canCommit) return waiting('WaitingForCanCommit', textUntilCanCommit(assessment));
  if (!finding.isConfirmed) return waiting('WaitingForCanCommit', textUntilConfirmed);
  if (isAskedForByHand(clusterSync, hold)) return undefined;
  if (lagTimeSeconds === undefined || lagTimeSeconds > options.maxLagSeconds) {
    const lag = lagTimeSeconds === undefined ? 'unknown' : `${lagTimeSeconds} s`;
    const message = `the lag is ${lag}: the commit waits for a lag of at most ${options.maxLagSeconds} s`;
    return waiting('WaitingForLag', message);
  }
  const doubt = doubtOfAll(clusterSync, verifications, {
    isOfCommit: true,
    isQuiet: hold !== undefined,
    isAskedAgain: (options.workloads ?? []).length > 0 && !hold,
    isHeardOf,
    syncStartedAt: syncStartIn(clusterSync, assessment),
    nowMs,
  });
  return doubt && { cause: doubt };
}

/** Why no SyncVerification shows that the destination has the data of the source: see {@link doubtOfAll}. */
export function verificationDoubt(
  clusterSync: ClusterSync,
  assessment: Assessment,
  { verifications, isHeardOf }: CommitWorld,
  nowMs: number,
): ConditionCause | undefined {
  const syncStartedAt = syncStartIn(clusterSync, assessment);
  const asked = { isOfCommit: false, isQuiet: false, isAskedAgain: false } as const;
  return doubtOfAll(clusterSync, verifications, { ...asked, isHeardOf, syncStartedAt, nowMs });
}

function syncStartIn(
  { status }: ClusterSync,
  { progresses }: Pick<Assessment, 'progresses'>,
): string | undefined {
  return syncStartOf(
    progresses.map((progress) => progress?.raw),
    status?.startedAt,
  );
}

function waiting(reason: ConditionCause['reason'], message: string): Obstacle {
  return { cause: { reason, message, level: 'waiting' } };
}
