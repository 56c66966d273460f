import { createHash } from 'node:crypto';
import type { ClusterSync } from '../api/clustersync.ts';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import { secondTime } from '../kube/micro-time.ts';
import type { ApiError } from '../operand/http-api.ts';
import type { MonitorTarget } from '../operand/monitor.ts';
import { isCurrent } from '../operand/observation.ts';
import type { InstanceCommand } from './commands.ts';
import { isOfOtherSync, wantedDigest } from './identity.ts';
import type { InstanceView } from './instance-causes.ts';
import type { KeptFindings } from './kept-findings.ts';
import { isMadeContested, startBody } from './resources.ts';
import { isAnswer, isSettled, type CheckRequest, type CheckView } from './start-checks.ts';

/**
 * What `spec.dryRun` means for a ClusterSync: `off`: nothing. `on`: nothing is started. `found`: nothing is started, and the pods do
 * not continue the sync that they have found on the destination. `begun`: nothing, since the sync has begun.
 */
export type DryRun = 'off' | 'on' | 'found' | 'begun';

/** What is known about a start, for the status. */
export type Outlook =
  /** Nobody wants to know, or the sync has begun. */
  | { readonly kind: 'none' }
  | { readonly kind: 'asking' }
  | ({ readonly kind: 'found' } & CheckRecord)
  | { readonly kind: 'unsupported' }
  | { readonly kind: 'failed'; readonly error: ApiError };

/** What a check has found, as the status keeps it. */
export interface CheckRecord extends KeptFindings {
  readonly canStart: boolean;
  /** RFC 3339, whole seconds. */
  readonly time: string;
  readonly inputsHash: string;
}

/** A start waits this long for the check before it: a check must not prevent a start. */
const startDeadlineMs = 60_000;
/** Nobody waits for that of a dry run. */
const dryRunDeadlineMs = 120_000;
/** How soon a dry run is checked again: sooner if somebody is about to remove what prevents the start. */
const passedAgainMs = 600_000;
const blockedAgainMs = 60_000;
const failedAgainMs = 20_000;

/** What spec.dryRun means now. A mistake must not stop a sync: it has no effect on one that has begun. */
export function dryRunOf(
  clusterSync: ClusterSync,
  {
    views,
    statefulSet,
  }: { readonly views: readonly InstanceView[]; readonly statefulSet: StatefulSet | undefined },
): DryRun {
  if (!clusterSync.spec.dryRun) return 'off';
  if (isOnRecord(clusterSync)) return 'begun';
  const digest = wantedDigest(clusterSync);
  if (!views.some((view) => hasSync(view, digest))) return 'on';
  return isMadeContested(statefulSet) ? 'found' : 'begun';
}

function isOnRecord({ status }: ClusterSync): boolean {
  return status?.startedAt !== undefined || status?.committedAt !== undefined;
}

/** Whether nothing is started because of spec.dryRun. */
export function isDry(dryRun: DryRun): boolean {
  return dryRun === 'on' || dryRun === 'found';
}

/**
 * Whether the pods of a dry run are such that continue no sync that they find. Pods that run without that keep running: they know
 * of no sync, or dryRun has no effect.
 */
export function isHeldBack(dryRun: DryRun, statefulSet: StatefulSet | undefined): boolean {
  return isDry(dryRun) && (statefulSet === undefined || isMadeContested(statefulSet));
}

/** An instance of a dry run: that a start was refused before is not a reason for anything. */
export function withoutCommand(view: InstanceView): InstanceView {
  const { observation } = view;
  return observation ? { ...view, observation: { ...observation, command: undefined } } : view;
}

/** What the plan depends on, apart from the resource. */
export interface StartInput {
  readonly dryRun: DryRun;
  readonly views: readonly InstanceView[];
  /** The processes that can be asked, by the id of the instance. */
  readonly targets: ReadonlyMap<string, MonitorTarget>;
  /** The commands that are called for. */
  readonly commands: readonly InstanceCommand[];
  /** What the last check has found. */
  readonly view: CheckView;
  /** Whether the operator may do nothing for this ClusterSync, and not even look. */
  readonly isHandsOff: boolean;
  readonly nowMs: number;
}

/** What precedes a start. */
export interface StartPlan {
  /** What to ask a syncer. */
  readonly request: CheckRequest | undefined;
  /** What to send now: a start waits for the check before it. */
  readonly commands: readonly InstanceCommand[];
  readonly outlook: Outlook;
}

/** Plans the check before a start, or that of a dry run. */
export function planStart(clusterSync: ClusterSync, input: StartInput): StartPlan {
  const { commands, view, isHandsOff } = input;
  const request = isHandsOff ? undefined : requestOf(clusterSync, input);
  const isReady = !request || isSettled(view, request);
  return {
    request,
    commands: isReady ? commands : commands.filter(({ command }) => command.name !== 'start'),
    outlook: outlookOf(clusterSync, input, request),
  };
}

