import type {
  ClusterSync,
  ClusterSyncPhase,
  ClusterSyncStatus,
  InstanceStatus,
} from '../api/clustersync.ts';
import { redact } from '../../service/redact.ts';
import { isConditionTrue, replaceConditions, type ConditionDraft } from '../kube/conditions.ts';
import { secondTime } from '../kube/micro-time.ts';
import { actionFor, reasonFor, type ApiError } from '../operand/http-api.ts';
import { isCurrent, type Observation } from '../operand/observation.ts';
import { missingPod, type PodState } from '../operand/pod-state.ts';
import { gravest, type Trouble } from '../operand/trouble.ts';
import type { Instance } from './resources.ts';
import { isAtLeast, slowest, stageOf, type Stage } from './stage.ts';
import { readProgress, type SyncerCommand, type SyncerProgress } from './syncer-client.ts';

/** What is known of an instance. */
export interface InstanceView {
  readonly instance: Instance;
  readonly pod: PodState | undefined;
  readonly observation: Observation<SyncerProgress, SyncerCommand> | undefined;
}

/** What the status is made from, beside the resource itself. */
export interface StatusInput {
  readonly clusterSync: ClusterSync;
  readonly nowMs: number;
  readonly instances: readonly InstanceView[];
  /** What keeps the operator from running the instances at all. */
  readonly blocker: Trouble | undefined;
}

const maxErrorLength = 4096;
/** Time that a process may take until it answers for the first time. */
const startGraceMs = 30_000;

/** The status of a ClusterSync: made anew from what is observed, but for the times of what has happened. */
export function statusOf(input: StatusInput): ClusterSyncStatus {
  const { clusterSync, nowMs, instances } = input;
  const former = clusterSync.status;
  const observedGeneration = clusterSync.metadata.generation;
  const progresses = instances.map((view) => shownProgress(view, former));
  // What is committed stays so, whatever becomes of the pods.
  const wasCommitted = isConditionTrue(former?.conditions, 'Committed');
  const stage = wasCommitted ? 'committed' : slowest(progresses.map(stageOf));
  const trouble = stage === 'committed' ? undefined : troubleOf(input, stage);
  const isFresh = instances.every(
    ({ observation }) => observation?.answer?.kind === 'progress' && isCurrent(observation, nowMs),
  );
  const canCommit =
    stage === 'changes' && isFresh && progresses.every((progress) => progress?.canCommit);
  const coordinatorID = progresses.find((progress) => progress?.coordinatorID)?.coordinatorID;
  const drafts = conditionsOf({ clusterSync, stage, trouble, canCommit, isFresh });
  const startedAt = former?.startedAt ?? (isAtLeast(stage, 'copy') ? secondTime(nowMs) : undefined);
  const committedAt =
    former?.committedAt ?? (stage === 'committed' ? secondTime(nowMs) : undefined);
  return {
    ...(observedGeneration !== undefined && { observedGeneration }),
    phase: phaseOf(clusterSync, stage, trouble, instances),
    conditions: replaceConditions(
      former?.conditions ?? [],
      drafts.map((draft) => ({
        ...draft,
        message: redact(draft.message),
        ...(observedGeneration !== undefined && { observedGeneration }),
      })),
      nowMs,
    ),
    ...(coordinatorID !== undefined && { coordinatorID }),
    ...totalsOf(progresses, stage),
    ...lagOf(progresses, stage, isFresh),
    canCommit,
    ...canWriteOf(progresses, coordinatorID),
    ...(startedAt !== undefined && { startedAt }),
    ...(committedAt !== undefined && { committedAt }),
    instances: instances.map((view, index) => instanceStatus(view, progresses[index], nowMs)),
  };
}

/** Whether a change should be seen at once: anything but figures. */
export function isUrgent(former: ClusterSyncStatus | undefined, next: ClusterSyncStatus): boolean {
  return JSON.stringify(outline(former)) !== JSON.stringify(outline(next));
}

function outline(status: ClusterSyncStatus | undefined): unknown {
  return [
    status?.observedGeneration,
    status?.phase,
    status?.conditions?.map(({ type, status: value, reason }) => [type, value, reason]).sort(),
    status?.coordinatorID,
    status?.canCommit,
    status?.canWrite,
    status?.instances?.map(({ id, pod, ready, error }) => [id, pod, ready, error === undefined]),
  ];
}

