import { shortened } from '../../service/errors.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerificationPhase, SyncVerificationStatus } from '../api/sync-verification.ts';
import { isConditionTrue, replaceConditions, type ConditionDraft } from '../kube/conditions.ts';
import { secondTime } from '../kube/micro-time.ts';
import {
  errorText,
  commandErrorCause,
  apiErrorCause,
  silenceCause,
  type ProcessView,
} from '../operand/api-causes.ts';
import { keptProgress } from '../operand/kept-progress.ts';
import type { Observation } from '../operand/observation.ts';
import { authorityOf } from '../operand/credentials.ts';
import type { PodRefusal } from '../operand/pod-refusals.ts';
import { missingPod, orItsSecret } from '../operand/pod-state.ts';
import { gravestCause, type ConditionCause } from '../operand/condition-cause.ts';
import { secretProblemConditions } from '../operand/warnings.ts';
import { outcomeOf, type Outcome } from './outcome.ts';
import { sidesOf, storedName } from './resources.ts';
import type { RunningVerification } from './run.ts';
import { progressOf, type VerifierCommand, type VerifierProgress } from './verifier-client.ts';

/** The input of the status. */
export interface StatusInput extends ProcessView {
  readonly verification: RunningVerification;
  readonly clusterSync: ClusterSync | undefined;
  readonly nowMs: number;
  readonly podName: string;
  /** Why it has not been created, if it has not and that is known. */
  readonly podRefusal: PodRefusal | undefined;
  /** Of the process that runs now. */
  readonly observation: Observation<VerifierProgress, VerifierCommand> | undefined;
  /** Whether the verifier exists, or is being created. */
  readonly isRunning: boolean;
  readonly blocker: ConditionCause | undefined;
  /** When the pods were last given changed Secrets, as far as their StatefulSet records it. */
  readonly secretsChangedAt: string | undefined;
  /** Why a Secret that its pod reads when it starts cannot be used. */
  readonly unusableSecret: ConditionCause | undefined;
  /** What is wrong with the Secrets that its pod reads, or has read. */
  readonly secretProblem: ConditionCause | undefined;
}

type VerifierStatus = NonNullable<SyncVerificationStatus['verifier']>;

/** What the verifier's process has been told, and what it reports. */
export function verifierStatusOf(input: StatusInput): VerifierStatus {
  const { verification, podName, pod, observation, nowMs } = input;
  const former = verification.status.verifier;
  const process = pod?.process;
  // A restarted process has forgotten everything.
  const told = process === undefined || process === former?.process ? former : undefined;
  const command = observation?.command;
  const taken = (name: VerifierCommand): string | undefined =>
    command?.kind === 'taken' && command.name === name ? secondTime(command.endedMs) : undefined;
  const progress = progressOf(observation);
  // It is checking, or has checked: it must have been told to, even if that is not recorded.
  const isChecking =
    progress && (progress.phase !== 'idle' || typeof progress.verdict === 'string');
  const checkSentAt =
    told?.checkSentAt ?? taken('check') ?? (isChecking ? secondTime(nowMs) : undefined);
  const writesOffSentAt = told?.writesOffSentAt ?? taken('writesOff');
  const shown = progress ? keptProgress(progress.raw) : told?.progress;
  const shownProcess = process ?? told?.process;
  const error = input.isRunning ? errorText(input, nowMs) : undefined;
  return {
    pod: podName,
    ...(shownProcess !== undefined && { process: shownProcess }),
    ready: pod?.isReady ?? false,
    ...(pod?.image !== undefined && { image: pod.image }),
    ...(checkSentAt !== undefined && { checkSentAt }),
    ...(writesOffSentAt !== undefined && { writesOffSentAt }),
    ...(shown && { progress: shown }),
    ...(error !== undefined && { error }),
  };
}

/** The status of a SyncVerification. */
export function statusOf(input: StatusInput): SyncVerificationStatus {
  const { verification, nowMs } = input;
  const former = verification.status;
  const observedGeneration = verification.metadata.generation;
  const generation = observedGeneration === undefined ? {} : { observedGeneration };
  const verifier = verifierStatusOf(input);
  const outcome = outcomeOf(input, verifier);
  const cause = outcome ? undefined : causeOf(input);
  const progress = progressOf(input.observation);
  const { verificationStatus } = progress ?? {};
  const counts = verificationStatus ? keptProgress(verificationStatus) : former.verificationStatus;
  const mismatches = progress?.mismatches ?? former.mismatches;
  const secretsChangedAt = input.secretsChangedAt ?? former.secretsChangedAt;
  const startedAt = former.startedAt ?? verifier.checkSentAt;
  const report = former.report ?? (startedAt === undefined ? undefined : reportOf(input));
  const drafts = conditionsOf({ input, verifier, outcome, cause });
  return {
    ...generation,
    phase: phaseOf(input, verifier, outcome),
    run: former.run,
    conditions: replaceConditions(
      former.conditions ?? [],
      drafts.map((draft) => ({ ...draft, ...generation })),
      nowMs,
    ),
    ...(outcome?.kind === 'equal' && { verdict: 'Equal' }),
    ...(outcome?.kind === 'different' && { verdict: 'Different' }),
    ...(mismatches && { mismatches }),
    ...(counts && { verificationStatus: counts }),
    ...(startedAt !== undefined && { startedAt }),
    ...(outcome && { completedAt: secondTime(nowMs) }),
    ...(secretsChangedAt !== undefined && { secretsChangedAt }),
    ...(report && { report }),
    verifier,
  };
}

