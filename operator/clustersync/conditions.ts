import type { ClusterSync } from '../api/clustersync.ts';
import { textUntilWindow } from '../commit/window.ts';
import type { ConditionDraft } from '../kube/conditions.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import { secretProblemConditions } from '../operand/warnings.ts';
import { textUntilCanCommit, textUntilConfirmed, withObstacles } from './assessment.ts';
import { canStartCondition, passedDryRun, type PreflightReport } from './preflight-status.ts';
import { readyToCommitCondition } from './ready-to-commit.ts';
import { listed } from './resources.ts';
import type { SourceFinding } from './source.ts';
import { isCopied, type Stage } from './stage.ts';

/** The input of the conditions of a ClusterSync. */
export interface Situation {
  readonly clusterSync: ClusterSync;
  readonly stage: Stage;
  /** The ids of the instances that have got no further than this stage, if others have. */
  readonly behind: readonly string[];
  readonly cause: ConditionCause | undefined;
  readonly secretProblem: ConditionCause | undefined;
  readonly finding: SourceFinding;
  readonly canCommit: boolean;
  readonly commitObstacles: readonly string[];
  /** What is known about the start. */
  readonly preflight: PreflightReport;
  /** Whether instances are paused: `some`, or `all` that were started, so that none works. */
  readonly paused: 'all' | 'some' | 'none';
  /** Whether an instance is at work, in either direction. */
  readonly isWorking: boolean;
  /** Whether an instance has accepted the commit, which is then not taken back. */
  readonly isCommitting: boolean;
  /** Whether an instance reports a commit that it has neither refused nor completed. */
  readonly isCommitUnderWay: boolean;
  /** Whether every instance has just reported its progress. */
  readonly isFresh: boolean;
  /** The largest lag; undefined if an instance has not just reported its own. */
  readonly lagTimeSeconds: number | undefined;
  /** Why no verification shows that the destination has the data of the source. */
  readonly doubt: ConditionCause | undefined;
  /** When an automatic commit may begin, if that is still to come. */
  readonly opensAt: string | undefined;
  /** The largest lag that an instance has last reported; undefined if one has never reported it. */
  readonly reportedLagSeconds: number | undefined;
}

/** The conditions of a ClusterSync: those of kstatus, and its milestones. */
export function conditionsOf(situation: Situation): ConditionDraft[] {
  const { clusterSync, stage, cause, finding, canCommit, isFresh, secretProblem } = situation;
  const here = summaryOf(situation);
  const { commitObstacles } = situation;
  const uncommitted = { ...here, message: withObstacles(here.message, commitObstacles) };
  const readiness = readinessOf(situation);
  const { reason, message } = readiness;
  const canStart = canStartCondition(clusterSync, situation.preflight);
  const kstatus: ConditionDraft[] = [
    { type: 'Ready', status: readiness.kind === 'ready' ? 'True' : 'False', reason, message },
  ];
  if (readiness.kind === 'reconciling') {
    kstatus.push({ type: 'Reconciling', status: 'True', reason, message });
  }
  if (readiness.kind === 'stalled') {
    kstatus.push({ type: 'Stalled', status: 'True', reason, message });
  }
  return [
    ...kstatus,
    ...(canStart ? [canStart] : []),
    milestone('InitialCopyDone', isCopied(stage), here),
    stage === 'changes' && !isFresh
      ? { type: 'CanCommit', status: 'Unknown', reason, message: cause?.message ?? message }
      : milestone(
          'CanCommit',
          canCommit,
          situation.paused === 'none' ? (finding.cause ?? uncommitted) : isPaused,
        ),
    readyToCommitCondition({ ...situation, elsewhere: elsewhereIn(situation) }),
    milestone('Committed', stage === 'committed', here),
    ...(clusterSync.spec.suspend ? [suspended] : []),
    ...secretProblemConditions(secretProblem),
  ];
}

const suspended: ConditionDraft = {
  type: 'Suspended',
  status: 'True',
  reason: 'SuspendedByUser',
  message: 'spec.suspend is true: the operator changes nothing; the sync keeps running',
};

const progressReasons: Record<Stage, { readonly reason: string; readonly message: string }> = {
  unknown: { reason: 'Starting', message: 'the syncer has not answered yet' },
  different: {
    reason: 'DifferentSync',
    message: 'the destination holds a sync that was started with other options',
  },
  idle: { reason: 'Starting', message: 'the sync has not been started yet' },
  reversing: { reason: 'Reversing', message: 'the sync is being reversed' },
  copy: { reason: 'InitialCopy', message: 'the initial copy is running' },
  changes: { reason: 'ChangeApplication', message: 'changes from the source are being applied' },
  committing: { reason: 'Committing', message: 'the commit is being carried out' },
  committed: { reason: 'Committed', message: 'the sync is committed' },
};

/** What is being done and, if some instances are further than others, which ones the sync waits for. */
function summaryOf(
  { stage, behind }: Pick<Situation, 'stage' | 'behind'>,
  { reason, message } = progressReasons[stage],
): Pick<ConditionCause, 'reason' | 'message'> {
  if (behind.length === 0) return { reason, message };
  return { reason, message: `${message}; waiting for ${listed(behind)}` };
}