/** The newest progress of an instance; what the status has from before, until this process is known. */
function shownProgress(
  { instance, observation }: InstanceView,
  former: ClusterSyncStatus | undefined,
): SyncerProgress | undefined {
  if (observation?.answer?.kind === 'progress') return observation.answer.progress;
  const known = former?.instances?.find(({ id }) => id === instance.id);
  return readProgress(known?.progress);
}

function troubleOf({ blocker, instances, nowMs }: StatusInput, stage: Stage): Trouble | undefined {
  return gravest([
    blocker,
    ...instances.flatMap((view) => [
      answeredError(view),
      refusedCommand(view, stage),
      view.pod ? view.pod.trouble : missingPod(view.instance.podName),
      unreachable(view, nowMs),
    ]),
  ]);
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
  if (stage !== (command.name === 'start' ? 'idle' : 'changes')) return undefined;
  return troubleOfError(command.error, `the syncer ${instance.id} refuses ${command.name} with`);
}

function troubleOfError({ name, description, isLasting }: ApiError, who: string): Trouble {
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
  nowMs: number,
): Trouble | undefined {
  if (!observation?.unreachable || !pod?.process) return undefined;
  if (observation.answer && isCurrent(observation, nowMs)) return undefined;
  const { sinceMs, description } = observation.unreachable;
  // A process that has just been started does not listen yet.
  const isStarting = !observation.answer && nowMs - sinceMs < startGraceMs;
  return {
    reason: isStarting ? 'Starting' : 'SyncerUnreachable',
    message: `the syncer ${instance.id} in the pod ${pod.name}: ${description}`,
    level: isStarting ? 'waiting' : 'warning',
  };
}

interface Situation {
  readonly clusterSync: ClusterSync;
  readonly stage: Stage;
  readonly trouble: Trouble | undefined;
  readonly canCommit: boolean;
  /** Whether every instance has just reported its progress. */
  readonly isFresh: boolean;
}

function conditionsOf(situation: Situation): ConditionDraft[] {
  const { clusterSync, stage, trouble, canCommit, isFresh } = situation;
  const outlook = outlookOf(situation);
  const { reason, message } = outlook;
  const kstatus: ConditionDraft[] = [
    { type: 'Ready', status: outlook.kind === 'ready' ? 'True' : 'False', reason, message },
  ];
  if (outlook.kind === 'reconciling') {
    kstatus.push({ type: 'Reconciling', status: 'True', reason, message });
  }
  if (outlook.kind === 'stalled') {
    kstatus.push({ type: 'Stalled', status: 'True', reason, message });
  }
  return [
    ...kstatus,
    milestone('InitialCopyDone', isAtLeast(stage, 'changes'), progressReasons[stage]),
    stage === 'changes' && !isFresh
      ? { type: 'CanCommit', status: 'Unknown', reason, message: trouble?.message ?? message }
      : milestone('CanCommit', canCommit, progressReasons[stage]),
    milestone('Committed', stage === 'committed', progressReasons[stage]),
    ...(clusterSync.spec.suspend ? [suspended] : []),
  ];
}

const suspended: ConditionDraft = {
  type: 'Suspended',
  status: 'True',
  reason: 'SuspendedByUser',
  message: 'spec.suspend is true: the operator changes nothing; the sync goes on',
};

const progressReasons: Record<Stage, { readonly reason: string; readonly message: string }> = {
  unknown: { reason: 'Starting', message: 'the syncer has not answered yet' },
  idle: { reason: 'Starting', message: 'the sync has not been started yet' },
  copy: { reason: 'InitialCopy', message: 'the initial copy goes on' },
  changes: { reason: 'ChangeApplication', message: 'changes of the source are being applied' },
  committing: { reason: 'Committing', message: 'the commit is being carried out' },
  committed: { reason: 'Committed', message: 'the sync is committed' },
};

function milestone(
  type: string,
  isReached: boolean,
  { reason, message }: { readonly reason: string; readonly message: string },
): ConditionDraft {
  return { type, status: isReached ? 'True' : 'False', reason, message };
}

type Outlook = Pick<Trouble, 'reason' | 'message'> & {
  readonly kind: 'ready' | 'reconciling' | 'stalled';
};

