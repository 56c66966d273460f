import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerification, SyncVerificationStatus } from '../api/sync-verification.ts';
import type { Pod, StatefulSet } from '../kube/builtin-resources.ts';
import { findCondition, isConditionTrue } from '../kube/conditions.ts';
import type { EventDraft } from '../kube/event-recorder.ts';
import { apiTrust, serverNameOf, targetOf, type ApiTrust } from '../operand/api-trust.ts';
import type { Command, MonitorTarget } from '../operand/monitor.ts';
import { dueMs, isCurrent, maySend, type Observation } from '../operand/observation.ts';
import {
  missingSecret,
  secretProblem,
  unusableForPods,
  type OperandSecrets,
} from '../operand/operand-secrets.ts';
import { optionsCause } from '../operand/option-rules.ts';
import type { PodRefusal } from '../operand/pod-refusals.ts';
import {
  beingReplaced,
  orWithItsSecret,
  podStateWith,
  runningPods,
  withOverdueEnd,
} from '../operand/pod-state.ts';
import { isOneSync } from '../operand/sync-start.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import { recordedChange, secretsRecordOf } from '../operand/secrets-record.ts';
import { secretProblemEvents, secretsChangedEvents, warningEvents } from '../operand/warnings.ts';
import {
  tokenArgument,
  unlessUnstartable,
  type OperandObjects,
  type OperandSettings,
} from '../operand/workload.ts';
import { outcomeOf } from './outcome.ts';
import { verifierName, verifierObjects, verifierPodName, verifierPort } from './resources.ts';
import { attemptArgument, hasEnded, withRun, type Run, type RunningVerification } from './run.ts';
import { eventsOfStanding, standingOf } from './standing.ts';
import { statusOf, verifierStatusOf, type StatusInput } from './status.ts';
import type { VerifierCommand, VerifierProgress } from './verifier-client.ts';

/** Everything that a decision depends on, apart from the resource. */
export interface World extends OperandSecrets {
  readonly nowMs: number;
  readonly settings: OperandSettings;
  /** Undefined if there is none of that name. */
  readonly clusterSync: ClusterSync | undefined;
  readonly statefulSet: StatefulSet | undefined;
  readonly pod: Pod | undefined;
  /** Why the StatefulSet has not created it. */
  readonly podRefusal?: PodRefusal | undefined;
  readonly observation: Observation<VerifierProgress, VerifierCommand> | undefined;
  /** Why the API server rejected the objects. */
  readonly rejection?: ConditionCause | undefined;
}

/** What to do. */
export interface Decision {
  readonly objects: OperandObjects | undefined;
  /** To be deleted, once it has done its work. */
  readonly remove: StatefulSet | undefined;
  /** True if the resource itself is to be deleted. */
  readonly isExpired: boolean;
  readonly target: MonitorTarget | undefined;
  readonly command: Command<VerifierCommand> | undefined;
  /** Undefined if it stays as it is. */
  readonly status: SyncVerificationStatus | undefined;
  readonly events: readonly Omit<EventDraft, 'regarding'>[];
  readonly requeueAfterMs: number | undefined;
}

const resyncMs = 15_000;
const waitingMs = 3_000;

/** Decides what to do for a SyncVerification. Depends only on its arguments. */
export function decide(given: SyncVerification, world: World): Decision {
  const verification = withRun(given, world.clusterSync);
  if (hasEnded(verification.status)) return afterEnd(verification, world);
  const { clusterSync, statefulSet, rejection, settings, nowMs } = world;
  const startedWith = new Map([
    // What the pod of another run reports is not about this one.
    [attemptArgument(verification.status.run), 'belongs to a previous run, and is being replaced'],
    [tokenArgument(world.token), beingReplaced],
  ]);
  const isToHavePods = statefulSet !== undefined && statefulSet.spec?.replicas !== 0;
  const unusableSecret = isToHavePods ? unusableForPods(world) : undefined;
  const seen =
    world.pod && withOverdueEnd(podStateWith(world.pod, 'verifier', startedWith), world.pod, nowMs);
  const pod = seen && orWithItsSecret(seen, unusableSecret);
  const isCopied = isConditionTrue(clusterSync?.status?.conditions, 'InitialCopyDone');
  const missing = missingInput(verification, world);
  const trust = trustOf(verification, world);
  const untrusted = trust.kind === 'unknown' ? trust.cause : undefined;
  const disallowed = optionsCause(verification.spec.verifier, settings, 'verifier');
  const isRunning =
    statefulSet !== undefined || (isCopied && !missing && !untrusted && !disallowed);
  // A pod that runs no longer needs a Secret, nor a ClusterSync once it has been told of the end of writes.
  const isToldOfEnd = verification.status.verifier?.writesOffSentAt !== undefined;
  const canContinue = statefulSet !== undefined && (clusterSync !== undefined || isToldOfEnd);
  const input: StatusInput = {
    verification,
    clusterSync,
    nowMs,
    podName: verifierPodName(verification),
    podRefusal: world.podRefusal,
    pod,
    observation: world.observation?.process === pod?.process ? world.observation : undefined,
    isRunning,
    blocker: rejection ?? disallowed ?? (canContinue ? undefined : missing) ?? untrusted,
    secretsChangedAt: recordedChange(statefulSet),
    unusableSecret,
    secretProblem: isToHavePods ? secretProblem(world, nowMs, runningPods([pod])) : undefined,
  };
  const verifier = verifierStatusOf(input);
  const isEnding = outcomeOf(input, verifier) !== undefined;
  const target = targetOf(pod, { port: verifierPort, token: world.token, trust });
  const status = statusOf(input);
  const isPending =
    target !== undefined && !input.observation?.answer && !input.observation?.unreachable;
  const isNewRun = verification.status.run.attempt !== given.status?.run?.attempt;
  const isDeleted = verification.metadata.deletionTimestamp !== undefined;
  const isMaking = isRunning && !isEnding && !isDeleted;
  const secretsRecord = secretsRecordOf(world, { statefulSet, nowMs, hasPods: true });
  return {
    objects:
      isMaking && !disallowed && clusterSync && secretsRecord !== undefined
        ? unlessUnstartable(
            verifierObjects(
              verification,
              clusterSync,
              { secretsRecord, token: world.token },
              settings,
            ),
            statefulSet,
            missing ?? untrusted,
          )
        : undefined,
    // Only once the result is recorded: see afterEnd.
    remove: undefined,
    isExpired: false,
    target,
    command: isEnding || isDeleted ? undefined : commandOf(input, verifier),
    status: isPending && !isNewRun ? undefined : status,
    events: isPending ? [] : eventsOf(verification.status, status, isNewRun && given.status?.run),
    requeueAfterMs: Math.min(
      (missing ?? untrusted) || rejection?.level === 'warning' ? waitingMs : resyncMs,
      ...(input.observation ? dueMs(input.observation, nowMs) : []),
    ),
  };
}

