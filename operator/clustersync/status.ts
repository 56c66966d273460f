import { percentOfCopy, summaryFigures } from '../../sync-api/sync-figures.ts';
import type {
  ClusterSyncPhase,
  ClusterSyncStatus,
  Direction,
  InstanceStatus,
} from '../api/clustersync.ts';
import { isConditionTrue, replaceConditions } from '../kube/conditions.ts';
import { secondTime } from '../kube/micro-time.ts';
import { errorText } from '../operand/api-causes.ts';
import { keptProgress } from '../operand/kept-progress.ts';
import { isCurrent } from '../operand/observation.ts';
import { gravestCause, type ConditionCause } from '../operand/condition-cause.ts';
import type { Assessment, Progresses, StatusInput } from './assessment.ts';
import { conditionsOf } from './conditions.ts';
import type { InstanceView } from './instance-causes.ts';
import { isAtRest, isCommittedIn } from './on-record.ts';
import { preflightFields, type PreflightReport } from './preflight-status.ts';
import { isAtLeast, isCopied, slowest, type Stage } from './stage.ts';
import type { SyncerProgress } from './syncer-client.ts';

const workingStates = ['RUNNING', 'COMMITTING'];

/** What is known about a commit, apart from the sync. */
export interface CommitReport {
  /** Of an automatic one. */
  readonly status: ClusterSyncStatus['commit'];
  /** What an automatic commit waits for, or why there is none. */
  readonly cause: ConditionCause | undefined;
  /** When an automatic one may begin, if that is still to come. */
  readonly opensAt: string | undefined;
  /** Why no verification shows that the destination has the data of the source. */
  readonly doubt: ConditionCause | undefined;
}

/**
 * The status of a ClusterSync: derived from what is observed, except for the times of past events.
 * @param commit - what is known about a commit.
 * @param preflight - what is known about the start.
 */
export function statusOf(
  input: StatusInput,
  assessment: Assessment,
  commit: CommitReport,
  preflight: PreflightReport,
): ClusterSyncStatus {
  const { clusterSync, nowMs, finding, instances, secretProblem } = input;
  const { progresses, reported, stages, stage, isFresh, canCommit } = assessment;
  const { lagTimeSeconds, paused, commitObstacles } = assessment;
  const former = clusterSync.status;
  const observedGeneration = clusterSync.metadata.generation;
  const wasCommitted = isCommittedIn(clusterSync);
  const isResting = isAtRest(clusterSync);
  const cause = stage === 'committed' ? undefined : gravestCause([assessment.cause, commit.cause]);
  const coordinatorID = coordinatorOf(instances, progresses, nowMs);
  const behind = wasCommitted ? [] : behindOthers(instances, stages);
  const drafts = conditionsOf({
    ...{
      clusterSync,
      stage,
      behind,
      cause,
      finding,
      canCommit,
      commitObstacles,
      isFresh,
      paused,
      preflight,
      secretProblem,
    },
    ...{ lagTimeSeconds, doubt: commit.doubt, opensAt: commit.opensAt },
    reportedLagSeconds: assessment.reportedLagSeconds,
    isCommitting: stages.some((each) => isAtLeast(each, 'committing')),
    isCommitUnderWay: assessment.isCommitUnderWay,
    isWorking: progresses.some((progress) => workingStates.includes(progress?.state ?? '')),
  });
  const isStarted = isAtLeast(stage, 'reversing');
  const startedAt = former?.startedAt ?? (isStarted ? secondTime(nowMs) : undefined);
  const committedAt = committedAtOf(former, { stage, wasCommitted, nowMs });
  // A StatefulSet that somebody has deleted took its record with it.
  const secretsChangedAt = input.secretsChangedAt ?? former?.secretsChangedAt;
  const towards = wasCommitted ? clusterSync.spec.direction : directionOf(progresses, former);
  return {
    ...(observedGeneration !== undefined && { observedGeneration }),
    phase:
      paused === 'all' && cause?.level !== 'stalled'
        ? 'Paused'
        : phaseOf(input, stage, cause, { behind, dryRun: preflight.dryRun }),
    conditions: replaceConditions(
      former?.conditions ?? [],
      drafts.map((draft) => ({
        ...draft,
        ...(observedGeneration !== undefined && { observedGeneration }),
      })),
      nowMs,
    ),
    ...(finding.source && { source: finding.source }),
    ...(commit.status && { commit: commit.status }),
    ...preflightFields(preflight, former),
    ...(instances.length > 0 && { readyInstances: readinessOf(instances, isResting) }),
    ...(towards !== undefined && { direction: towards }),
    ...(coordinatorID !== undefined && { coordinatorID }),
    ...totalsOf(progresses, stage),
    ...(lagTimeSeconds !== undefined && { lagTimeSeconds }),
    canCommit,
    ...canWriteOf(progresses, coordinatorID),
    ...(startedAt !== undefined && { startedAt }),
    ...(committedAt !== undefined && { committedAt }),
    ...(secretsChangedAt !== undefined && { secretsChangedAt }),
    instances: instances.map((view, index) => {
      const raw = reported[index]?.raw;
      const shown = raw && keptProgress(raw, instances.length);
      return instanceStatus(view, shown, { nowMs, isResting, instanceCount: instances.length });
    }),
  };
}

/** Whether a change must be visible immediately: any change but figures, and that a commit is no longer advisable. */
export function isUrgent(former: ClusterSyncStatus | undefined, next: ClusterSyncStatus): boolean {
  const [wasReady, isReady] = [former, next].map((status) =>
    isConditionTrue(status?.conditions, 'ReadyToCommit'),
  );
  // Somebody may commit because of it. True is written with the figures, so this is no more frequent than they are.
  if (wasReady === true && isReady === false) return true;
  return JSON.stringify(outline(former)) !== JSON.stringify(outline(next));
}