/** Why the sync is in no state to be committed. */
function elsewhereIn(situation: Situation): Pick<ConditionCause, 'reason' | 'message'> | undefined {
  const { stage, paused, clusterSync } = situation;
  if (stage !== 'changes') return summaryOf(situation);
  if (paused !== 'none') return isPaused;
  if (clusterSync.spec.state === 'Paused')
    return { reason: 'Pausing', message: 'the sync is being paused' };
  if (situation.isCommitting || situation.isCommitUnderWay)
    return { reason: 'Committing', message: commitUnderWayText };
  return undefined;
}

const isPaused = { reason: 'Paused', message: 'a paused sync cannot be committed' };

function milestone(
  type: string,
  isReached: boolean,
  { reason, message }: { readonly reason: string; readonly message: string },
): ConditionDraft {
  return { type, status: isReached ? 'True' : 'False', reason, message };
}

/** What to say about a commit that may still come. */
const commitUnderWayText = 'a commit was sent, and it is unknown yet whether it was accepted';

type ReadyCause = Pick<ConditionCause, 'reason' | 'message'> & {
  readonly kind: 'ready' | 'reconciling' | 'stalled';
};

function readinessOf(situation: Situation): ReadyCause {
  const { clusterSync, stage, cause, paused } = situation;
  const { state, suspend } = clusterSync.spec;
  const here = summaryOf(situation);
  if (stage === 'committed') return { kind: 'ready', ...here };
  if (cause?.level === 'stalled') return { ...cause, kind: 'stalled' };
  if (cause) return { ...cause, kind: 'reconciling' };
  if (situation.isCommitting) {
    return { kind: 'reconciling', ...summaryOf(situation, progressReasons.committing) };
  }
  if (situation.isCommitUnderWay)
    return { kind: 'reconciling', reason: 'Committing', message: commitUnderWayText };
  const passed = passedDryRun(situation.preflight);
  if (passed && !suspend) return { kind: 'ready', ...passed };
  if (state === 'Paused') return readinessOfPause(situation);
  if (paused !== 'none') {
    return { kind: 'reconciling', reason: 'Resuming', message: 'the sync is about to resume' };
  }
  if (state === 'Running' && stage === 'changes') {
    const { reason, message } = isInSync(situation)
      ? { reason: 'InSync', message: here.message }
      : { reason: 'CatchingUp', message: catchingUpText(situation, here.message) };
    return { kind: 'ready', reason, message: withWindow(situation, message) };
  }
  if (suspend && stage === 'idle') {
    return { kind: 'reconciling', reason: 'Suspended', message: suspended.message };
  }
  if (state === 'Committed' && stage === 'changes') return readinessBeforeCommit(situation);
  return { kind: 'reconciling', ...here };
}

/** Beyond this lag the destination is said to be catching up: an idle source writes a no-op at least every 10 s. */
const inSyncLagSeconds = 60;

/** Absence of errors is not proof: the instances have to report progress. Instances that stop answering are a cause. */
function isInSync({ reportedLagSeconds }: Situation): boolean {
  return reportedLagSeconds !== undefined && reportedLagSeconds <= inSyncLagSeconds;
}

function catchingUpText({ reportedLagSeconds }: Situation, text: string): string {
  return reportedLagSeconds === undefined
    ? `${text}; the lag is unknown`
    : `${text}, ${reportedLagSeconds} s behind the source`;
}

function withWindow({ opensAt }: Situation, text: string): string {
  return opensAt === undefined ? text : `${text}; ${textUntilWindow(opensAt)}`;
}

function readinessBeforeCommit(situation: Situation): ReadyCause {
  const { canCommit, commitObstacles, finding, opensAt } = situation;
  const kind = 'reconciling';
  if (opensAt !== undefined)
    return { kind, reason: 'WaitingForWindow', message: textUntilWindow(opensAt) };
  if (canCommit && finding.isConfirmed) {
    return { kind, reason: 'Committing', message: 'the commit is being sent' };
  }
  const message = canCommit ? textUntilConfirmed : textUntilCanCommit({ commitObstacles });
  return { kind, reason: 'WaitingForCanCommit', message };
}

function readinessOfPause(situation: Situation): ReadyCause {
  const { stage, paused, behind, isWorking } = situation;
  if (paused === 'all') {
    const message = "the sync is paused; the source's oplog must cover the pause";
    return { kind: 'ready', reason: 'Paused', message };
  }
  if (stage === 'idle' && behind.length === 0) {
    const message = 'the sync is not started while spec.state is Paused';
    return { kind: 'ready', reason: 'Paused', message };
  }
  if (stage === 'reversing' && behind.length === 0 && !isWorking) {
    const message = 'the sync is not reversed while spec.state is Paused';
    return { kind: 'ready', reason: 'Paused', message };
  }
  if (['idle', 'reversing', 'copy', 'changes'].includes(stage))
    return { kind: 'reconciling', reason: 'Pausing', message: 'the sync is being paused' };
  return { kind: 'reconciling', ...summaryOf(situation) };
}
