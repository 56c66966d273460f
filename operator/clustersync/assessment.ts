import { summaryFigures } from '../../sync-api/sync-figures.ts';
import { readProgress } from '../../sync-api/syncer-answers.ts';
import type { ClusterSync, ClusterSyncStatus, Direction } from '../api/clustersync.ts';
import { isCurrent } from '../operand/observation.ts';
import { gravestCause, type ConditionCause } from '../operand/condition-cause.ts';
import { isFailureOfOtherSync, wantedDigest } from './identity.ts';
import {
  gravestInstanceCause,
  otherSyncCause,
  withoutRefusedCommit,
  type InstanceView,
} from './instance-causes.ts';
import { isCommittedIn, mayBegin } from './on-record.ts';
import type { SourceFinding } from './source.ts';
import {
  isAtLeast,
  isAtWorkTheOtherWay,
  lackingCommit,
  slowest,
  stageOf,
  type Stage,
} from './stage.ts';
import type { SyncerProgress } from './syncer-client.ts';

/** The input of the status, apart from the resource itself. */
export interface StatusInput {
  readonly clusterSync: ClusterSync;
  readonly nowMs: number;
  readonly finding: SourceFinding;
  readonly instances: readonly InstanceView[];
  /** Why the operator cannot run the instances at all. */
  readonly blocker: ConditionCause | undefined;
  /** When the pods were last given changed Secrets, as far as their StatefulSet records it. */
  readonly secretsChangedAt: string | undefined;
  /** What is wrong with the Secrets that pods read, or have read. */
  readonly secretProblem: ConditionCause | undefined;
}

/** What each instance reported last. */
export type Progresses = readonly (SyncerProgress | undefined)[];

/** The input, evaluated before anything is said about it. */
export interface Assessment {
  /** Of this sync: undefined for an instance that works on another one. */
  readonly progresses: Progresses;
  /** Of any sync. */
  readonly reported: Progresses;
  readonly stages: readonly Stage[];
  readonly stage: Stage;
  readonly cause: ConditionCause | undefined;
  /** The same, except that a commit was refused or not answered: that does not keep it from being sent again. */
  readonly commitCause: ConditionCause | undefined;
  /** Whether every instance has just reported its progress. */
  readonly isFresh: boolean;
  readonly canCommit: boolean;
  /** What a commit would wait for, according to the instances that report a reason; limited to what fits into a message. */
  readonly commitObstacles: readonly string[];
  /** Whether an instance reports a commit that it has neither refused nor completed. */
  readonly isCommitUnderWay: boolean;
  /** The largest lag; undefined if an instance has not just reported its own. */
  readonly lagTimeSeconds: number | undefined;
  /** The largest lag last reported, however long ago; undefined if an instance has never reported one. */
  readonly reportedLagSeconds: number | undefined;
  /** Whether instances are paused: `some`, or `all` that were started, so that none works. */
  readonly paused: 'all' | 'some' | 'none';
}

/** Evaluates how the sync is doing. */
export function assess(input: StatusInput): Assessment {
  const { clusterSync, nowMs, finding, instances } = input;
  const { direction, state } = clusterSync.spec;
  const wanted = { direction, digest: wantedDigest(clusterSync) };
  const reported = instances.map((view) => shownProgress(view, clusterSync.status));
  const stages = reported.map((progress, index): Stage => {
    const isOther = isFailureOfOtherSync(instances[index]?.observation, wanted.digest);
    return isOther ? 'different' : stageOf(progress, wanted);
  });
  const progresses = reported.map((progress, index) =>
    stages[index] === 'different' ? undefined : progress,
  );
  const different = instances.filter((_, index) => stages[index] === 'different');
  // A committed sync stays committed, whatever happens to the pods.
  const stage = isCommittedIn(clusterSync) ? 'committed' : slowest(stages);
  const isFresh = instances.every(
    ({ observation }) => observation?.answer?.kind === 'progress' && isCurrent(observation, nowMs),
  );
  const lacking = lackingCommit(progresses, wanted);
  const isAtWorkElsewhere =
    isFresh &&
    progresses.some((progress) => isAtWorkTheOtherWay(progress, direction)) &&
    lacking.length === 0;
  // A commit is called for as it would be if the direction had not been changed.
  const calledFor = stages.map((each, index) =>
    lacking.some((progress) => progress === progresses[index]) ? 'changes' : each,
  );
  const causeWith = (views: readonly InstanceView[]): ConditionCause | undefined =>
    stage === 'committed'
      ? undefined
      : gravestCause([
          input.blocker,
          different.length > 0 ? otherSyncCause(different) : undefined,
          finding.cause,
          gravestInstanceCause(views, calledFor, nowMs),
          stages.includes('idle') && !mayBegin(clusterSync) ? cannotBegin : undefined,
          isAtWorkElsewhere && state !== 'Paused' ? notCommitted(direction) : undefined,
        ]);
  const cause = causeWith(instances);
  const commitCause = causeWith(instances.map(withoutRefusedCommit));
  const canCommit =
    stage === 'changes' &&
    isFresh &&
    !finding.cause &&
    progresses.every((progress) => progress?.canCommit);
  const commitObstacles = obstaclesOf(instances, progresses);
  const isCommitUnderWay = progresses.some((progress) => progress?.commitUnderWay === true);
  const reportedLagSeconds = lagOf(progresses, stage);
  const lagTimeSeconds = isFresh || stage === 'committed' ? reportedLagSeconds : undefined;
  const paused = pausedOf(progresses);
  return {
    ...{ progresses, reported, stages, stage, cause, commitCause },
    ...{
      isFresh,
      canCommit,
      commitObstacles,
      isCommitUnderWay,
      lagTimeSeconds,
      reportedLagSeconds,
      paused,
    },
  };
}