function outlookOf({ clusterSync, stage, trouble, canCommit }: Situation): Outlook {
  const { state, suspend } = clusterSync.spec;
  const here = progressReasons[stage];
  if (stage === 'committed') return { kind: 'ready', ...here };
  if (trouble?.level === 'stalled') return { ...trouble, kind: 'stalled' };
  if (state === 'Paused') return { kind: 'stalled', ...pauseNotSupported(stage) };
  if (trouble) return { ...trouble, kind: 'reconciling' };
  if (state === 'Running' && stage === 'changes') {
    return { kind: 'ready', reason: 'InSync', message: here.message };
  }
  if (suspend && stage === 'idle') {
    return { kind: 'reconciling', reason: 'Suspended', message: suspended.message };
  }
  if (state === 'Committed' && stage === 'changes') {
    return canCommit
      ? { kind: 'reconciling', reason: 'Committing', message: 'the commit is being sent' }
      : {
          kind: 'reconciling',
          reason: 'WaitingForCanCommit',
          message: 'the commit is sent as soon as every instance can commit',
        };
  }
  return { kind: 'reconciling', ...here };
}

function pauseNotSupported(stage: Stage): { reason: string; message: string } {
  const now = isAtLeast(stage, 'copy') ? 'the sync goes on' : 'the sync is not started';
  return {
    reason: 'PauseNotSupported',
    message: `this version cannot pause a sync: ${now}; set spec.state to Running`,
  };
}

function phaseOf(
  { spec }: ClusterSync,
  stage: Stage,
  trouble: Trouble | undefined,
  instances: readonly InstanceView[],
): ClusterSyncPhase {
  if (trouble?.level === 'stalled') return 'Stalled';
  switch (stage) {
    case 'unknown':
    case 'idle':
      if (spec.state === 'Paused') return 'Stalled';
      return instances.every(({ pod }) => pod?.process !== undefined) ? 'Starting' : 'Pending';
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

type Progresses = readonly (SyncerProgress | undefined)[];

function totalsOf(progresses: Progresses, stage: Stage): Pick<ClusterSyncStatus, 'totals'> {
  const totals = progresses.flatMap((progress) => progress?.estimatedTotalBytes ?? []);
  if (totals.length === 0) return {};
  // Each instance reports the total of all of them, and what it has copied itself.
  const estimatedTotalBytes = Math.max(...totals);
  const estimatedCopiedBytes = progresses.reduce(
    (sum, progress) => sum + (progress?.estimatedCopiedBytes ?? 0),
    0,
  );
  const share = estimatedTotalBytes === 0 ? 0 : estimatedCopiedBytes / estimatedTotalBytes;
  const percent = isAtLeast(stage, 'changes') ? 100 : Math.min(99, Math.floor(share * 100));
  return { totals: { estimatedTotalBytes, estimatedCopiedBytes, percent } };
}

function lagOf(
  progresses: Progresses,
  stage: Stage,
  isFresh: boolean,
): Pick<ClusterSyncStatus, 'lagTimeSeconds'> {
  const lags = progresses.flatMap((progress) => progress?.lagTimeSeconds ?? []);
  if (stage === 'committed') return { lagTimeSeconds: 0 };
  // During the copy there is nothing yet that could lag, and 0 would be taken for consistent.
  if (!isFresh || !isAtLeast(stage, 'changes') || lags.length === 0) return {};
  return { lagTimeSeconds: Math.max(...lags) };
}

/** Of several instances the coordinator's word counts; the first one's where nobody knows it. */
function canWriteOf(
  progresses: Progresses,
  coordinatorID: string | undefined,
): Pick<ClusterSyncStatus, 'canWrite'> {
  const coordinator = progresses.find((progress) => progress?.raw['syncerID'] === coordinatorID);
  const canWrite = (coordinator ?? progresses[0])?.canWrite;
  return canWrite === undefined ? {} : { canWrite };
}

function instanceStatus(
  { instance, pod, observation }: InstanceView,
  progress: SyncerProgress | undefined,
  nowMs: number,
): InstanceStatus {
  const error = errorText({ pod, observation, nowMs });
  return {
    id: instance.id,
    pod: instance.podName,
    ready: pod?.isReady ?? false,
    ...(progress && { progress: progress.raw }),
    ...(error !== undefined && { error: redact(error).slice(0, maxErrorLength) }),
  };
}

function errorText({
  pod,
  observation,
  nowMs,
}: Pick<InstanceView, 'pod' | 'observation'> & { readonly nowMs: number }): string | undefined {
  if (observation?.answer?.kind === 'error') {
    const { name, description } = observation.answer.error;
    return `${name}: ${description}`;
  }
  if (pod?.process === undefined) return pod?.trouble?.message ?? 'there is no pod';
  if (!observation?.unreachable || isCurrent(observation, nowMs)) return undefined;
  return observation.unreachable.description;
}
