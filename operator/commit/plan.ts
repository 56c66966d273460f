import type { Direction } from '../api/clustersync.ts';
import type { LeaseHolder } from '../leases/lease-holder.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import type { CommitOptions, HeldWorkload, Hold, HoldEnd, WorkloadRef } from './hold.ts';
import { windowAt, windowEndMs, windowMissed } from './window.ts';

/** A workload, as it is now. */
export interface WorkloadView extends WorkloadRef {
  readonly state: WorkloadState;
}

/** Which workload was seen, and in which version. */
export interface SeenWorkload {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** The state of a workload. */
export type WorkloadState =
  | {
      readonly kind: 'found';
      readonly seen: SeenWorkload;
      /** Its desired number of pods. */
      readonly replicas: number;
      /** Its pods, including those that are terminating. */
      readonly pods: number;
      /** Why the API server refused to scale it the last time; missing where it did not. */
      readonly refusal?: string;
    }
  | { readonly kind: 'missing' }
  /** The operator may not read it, or not scale it. */
  | { readonly kind: 'refused'; readonly description: string };

/**
 * How far the commit has got. none: every instance has just said that none is under way there. unknown: not every one has, so a commit
 * that was sent may have been accepted, or may still be. taken: it can no longer be taken back.
 */
export type CommitProgress = 'none' | 'unknown' | 'taken' | 'done';

/** What the next step depends on. */
export interface CommitFacts {
  readonly nowMs: number;
  readonly holder: LeaseHolder;
  readonly options: CommitOptions;
  readonly optionsHash: string;
  /** Whether the operator should commit when it can: not if the sync is to be paused, or is being deleted. */
  readonly isAskedFor: boolean;
  /**
   * Whether a person asks for it, while workloads are held: neither the deadline nor other options end the attempt. They stay at zero, and
   * that it is sent is recorded first, as for an automatic one.
   */
  readonly isByHand: boolean;
  readonly direction: Direction;
  readonly commit: CommitProgress;
  /** Whether users may write to the new deployment since the commit, by the word of an instance: it may be published any moment. */
  readonly isCarriedOut: boolean;
  /** What keeps the commit from being sent; undefined if nothing does. */
  readonly obstacle: Obstacle | undefined;
  readonly hold: Hold | undefined;
  /** The options with which an attempt missed its deadline, if one did. */
  readonly missedHash: string | undefined;
  /** The requested workloads and the held ones; undefined if they have not been read. */
  readonly workloads: readonly WorkloadView[] | undefined;
}

/** Why a commit is not sent yet. Without a cause, the conditions already say it. */
export interface Obstacle {
  readonly cause: ConditionCause | undefined;
}

/** A workload to be scaled. */
export interface Scaling extends WorkloadRef {
  readonly seen: SeenWorkload;
  readonly replicas: number;
}

/** The next thing to do. After each step the world is read again. */
export type CommitStep =
  | { readonly kind: 'none' }
  /** Read the workloads: nothing can be decided without them. */
  | { readonly kind: 'look' }
  /** Record this hold. */
  | { readonly kind: 'record'; readonly hold: Hold }
  | {
      readonly kind: 'scale';
      readonly scalings: readonly Scaling[];
      /** Whether the API server is asked about all of them before the first is carried out, so that a refusal stops none. */
      readonly isTriedFirst: boolean;
    }
  | { readonly kind: 'send' }
  /** The record is no longer needed. */
  | { readonly kind: 'drop' };

/** A commit is sent within this time after it was recorded; later, the record is renewed first. */
const sendWithinMs = 5_000;

/**
 * Time after which a commit recorded as sent was answered or lost, even if the operator was killed while sending it.
 * From then on an instance that reports no commit has none.
 */
export const commitSettledMs = sendWithinMs + 5_000;

/** What to do next, and what to say about it. */
export interface CommitPlan {
  readonly step: CommitStep;
  /** What the commit waits for, or why there is none. */
  readonly cause?: ConditionCause;
  /** To be recorded in the status, so that no other attempt starts with the same options. */
  readonly missedHash?: string;
  /** `notBefore`, if that is still to come and nothing calls for intervention before. */
  readonly opensAt?: string;
}

const nothing: CommitPlan = { step: { kind: 'none' } };
const dropping: CommitPlan = { step: { kind: 'drop' } };

/**
 * The next step towards an automatic commit, or back from it. It depends neither on who takes it nor on how often: if a step was taken
 * twice, or not at all, the state of the world shows it.
 */
export function planCommit(facts: CommitFacts): CommitPlan {
  const { hold, isAskedFor, commit, missedHash, optionsHash, options } = facts;
  if (hold) return planHeld(facts, hold);
  const kept = missedHash === optionsHash && commit !== 'done' ? { missedHash } : {};
  if (!isAskedFor || commit === 'taken' || commit === 'done') return { ...nothing, ...kept };
  if (missedHash === optionsHash) return { ...nothing, ...kept, cause: missed(options) };
  return planBegin(facts);
}

/** Towards an attempt, or towards the commit itself where there are no workloads: in the window, once nothing is in the way. */
function planBegin(facts: CommitFacts): CommitPlan {
  const { commit, obstacle, optionsHash, options, nowMs } = facts;
  // The conditions already say what is under way.
  if (obstacle && !obstacle.cause) return nothing;
  const window = windowAt(nowMs, options);
  // One that was sent in the window may still be accepted.
  if (window.kind === 'over')
    return commit === 'unknown' ? nothing : waiting(windowMissed(options, obstacle?.cause));
  const early = window.kind === 'early' ? { ...nothing, opensAt: window.opensAt } : undefined;
  if (obstacle) {
    // What needs intervention is reported before the window opens.
    return early && obstacle.cause?.level !== 'stalled' ? early : waiting(obstacle.cause);
  }
  const refs = options.workloads ?? [];
  if (refs.length === 0) return early ?? sending;
  if (!facts.workloads) return { step: { kind: 'look' } };
  const workloads: HeldWorkload[] = [];
  for (const { kind, name } of refs) {
    const state = stateOf({ kind, name }, facts.workloads);
    if (state.kind !== 'found') return waiting(unusable({ kind, name }, state));
    workloads.push({ kind, name, uid: state.seen.uid, replicas: state.replicas });
  }
  if (early) return early;
  const { holder, direction } = facts;
  return record({ holder, direction, optionsHash, sinceMs: nowMs, workloads });
}

/** Undoes a hold whose ClusterSync is gone. */
export function planRelease(hold: Hold, workloads: readonly WorkloadView[]): CommitStep {
  const { ending = 'NotAskedFor' } = hold;
  // After the commit, they would write to the old deployment.
  if (hold.afterCommit === 'StayAtZero') return dropping.step;
  return hold.ending === undefined
    ? { kind: 'record', hold: { ...hold, ending } }
    : wayBack(hold, workloads).step;
}

function planHeld(facts: CommitFacts, hold: Hold): CommitPlan {
  const { commit, workloads, options } = facts;
  const step = stepBeforePublishing(facts);
  if (step) return { step };
  const isRead = (held: WorkloadRef): boolean => viewOf(held, workloads ?? []) !== undefined;
  if (!workloads || !hold.workloads.every(isRead)) return { step: { kind: 'look' } };
  const after = (choice: CommitOptions['workloadsAfterCommit']): CommitPlan =>
    choice === 'ScaleBack' ? wayBack(hold, workloads) : dropping;
  if (commit === 'done') return after(options.workloadsAfterCommit);
  // Of an attempt that was given up, nothing is stopped again for a commit by hand.
  if (commit === 'taken') {
    const isOfAttempt = hold.ending === undefined || hold.commitSentMs !== undefined;
    return isOfAttempt ? (keepDown(hold, workloads) ?? nothing) : nothing;
  }
  if (hold.afterCommit !== undefined) {
    // It was carried out, whatever was requested since: a reversal, for example. While nobody answers, that may not be over.
    const isOver = commit === 'none' || facts.direction !== hold.direction;
    return isOver ? after(hold.afterCommit) : nothing;
  }
  const end = endOf(facts, hold);
  // Where the commit has to wait, as for another copy after a start-over or a repair, the applications run meanwhile.
  const isNext = facts.isByHand && end === undefined && facts.obstacle === undefined;
  if (isNext && hold.ending !== undefined) return record(continued(hold));
  if (hold.ending === undefined)
    return end === undefined ? planDown(facts, hold, workloads) : record({ ...hold, ending: end });
  // An instance that falls silent after that does not keep the applications at zero.
  if (hold.commitSentMs !== undefined)
    return commit === 'none' ? record(withoutCommit(hold)) : waiting(unknownOutcome);
  return hold.ending === 'DeadlineMissed'
    ? backFromMissed(facts, hold, workloads)
    : wayBack(hold, workloads);
}

/**
 * Records what becomes of the workloads after a commit, before that is published: from then on the ClusterSync may be deleted. To be
 * taken even while the operator is to do nothing else.
 */
export function stepBeforePublishing({
  hold,
  commit,
  isCarriedOut,
  options: { workloadsAfterCommit: afterCommit },
}: CommitFacts): CommitStep | undefined {
  const isDue = hold && commit !== 'done' && isCarriedOut && hold.afterCommit !== afterCommit;
  return isDue ? { kind: 'record', hold: { ...hold, afterCommit } } : undefined;
}

/** The status records the missed deadline before the hold, which records it too, is dropped. */
function backFromMissed(
  { options, missedHash }: CommitFacts,
  hold: Hold,
  workloads: readonly WorkloadView[],
): CommitPlan {
  const told = { cause: missed(options), missedHash: hold.optionsHash };
  const plan = wayBack(hold, workloads);
  if (plan.step.kind === 'drop' && missedHash !== hold.optionsHash) return { ...nothing, ...told };
  return { ...told, ...plan };
}

/** Towards the commit: scale everything down, then record that it is sent, then send it. */
function planDown(
  { obstacle, commit, nowMs }: CommitFacts,
  hold: Hold,
  views: readonly WorkloadView[],
): CommitPlan {
  // Once a commit may be under way, whatever can be stopped is.
  const down = keepDown(hold, views, hold.commitSentMs === undefined);
  if (down) return down;
  for (const held of hold.workloads) {
    const state = stateOf(held, views);
    if (state.kind === 'refused') return waiting(unusable(held, state));
    // A workload created again meanwhile is not the operator's to stop, but it writes all the same.
    const isLeft = state.kind === 'found' && (state.pods > 0 || state.replicas > 0);
    if (isLeft) return waiting(stopping(`the ${textOf(held)} still has pods`));
  }
  if (obstacle && hold.commitSentMs !== undefined && commit === 'unknown')
    return waiting(sentBefore);
  if (obstacle) return waiting(obstacle.cause);
  const isOnRecord = nowMs - (hold.commitSentMs ?? -Infinity) < sendWithinMs;
  return isOnRecord ? sending : record({ ...hold, commitSentMs: nowMs });
}

/** If somebody else has resized a workload meanwhile, the new size is recorded before it is scaled down again, and restored later. */
function keepDown(
  hold: Hold,
  views: readonly WorkloadView[],
  isTriedFirst = false,
): CommitPlan | undefined {
  const workloads = hold.workloads.map((held) => {
    const state = stateOf(held, views);
    const isOther = state.kind === 'found' && state.seen.uid === held.uid && state.replicas !== 0;
    return isOther ? { ...held, replicas: state.replicas } : held;
  });
  const isChanged = workloads.some(
    ({ replicas }, index) => replicas !== hold.workloads[index]?.replicas,
  );
  if (isChanged) return record({ ...hold, workloads });
  const cause = stopping('the workloads are being scaled to zero');
  const plan = scaling(hold, views, downTo, isTriedFirst);
  return plan && { cause, ...plan };
}

function endOf(
  { isAskedFor, isByHand, direction, optionsHash, options, nowMs }: CommitFacts,
  hold: Hold,
): HoldEnd | undefined {
  if (!isAskedFor || direction !== hold.direction) return 'NotAskedFor';
  if (isByHand) return undefined;
  if (optionsHash !== hold.optionsHash) return 'OptionsChanged';
  return nowMs >= deadlineMs(hold, options) ? 'DeadlineMissed' : undefined;
}

/** An attempt that was abandoned, and is not any longer. */
function continued({ ending: _ending, ...hold }: Hold): Hold {
  return hold;
}

/** An attempt whose commit is known not to be under way. */
function withoutCommit({ commitSentMs: _commitSentMs, ...hold }: Hold): Hold {
  return hold;
}

/** When an attempt is abandoned: milliseconds since 1970. No attempt outlasts the window. */
export function deadlineMs({ sinceMs }: Hold, options: CommitOptions): number {
  return Math.min(sinceMs + options.deadlineSeconds * 1000, windowEndMs(options));
}

/** Restores the size of every workload that still exists; then the record may be dropped. */
function wayBack(hold: Hold, views: readonly WorkloadView[]): CommitPlan {
  const back = scaling(hold, views, backTo);
  if (back) return back;
  for (const held of hold.workloads) {
    const state = stateOf(held, views);
    if (state.kind === 'refused') return waiting(unusable(held, state));
  }
  return dropping;
}

function downTo(now: number): number | undefined {
  return now === 0 ? undefined : 0;
}

/** Only a workload at zero gets its size back: any other size was set by somebody else since then. */
function backTo(now: number, { replicas }: HeldWorkload): number | undefined {
  return now === 0 && replicas > 0 ? replicas : undefined;
}

function scaling(
  { workloads }: Hold,
  views: readonly WorkloadView[],
  sizeOf: (now: number, held: HeldWorkload) => number | undefined,
  isTriedFirst = false,
): CommitPlan | undefined {
  const scalings = workloads.flatMap((held): Scaling[] => {
    const state = stateOf(held, views);
    if (state.kind !== 'found' || state.seen.uid !== held.uid) return [];
    const replicas = sizeOf(state.replicas, held);
    const { kind, name } = held;
    return replicas === undefined ? [] : [{ kind, name, seen: state.seen, replicas }];
  });
  if (scalings.length === 0) return undefined;
  const plan: CommitPlan = { step: { kind: 'scale', scalings, isTriedFirst } };
  for (const ref of scalings) {
    const state = stateOf(ref, views);
    // It is tried again.
    if (state.kind === 'found' && state.refusal !== undefined)
      return { ...plan, cause: unscalable(ref, state.refusal) };
  }
  return plan;
}

function stateOf(ref: WorkloadRef, views: readonly WorkloadView[]): WorkloadState {
  return viewOf(ref, views)?.state ?? { kind: 'missing' };
}

/** Undefined for a workload that was not read. */
function viewOf(ref: WorkloadRef, views: readonly WorkloadView[]): WorkloadView | undefined {
  return views.find(({ kind, name }) => kind === ref.kind && name === ref.name);
}

function record(hold: Hold): CommitPlan {
  return { step: { kind: 'record', hold }, cause: stopping('the commit is being prepared') };
}

function waiting(cause: ConditionCause | undefined): CommitPlan {
  return cause ? { ...nothing, cause } : nothing;
}

const sending: CommitPlan = {
  step: { kind: 'send' },
  cause: { reason: 'Committing', message: 'the commit is being sent', level: 'waiting' },
};

const sentBefore: ConditionCause = {
  reason: 'Committing',
  message: 'the commit was sent, and not every instance has reported whether it accepts it',
  level: 'waiting',
};

const unknownOutcome: ConditionCause = {
  reason: 'CommitUnknown',
  message:
    'the commit was sent, and not every instance has reported whether it accepts it: the workloads are scaled back once all have reported that no commit is in progress',
  level: 'warning',
};

function stopping(message: string): ConditionCause {
  return { reason: 'StoppingWorkloads', message, level: 'waiting' };
}

function missed({ deadlineSeconds, notAfter }: CommitOptions): ConditionCause {
  const [end, change] =
    notAfter === undefined
      ? ['', 'for example with a new value of spec.commit.attempt']
      : [` and before ${notAfter}`, 'for example with a later notAfter'];
  return {
    reason: 'CommitDeadlineMissed',
    message: `the commit did not happen within ${deadlineSeconds} s${end}, and the workloads were scaled back: to try again, change spec.commit, ${change}`,
    level: 'stalled',
  };
}

function unusable(
  ref: WorkloadRef,
  state: Exclude<WorkloadState, { readonly kind: 'found' }>,
): ConditionCause {
  if (state.kind === 'missing') {
    const message = `there is no ${textOf(ref)}, which spec.commit.workloads names: the operator does not commit`;
    return { reason: 'WorkloadNotFound', message, level: 'stalled' };
  }
  return unscalable(ref, state.description);
}

function unscalable(ref: WorkloadRef, description: string): ConditionCause {
  const message = `the ${textOf(ref)} cannot be scaled: ${description}`;
  return { reason: 'Forbidden', message, level: 'stalled' };
}

function textOf({ kind, name }: WorkloadRef): string {
  return `${kind} ${name}`;
}