function outline(status: ClusterSyncStatus | undefined): unknown {
  return [
    status?.observedGeneration,
    status?.phase,
    status?.readyInstances,
    status?.conditions
      // It follows the lag and the passes of a verification, which may change every few seconds.
      ?.filter(({ type }) => type !== 'ReadyToCommit')
      .map(({ type, status: value, reason }) => [type, value, reason])
      .sort(),
    status?.source,
    status?.direction,
    status?.coordinatorID,
    status?.canCommit,
    status?.canWrite,
    status?.canStart,
    status?.secretsChangedAt,
    status?.preflightCheck,
    status?.commit,
    status?.startOver,
    status?.repair,
    status?.instances?.map(({ id, pod, ready, image, error }) => [
      ...[id, pod, ready, image],
      error === undefined,
    ]),
  ];
}

function phaseOf(
  { clusterSync, instances }: StatusInput,
  stage: Stage,
  cause: ConditionCause | undefined,
  { behind, dryRun }: { readonly behind: readonly string[] } & Pick<PreflightReport, 'dryRun'>,
): ClusterSyncPhase {
  if (cause?.level === 'stalled') return 'Stalled';
  switch (stage) {
    case 'unknown':
    case 'different':
    case 'idle':
      if (stage === 'idle' && dryRun === 'on') return 'DryRun';
      if (stage === 'idle' && behind.length === 0 && clusterSync.spec.state === 'Paused')
        return 'Paused';
      return instances.length > 0 && instances.every(({ pod }) => pod?.process !== undefined)
        ? 'Starting'
        : 'Pending';
    case 'reversing':
      return 'Reversing';
    case 'copy':
      return 'InitialCopy';
    case 'changes':
      return 'ChangeApplication';
    case 'committing':
      return 'Committing';
    case 'committed':
      return 'Committed';
  }
}

/** The direction of all instances; the previous one until every instance is reversed. */
function directionOf(
  progresses: Progresses,
  former: ClusterSyncStatus | undefined,
): Direction | undefined {
  const [first, ...others] = progresses.map((progress) => progress?.direction);
  return others.every((other) => other === first) && first !== undefined
    ? first
    : former?.direction;
}

/** The time of the last commit, in either direction. */
function committedAtOf(
  former: ClusterSyncStatus | undefined,
  {
    stage,
    wasCommitted,
    nowMs,
  }: { readonly stage: Stage; readonly wasCommitted: boolean; readonly nowMs: number },
): string | undefined {
  const isNew = stage === 'committed' && !wasCommitted;
  return isNew ? secondTime(nowMs) : former?.committedAt;
}

/** The ids of the instances furthest behind; empty if all are equally far. */
function behindOthers(instances: readonly InstanceView[], stages: readonly Stage[]): string[] {
  const stage = slowest(stages);
  const behind = instances.filter((_, index) => stages[index] === stage);
  return behind.length < instances.length ? behind.map(({ instance }) => instance.id) : [];
}

function readinessOf(instances: readonly InstanceView[], isResting: boolean): string {
  const ready = instances.filter(({ pod }) => pod?.isReady).length;
  return `${ready}/${isResting ? 0 : instances.length}`;
}

/** During a takeover some instances still name the previous coordinator: the one that claims to be it is right. */
function coordinatorOf(
  instances: readonly InstanceView[],
  progresses: Progresses,
  nowMs: number,
): string | undefined {
  const named = instances.flatMap(({ instance, observation }, index) => {
    const id = progresses[index]?.coordinatorID;
    if (id === undefined) return [];
    const isFresh = observation?.answer?.kind === 'progress' && isCurrent(observation, nowMs);
    return [{ id, isFresh, isItself: id === instance.id }];
  });
  const fresh = named.filter(({ isFresh }) => isFresh);
  return (fresh.find(({ isItself }) => isItself) ?? fresh[0] ?? named[0])?.id;
}

function totalsOf(progresses: Progresses, stage: Stage): Pick<ClusterSyncStatus, 'totals'> {
  const { totalBytes: estimatedTotalBytes, copiedBytes } = summaryFigures(progresses);
  if (estimatedTotalBytes === null) return {};
  const estimatedCopiedBytes = copiedBytes ?? 0;
  const percent = isCopied(stage) ? 100 : percentOfCopy(estimatedCopiedBytes, estimatedTotalBytes);
  return { totals: { estimatedTotalBytes, estimatedCopiedBytes, percent } };
}

/** With several instances the coordinator's value counts; the first one's if the coordinator is unknown. */
function canWriteOf(
  progresses: Progresses,
  coordinatorID: string | undefined,
): Pick<ClusterSyncStatus, 'canWrite'> {
  const coordinator = progresses.find((progress) => progress?.syncerID === coordinatorID);
  const canWrite = (coordinator ?? progresses[0])?.canWrite;
  return canWrite === undefined ? {} : { canWrite };
}

function instanceStatus(
  view: InstanceView,
  progress: SyncerProgress['raw'] | undefined,
  {
    nowMs,
    isResting,
    instanceCount,
  }: { readonly nowMs: number; readonly isResting: boolean; readonly instanceCount: number },
): InstanceStatus {
  const { instance, pod } = view;
  const error = isResting ? undefined : errorText(view, nowMs, instanceCount);
  return {
    id: instance.id,
    pod: instance.podName,
    ready: pod?.isReady ?? false,
    ...(pod?.image !== undefined && { image: pod.image }),
    ...(progress && { progress }),
    ...(error !== undefined && { error }),
  };
}
