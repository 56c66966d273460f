import type { Direction } from '../api/clustersync.ts';
import type { LeaseHolder } from '../leases/lease-holder.ts';
import type { ConditionCause } from '../operand/condition-cause.ts';
import type { CommitOptions, HeldWorkload, Hold, HoldEnd, WorkloadRef } from './hold.ts';

/** A workload, as it is now. */
export interface WorkloadView extends WorkloadRef {
  readonly state: WorkloadState;
}

/** Which workload was seen, and when. */
export interface SeenWorkload {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** What there is of a workload. */
export type WorkloadState =
  | {
      readonly kind: 'found';
      readonly seen: SeenWorkload;
      /** Pods that it is to have. */
      readonly replicas: number;
      /** Pods that it has, those that are being ended among them. */
      readonly pods: number;
    }
  | { readonly kind: 'missing' }
  /** The operator may not look, or not scale. */
  | { readonly kind: 'refused'; readonly description: string };

/**
 * How far the commit is. none: every instance has just said that none is under way there. unknown: not every one has: a commit
 * that was sent may have been taken, or may be yet. taken: it cannot be taken back any more.
 */
export type CommitProgress = 'none' | 'unknown' | 'taken' | 'done';

/** What the next step depends on. */
export interface CommitFacts {
  readonly nowMs: number;
  readonly holder: LeaseHolder;
  readonly options: CommitOptions;
  readonly optionsHash: string;
  /** Whether the operator is to commit when it can: not while the sync is to be paused, or is deleted. */
  readonly isAskedFor: boolean;
  readonly direction: Direction;
  readonly commit: CommitProgress;
  /** What keeps the commit from being sent; undefined when nothing does. */
  readonly obstacle: Obstacle | undefined;
  readonly hold: Hold | undefined;
  /** The options with which an attempt missed its deadline, if one did. */
  readonly missedHash: string | undefined;
  /** Those asked for, and those held; undefined when they have not been looked at. */
  readonly workloads: readonly WorkloadView[] | undefined;
}

/** Why a commit is not sent yet. Without a cause, the conditions say it anyway. */
export interface Obstacle {
  readonly cause: ConditionCause | undefined;
}

/** A workload that is to have another size. */
export interface Scaling extends WorkloadRef {
  readonly seen: SeenWorkload;
  readonly replicas: number;
}

/** The next thing to be done. After each the world is looked at again. */
export type CommitStep =
  | { readonly kind: 'none' }
  /** The workloads are to be looked at: nothing can be said without. */
  | { readonly kind: 'look' }
  /** To be put on record. */
  | { readonly kind: 'record'; readonly hold: Hold }
  | { readonly kind: 'scale'; readonly scalings: readonly Scaling[] }
  | { readonly kind: 'send' }
  /** The record is not needed any more. */
  | { readonly kind: 'drop' };

/** A commit is sent within this time after the record says so, or that is renewed first. */
const sendWithinMs = 5_000;

/**
 * Time after which what is on record as sent has been answered, or is lost: also that of an operator which was killed as it
 * sent it. From then on an instance that tells of no commit has none.
 */
export const commitSettledMs = sendWithinMs + 5_000;

/** What is to be done next, and what to say of it. */
export interface CommitPlan {
  readonly step: CommitStep;
  /** What the commit waits for, or why there is none. */
  readonly cause?: ConditionCause;
  /** To be on record in the status, so that no other attempt is begun with the same options. */
  readonly missedHash?: string;
}

const nothing: CommitPlan = { step: { kind: 'none' } };
const dropping: CommitPlan = { step: { kind: 'drop' } };

/**
 * The next step towards an automatic commit, or back from it. It is the same whoever takes it, and however often: of two
 * steps that were both carried out, or of which the second was not, the world tells.
 */
export function planCommit(facts: CommitFacts): CommitPlan {
  const { hold, isAskedFor, commit, obstacle, missedHash, optionsHash, options } = facts;
  if (hold) return planHeld(facts, hold);
  const kept = missedHash === optionsHash && commit !== 'done' ? { missedHash } : {};
  if (!isAskedFor || commit === 'taken' || commit === 'done') return { ...nothing, ...kept };
  if (missedHash === optionsHash) return { ...nothing, ...kept, cause: missed(options) };
  if (obstacle) return waiting(obstacle.cause);
  const refs = options.workloads ?? [];
  if (refs.length === 0) return sending;
  if (!facts.workloads) return { step: { kind: 'look' } };
  const workloads: HeldWorkload[] = [];
  for (const { kind, name } of refs) {
    const state = stateOf({ kind, name }, facts.workloads);
    if (state.kind !== 'found') return waiting(unusable({ kind, name }, state));
    workloads.push({ kind, name, uid: state.seen.uid, replicas: state.replicas });
  }
  const { holder, direction, nowMs } = facts;
  return record({ holder, direction, optionsHash, sinceMs: nowMs, workloads });
}

/** The way back of a hold whose ClusterSync is gone. */
export function planRelease(hold: Hold, workloads: readonly WorkloadView[]): CommitStep {
  const { ending = 'NotAskedFor' } = hold;
  return hold.ending === undefined
    ? { kind: 'record', hold: { ...hold, ending } }
    : wayBack(hold, workloads).step;
}

function planHeld(facts: CommitFacts, hold: Hold): CommitPlan {
  const { commit, workloads, options } = facts;
  if (!workloads) return { step: { kind: 'look' } };
  if (commit === 'done') {
    return options.workloadsAfterCommit === 'ScaleBack' ? wayBack(hold, workloads) : dropping;
  }
  if (commit === 'taken') return keepDown(hold, workloads) ?? nothing;
  if (hold.ending === 'DeadlineMissed') return backFromMissed(facts, hold, workloads);
  if (hold.ending !== undefined) return wayBack(hold, workloads);
  const ending = endOf(facts, hold);
  if (ending === undefined) return planDown(facts, hold, workloads);
  const isSafe = hold.commitSentMs === undefined || commit === 'none';
  return isSafe ? record({ ...hold, ending }) : waiting(unknownOutcome);
}

/** The status says that it was missed before the record is gone that says so, too. */
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

/** Towards the commit: everything down, then on record that it is sent, then sent. */
function planDown(
  { obstacle, commit, nowMs }: CommitFacts,
  hold: Hold,
  views: readonly WorkloadView[],
): CommitPlan {
  const down = keepDown(hold, views);
  if (down) return down;
  for (const held of hold.workloads) {
    const state = stateOf(held, views);
    if (state.kind === 'refused') return waiting(unusable(held, state));
    // What was made anew meanwhile is not the operator's to stop, and writes all the same.
    const isLeft = state.kind === 'found' && (state.pods > 0 || state.replicas > 0);
    if (isLeft) return waiting(stopping(`the ${textOf(held)} still has pods`));
  }
  if (obstacle && hold.commitSentMs !== undefined && commit === 'unknown')
    return waiting(sentBefore);
  if (obstacle) return waiting(obstacle.cause);
  const isOnRecord = nowMs - (hold.commitSentMs ?? -Infinity) < sendWithinMs;
  return isOnRecord ? sending : record({ ...hold, commitSentMs: nowMs });
}

/** What somebody else has given another size meanwhile gets that back: it is on record before it goes down again. */
function keepDown(hold: Hold, views: readonly WorkloadView[]): CommitPlan | undefined {
  const workloads = hold.workloads.map((held) => {
    const state = stateOf(held, views);
    const isOther = state.kind === 'found' && state.seen.uid === held.uid && state.replicas !== 0;
    return isOther ? { ...held, replicas: state.replicas } : held;
  });
  const isChanged = workloads.some(
    ({ replicas }, index) => replicas !== hold.workloads[index]?.replicas,
  );
  if (isChanged) return record({ ...hold, workloads });
  const plan = scaling(hold, views, downTo);
  return plan && { ...plan, cause: stopping('the workloads are being scaled to zero') };
}

function endOf(
  { isAskedFor, direction, optionsHash, options, nowMs }: CommitFacts,
  hold: Hold,
): HoldEnd | undefined {
  if (!isAskedFor || direction !== hold.direction) return 'NotAskedFor';
  if (optionsHash !== hold.optionsHash) return 'OptionsChanged';
  return nowMs >= deadlineMs(hold, options) ? 'DeadlineMissed' : undefined;
}

/** When an attempt is given up: milliseconds since 1970. */
export function deadlineMs({ sinceMs }: Hold, { deadlineSeconds }: CommitOptions): number {
  return sinceMs + deadlineSeconds * 1000;
}

/** Everything has its size again, as far as it is there; then the record may go. */
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

/** Only what is at zero gets its size: another one is what somebody else has wanted since then. */
function backTo(now: number, { replicas }: HeldWorkload): number | undefined {
  return now === 0 && replicas > 0 ? replicas : undefined;
}

function scaling(
  { workloads }: Hold,
  views: readonly WorkloadView[],
  sizeOf: (now: number, held: HeldWorkload) => number | undefined,
): CommitPlan | undefined {
  const scalings = workloads.flatMap((held): Scaling[] => {
    const state = stateOf(held, views);
    if (state.kind !== 'found' || state.seen.uid !== held.uid) return [];
    const replicas = sizeOf(state.replicas, held);
    const { kind, name } = held;
    return replicas === undefined ? [] : [{ kind, name, seen: state.seen, replicas }];
  });
  return scalings.length > 0 ? { step: { kind: 'scale', scalings } } : undefined;
}

function stateOf(ref: WorkloadRef, views: readonly WorkloadView[]): WorkloadState {
  const view = views.find(({ kind, name }) => kind === ref.kind && name === ref.name);
  return view?.state ?? { kind: 'missing' };
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

function missed({ deadlineSeconds }: CommitOptions): ConditionCause {
  return {
    reason: 'CommitDeadlineMissed',
    message: `the commit did not happen within ${deadlineSeconds} s, and the workloads were scaled back: to try again, change spec.commit, for example with a new value of spec.commit.attempt`,
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
  const message = `the ${textOf(ref)} cannot be scaled: ${state.description}`;
  return { reason: 'Forbidden', message, level: 'stalled' };
}

function textOf({ kind, name }: WorkloadRef): string {
  return `${kind} ${name}`;
}