/** Whether a change must be visible immediately: any change but figures. */
export function isUrgent(
  former: SyncVerificationStatus | undefined,
  next: SyncVerificationStatus,
): boolean {
  return JSON.stringify(outline(former)) !== JSON.stringify(outline(next));
}

function outline(status: SyncVerificationStatus | undefined): unknown {
  const { pod, process, ready, image, checkSentAt, writesOffSentAt, error } =
    status?.verifier ?? {};
  return [
    status?.observedGeneration,
    status?.run?.attempt,
    status?.phase,
    status?.verdict,
    status?.secretsChangedAt,
    status?.conditions?.map(({ type, status: value, reason }) => [type, value, reason]).sort(),
    [pod, process, ready, image, checkSentAt, writesOffSentAt, error === undefined],
  ];
}

/** The verifier keeps its results in the metadata store, which is the destination. */
function reportOf({
  verification,
  clusterSync,
}: StatusInput): SyncVerificationStatus['report'] | undefined {
  if (!clusterSync) return undefined;
  const name = storedName(verification);
  const { uriSecretRef, tls, auth } = sidesOf(clusterSync, verification.status.run).destination;
  const files = [
    '--metaURIFile=<file with the connection string>',
    ...(auth
      ? ['--metaUserFile=<file with the user>', '--metaPasswordFile=<file with the password>']
      : []),
    ...(authorityOf(tls) ? ['--metaCaFile=<file with its authorities>'] : []),
    ...(tls?.clientCertificateSecretRef
      ? ['--metaCertificateFile=<its tls.crt>', '--metaKeyFile=<its tls.key>']
      : []),
    ...(tls?.serverName === undefined ? [] : [`--metaServerName=${tls.serverName}`]),
  ];
  return {
    verification: name,
    uriSecretRef,
    command: `clustersync verifier report ${files.join(' ')} --verification=${name}`,
  };
}

function causeOf(input: StatusInput): ConditionCause | undefined {
  const { clusterSync, blocker, isRunning } = input;
  if (!isRunning) return gravestCause([blocker, notYet(clusterSync)]);
  return gravestCause([
    blocker,
    reportedError(input),
    input.pod ? input.pod.cause : absence(input),
    silenceCause(input, { reason: 'VerifierUnreachable', who: 'the verifier' }, input.nowMs),
    notLatest(input),
  ]);
}

function absence({ podName, podRefusal, unusableSecret }: StatusInput): ConditionCause {
  return orItsSecret(missingPod(podName, podRefusal), podName, unusableSecret);
}

function notYet(clusterSync: ClusterSync | undefined): ConditionCause | undefined {
  if (!clusterSync || isConditionTrue(clusterSync.status?.conditions, 'InitialCopyDone')) {
    return undefined;
  }
  return {
    reason: 'WaitingForInitialCopy',
    message: `the verifier starts when the ClusterSync ${clusterSync.metadata.name} applies changes`,
    level: 'waiting',
  };
}

function reportedError({ observation }: StatusInput): ConditionCause | undefined {
  const { answer, command } = observation ?? {};
  if (answer?.kind === 'error') return apiErrorCause(answer.error, 'the verifier reports');
  return command?.kind === 'refused'
    ? commandErrorCause(command.error, 'the verifier', command.name)
    : undefined;
}

/** How long an answer of the metadata store may take: with many tasks it is busy counting for longer than a progress request waits. */
const notLatestGraceMs = 15_000;

/** A condition has room for several. */
const maxWarningLength = 500;

/** Why the progress is out of date: an earlier state does not show how far the verifier is. */
function notLatest({ observation, nowMs }: StatusInput): ConditionCause | undefined {
  const asOf = progressOf(observation)?.asOf;
  if (asOf === undefined || nowMs - Date.parse(asOf) < notLatestGraceMs) return undefined;
  return {
    reason: 'ProgressNotLatest',
    message: `the metadata store does not answer the verifier: its progress is as of ${asOf}`,
    level: 'warning',
  };
}