function afterEnd({ metadata, spec, status }: RunningVerification, world: World): Decision {
  const { statefulSet, nowMs } = world;
  const ttlSeconds = spec.ttlSecondsAfterFinished;
  const leftMs =
    ttlSeconds === undefined || metadata.deletionTimestamp !== undefined
      ? undefined
      : Date.parse(status.completedAt ?? '') + ttlSeconds * 1000 - nowMs;
  const isExpired = leftMs !== undefined && leftMs <= 0;
  const next = standingOf(status, world);
  return {
    objects: undefined,
    remove: statefulSet?.metadata.deletionTimestamp === undefined ? statefulSet : undefined,
    target: undefined,
    command: undefined,
    status: next,
    events: next ? eventsOfStanding(next) : [],
    isExpired,
    requeueAfterMs: isExpired ? undefined : leftMs,
  };
}

function missingInput({ spec }: SyncVerification, world: World): ConditionCause | undefined {
  if (world.clusterSync) return missingSecret(world);
  return {
    reason: 'ClusterSyncNotFound',
    message: `there is no ClusterSync ${spec.clusterSyncRef.name}`,
    level: 'warning',
  };
}

function trustOf(verification: SyncVerification, { authority }: World): ApiTrust {
  const serverName = serverNameOf(verifierName(verification), verification.metadata);
  return apiTrust(verification.spec.verifier, authority, serverName);
}

function commandOf(
  { clusterSync, observation, nowMs }: StatusInput,
  { checkSentAt, writesOffSentAt }: ReturnType<typeof verifierStatusOf>,
): Command<VerifierCommand> | undefined {
  if (observation?.answer?.kind !== 'progress' || !isCurrent(observation, nowMs)) return undefined;
  const isCommitted = isConditionTrue(clusterSync?.status?.conditions, 'Committed');
  const name =
    checkSentAt === undefined
      ? 'check'
      : isCommitted && writesOffSentAt === undefined
        ? 'writesOff'
        : undefined;
  return name !== undefined && maySend(observation, name, nowMs) ? { name, body: {} } : undefined;
}

const turnedRound = 'because the sync was reversed';

function whyReplaced(former: Run, next: Run | undefined): string {
  if (next?.direction !== former.direction) return turnedRound;
  if (next.syncStartedAt === former.syncStartedAt) return 'because of spec.rerun';
  return isOneSync(next.syncStartedAt, former.syncStartedAt)
    ? turnedRound
    : 'because another sync has replaced the one that it verified';
}

/** Only changes become events. */
function eventsOf(
  former: SyncVerificationStatus | undefined,
  next: SyncVerificationStatus,
  replaced: Run | false | undefined,
): Omit<EventDraft, 'regarding'>[] {
  const events: Omit<EventDraft, 'regarding'>[] = [];
  if (replaced) {
    events.push({
      type: 'Normal',
      reason: 'Rerun',
      action: 'Check',
      note: `the verification starts over ${whyReplaced(replaced, next.run)}`,
    });
  }
  if (next.verifier?.checkSentAt !== undefined && former?.startedAt === undefined) {
    events.push({
      type: 'Normal',
      reason: 'Checking',
      action: 'Check',
      note: 'the verifier is comparing the data',
    });
  }
  const equality = findCondition(next.conditions, 'Consistent');
  if (next.verdict !== undefined && equality) {
    events.push({
      type: next.verdict === 'Equal' ? 'Normal' : 'Warning',
      reason: next.verdict === 'Equal' ? 'Succeeded' : 'Different',
      action: 'Check',
      note: equality.message,
    });
  }
  events.push(
    ...secretsChangedEvents(former, next),
    ...secretProblemEvents(former, next),
    ...warningEvents(former, next, warningReasons),
  );
  return events;
}

/** See {@link warningEvents}. */
const warningReasons = [
  'ClusterSyncNotFound',
  'VerifierUnreachable',
  'ProgressNotLatest',
  'NameConflict',
];