/** The assessment of a sync that is not worked on: shows no progress. */
export function asIdle(assessment: Assessment): Assessment {
  return {
    ...assessment,
    stage: 'idle',
    canCommit: false,
    commitObstacles: [],
    paused: 'none',
  };
}

/** How many instances fit into a message. */
const maxObstacles = 3;

function obstaclesOf(
  instances: StatusInput['instances'],
  progresses: Progresses,
): readonly string[] {
  const obstacles = progresses.flatMap((progress, index) => {
    const text = progress?.commitObstacle;
    return text === undefined ? [] : [`${instances[index]?.instance.id ?? ''}: ${text}`];
  });
  return obstacles.slice(0, maxObstacles);
}

/** What a requested commit waits for, if at least one instance would not accept it now. */
export function textUntilCanCommit({
  commitObstacles,
}: Pick<Assessment, 'commitObstacles'>): string {
  return withObstacles(
    'the operator sends the commit once every instance can commit',
    commitObstacles,
  );
}

/** What a requested commit waits for, if every instance would accept it, but the source is not confirmed. */
export const textUntilConfirmed =
  'the operator sends the commit once the source has confirmed that its shards are unchanged';

/** A message with what keeps instances from committing. */
export function withObstacles(message: string, obstacles: readonly string[]): string {
  return [message, ...obstacles].join('; ');
}

/** The ClusterSync was created with this direction, or the syncer has lost its state. */
const cannotBegin: ConditionCause = {
  reason: 'NothingToReverse',
  message:
    'the syncer has no sync to reverse, and does not start one over data that may be in use: create another ClusterSync for a new sync, Forward',
  level: 'stalled',
};

/** The direction was changed before the commit, or a ClusterSync was created with another direction than the sync has. */
function notCommitted(direction: Direction): ConditionCause {
  const other: Direction = direction === 'Forward' ? 'Reverse' : 'Forward';
  return {
    reason: 'NotCommitted',
    message: `the direction of the sync is ${other}, and only a committed sync can be reversed: the operator does not commit it. Set spec.direction to ${other} and spec.state to Committed before you set spec.direction to ${direction}`,
    level: 'stalled',
  };
}

/** The newest progress of an instance; until this process has heard from it, the one in the status. */
export function shownProgress(
  { instance, observation }: Pick<InstanceView, 'instance' | 'observation'>,
  former: ClusterSyncStatus | undefined,
): SyncerProgress | undefined {
  if (observation?.answer?.kind === 'progress') return observation.answer.progress;
  const known = former?.instances?.find(({ id }) => id === instance.id);
  return readProgress(known?.progress);
}

function pausedOf(progresses: Progresses): Assessment['paused'] {
  const count = progresses.filter((progress) => progress?.state === 'PAUSED').length;
  if (count === 0) return 'none';
  // An instance that was not started does nothing either.
  const isAtRest = progresses.every((progress) =>
    ['PAUSED', 'IDLE'].includes(progress?.state ?? ''),
  );
  return isAtRest ? 'all' : 'some';
}

function lagOf(progresses: Progresses, stage: Stage): number | undefined {
  if (stage === 'committed') return 0;
  // During the copy there is nothing yet that could lag, and 0 would be read as consistent.
  if (!isAtLeast(stage, 'changes')) return undefined;
  return summaryFigures(progresses).lagSeconds ?? undefined;
}