interface Situation {
  readonly input: StatusInput;
  readonly verifier: VerifierStatus;
  readonly outcome: Outcome | undefined;
  readonly cause: ConditionCause | undefined;
}

function conditionsOf(situation: Situation): ConditionDraft[] {
  const { input, outcome, cause } = situation;
  if (outcome?.kind === 'error') {
    return unfinished('Stalled', apiErrorCause(outcome.error, 'the verification cannot continue:'));
  }
  if (outcome) {
    return [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Completed',
        message: 'the verification is complete',
      },
      {
        type: 'Complete',
        status: 'True',
        reason: 'Completed',
        message: 'everything has been compared',
      },
      {
        type: 'Consistent',
        ...(outcome.kind === 'equal'
          ? { status: 'True', reason: 'Equal' }
          : { status: 'False', reason: 'Different' }),
        message: `${outcomeText(outcome, input)}. ${subjectText(input)}`,
      },
    ];
  }
  return [
    ...unfinished(cause?.level === 'stalled' ? 'Stalled' : 'Reconciling', cause ?? busy(situation)),
    ...secretProblemConditions(input.secretProblem),
  ];
}

function outcomeText(
  outcome: Exclude<Outcome, { readonly kind: 'error' }>,
  { verification }: StatusInput,
): string {
  if (outcome.kind === 'different') return outcome.message;
  const equal =
    verification.spec.filter === undefined
      ? 'the data of both deployments is equal'
      : 'what spec.filter selects is equal on both deployments';
  const isByHash = verification.spec.comparison === 'Hashes';
  const documentsHashed = outcome.documentsHashed ?? (isByHash ? 'an unknown number' : 0);
  return documentsHashed === 0
    ? equal
    : `${equal}; documents that were compared only by hash: ${documentsHashed}`;
}

/** Which data a verdict is about: it says nothing about any other. */
function subjectText({ verification, clusterSync, nowMs }: StatusInput): string {
  const { run } = verification.status;
  const { name } = verification.spec.clusterSyncRef;
  const uid = clusterSync?.metadata.uid;
  const ofSync = run.syncStartedAt === undefined ? '' : `, started ${run.syncStartedAt}`;
  const direction = run.direction === 'Reverse' ? ', in reverse' : '';
  const ofUid = uid === undefined ? '' : ` (uid ${uid})`;
  const ofPart = verification.spec.filter === undefined ? '' : 'of ';
  return `Compared: ${ofPart}the sync of the ClusterSync ${name}${ofUid}${ofSync}${direction}, until ${secondTime(nowMs)}`;
}

function unfinished(
  type: 'Stalled' | 'Reconciling',
  { reason, message }: { readonly reason: string; readonly message: string },
): ConditionDraft[] {
  return [
    { type: 'Ready', status: 'False', reason, message },
    { type, status: 'True', reason, message },
    { type: 'Complete', status: 'False', reason, message },
    {
      type: 'Consistent',
      status: 'Unknown',
      reason: 'NotComplete',
      message: 'the verification is not complete',
    },
  ];
}

function busy({ input, verifier }: Situation): { reason: string; message: string } {
  if (verifier.checkSentAt === undefined) {
    return { reason: 'Starting', message: 'the verifier is being started' };
  }
  if (verifier.writesOffSentAt !== undefined) {
    return withWarnings(input, 'Finishing', 'the last pass is comparing what is left');
  }
  const name = input.verification.spec.clusterSyncRef.name;
  return withWarnings(
    input,
    'Checking',
    `the data is being compared; the verification ends after the commit of the ClusterSync ${name}`,
  );
}

/** Names what the verifier waits for, or retries. That its progress is not the latest is a cause of its own, after a while. */
function withWarnings(
  { observation }: StatusInput,
  reason: string,
  message: string,
): ReturnType<typeof busy> {
  const { warnings = [] } = progressOf(observation) ?? {};
  if (warnings.length === 0) return { reason, message };
  const texts = warnings.map((warning) => shortened(warning, maxWarningLength));
  return { reason, message: `${message}. Warnings: ${texts.join('; ')}` };
}

function phaseOf(
  { isRunning }: StatusInput,
  { checkSentAt, writesOffSentAt }: VerifierStatus,
  outcome: Outcome | undefined,
): SyncVerificationPhase {
  if (outcome) return outcome.kind === 'equal' ? 'Succeeded' : 'Failed';
  if (!isRunning) return 'Pending';
  if (checkSentAt === undefined) return 'Starting';
  return writesOffSentAt === undefined ? 'Checking' : 'Finishing';
}