/**
 * What to ask a syncer: in a dry run, one that knows of no sync; before a start, one that is to be started. All of them would find the
 * same: the one that was asked before is preferred, then the first.
 */
function requestOf(
  clusterSync: ClusterSync,
  { dryRun, views, targets, commands, view, nowMs }: StartInput,
): CheckRequest | undefined {
  const ids =
    dryRun === 'on'
      ? views.filter((each) => isIdle(each, nowMs)).map(({ instance }) => instance.id)
      : commands.filter(({ command }) => command.name === 'start').map(({ id }) => id);
  const able = ids.flatMap((id) => targets.get(id) ?? []);
  const askedBefore = view.kind === 'unknown' ? undefined : view.process;
  const target = able.find(({ process }) => process === askedBefore) ?? able[0];
  if (!target) return undefined;
  const body = startBody(clusterSync);
  const inputsHash = `${questionHash(clusterSync, body)}${hashOf([target.process]).slice(0, 6)}`;
  const known = isAnswer(view, { target, inputsHash }) ? view : undefined;
  return {
    ...{ target, body, inputsHash },
    ...(dryRun === 'on'
      ? { deadlineMs: dryRunDeadlineMs, notBeforeMs: known ? renewedMs(known, nowMs) : 0 }
      : { deadlineMs: startDeadlineMs, notBeforeMs: Math.max(...views.map(lastRefusalMs)) }),
  };
}

/** The question, whichever process answers it: the first part of the hash of all inputs. */
function questionHash({ spec }: ClusterSync, body: object): string {
  return hashOf([body, spec.checkAgain]).slice(0, 10);
}

function outlookOf(
  clusterSync: ClusterSync,
  { view, views, isHandsOff }: StartInput,
  request: CheckRequest | undefined,
): Outlook {
  // Nothing is known of a start that is not this ClusterSync's to make, and it is too late where there is a sync.
  if (isHandsOff || isOnRecord(clusterSync) || views.some((each) => hasSync(each)))
    return { kind: 'none' };
  const former = recordIn(clusterSync.status);
  // While nobody can be asked, what was found before counts if it was asked the same.
  const isAsked = (inputsHash: string): boolean =>
    inputsHash.startsWith(questionHash(clusterSync, startBody(clusterSync)));
  if (view.kind !== 'unknown' && (request ? isAnswer(view, request) : isAsked(view.inputsHash))) {
    switch (view.kind) {
      case 'found': {
        const { kind, canStart, findings, omitted, inputsHash, askedMs } = view;
        return { kind, canStart, findings, omitted, inputsHash, time: secondTime(askedMs) };
      }
      case 'unsupported':
        return { kind: 'unsupported' };
      case 'failed':
        return { kind: 'failed', error: view.error };
    }
  }
  if (former && (request ? former.inputsHash === request.inputsHash : isAsked(former.inputsHash)))
    return { kind: 'found', ...former };
  return request ? { kind: 'asking' } : { kind: 'none' };
}

function recordIn(status: ClusterSync['status']): CheckRecord | undefined {
  const { canStart, preflight, preflightCheck } = status ?? {};
  if (canStart === undefined || !preflight || !preflightCheck) return undefined;
  const { time, inputsHash, omittedFindings: omitted = 0 } = preflightCheck;
  return { canStart, findings: preflight, omitted, time, inputsHash };
}

/**
 * Whether an instance knows of a sync, or of one that has failed.
 * @param digest - of the only sync that counts; undefined for any.
 */
function hasSync({ observation }: InstanceView, digest?: string): boolean {
  const { answer } = observation ?? {};
  if (!answer) return false;
  if (answer.kind === 'error')
    return (
      answer.optionsDigest !== undefined &&
      answer.optionsDigest === (digest ?? answer.optionsDigest)
    );
  const { progress } = answer;
  return progress.state !== 'IDLE' && !(digest !== undefined && isOfOtherSync(progress, digest));
}

function isIdle({ observation }: InstanceView, nowMs: number): boolean {
  const { answer } = observation ?? {};
  return (
    observation !== undefined &&
    answer?.kind === 'progress' &&
    answer.progress.state === 'IDLE' &&
    isCurrent(observation, nowMs)
  );
}

/** The check of a start that was refused is repeated with the start. */
function lastRefusalMs({ observation }: InstanceView): number {
  const command = observation?.command;
  return command?.kind === 'refused' && command.name === 'start' ? command.endedMs : 0;
}

/** From when on an answer counts: that of the last one, or from now on if it has become old. */
function renewedMs(known: Exclude<CheckView, { kind: 'unknown' }>, nowMs: number): number {
  if (known.kind === 'unsupported') return 0;
  const againMs =
    known.kind === 'failed' ? failedAgainMs : known.canStart ? passedAgainMs : blockedAgainMs;
  return nowMs >= known.askedMs + againMs ? known.askedMs + 1 : 0;
}

function hashOf(inputs: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(inputs)).digest('hex').slice(0, 16);
}
