import assert from 'node:assert/strict';
import type { Phase } from '../../syncer/store/records.ts';
import type { SyncState } from '../../syncer/store/transitions.ts';

/** How the traces of a sync may look. */
interface TraceOptions {
  /** One of several instances, which may hear of several steps of the others at once. Default: it works alone. */
  readonly isShared?: boolean;
}

/** The phases in their order: those of a sync, and those of a reversal. */
const orders: readonly (readonly Phase[])[] = [
  ['catalog', 'copy', 'changes', 'restoring', 'done'],
  ['handover', 'preparing', 'changes', 'restoring', 'done'],
];

/** In which states work on a phase begins. */
const statesOf: Readonly<Record<Phase, readonly SyncState[]>> = {
  catalog: ['RUNNING'],
  copy: ['RUNNING'],
  changes: ['RUNNING', 'COMMITTING'],
  restoring: ['COMMITTING'],
  done: ['COMMITTED'],
  handover: ['RUNNING'],
  preparing: ['RUNNING'],
};

/**
 * What a process may find of a state that a former one knew: it may have carried out a command, or more of the sync, of which it
 * could not tell any more.
 */
const laterStates: Readonly<Record<SyncState, readonly SyncState[]>> = {
  IDLE: ['IDLE', 'RUNNING'],
  RUNNING: ['RUNNING', 'PAUSED', 'COMMITTING', 'COMMITTED'],
  PAUSED: ['PAUSED', 'RUNNING'],
  COMMITTING: ['COMMITTING', 'COMMITTED'],
  COMMITTED: ['COMMITTED', 'RUNNING'],
};

/** A line of the log, as far as it is read here. */
interface Line {
  readonly msg: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What is known of an instance of a sync, from the lines so far. */
interface Known {
  state: SyncState;
  /** The last phase of which it has told. */
  phase: Phase | undefined;
  /** Whether it has restored since it last applied changes. */
  hasRestored: boolean;
  /** The phase may be told again: work has begun since, or a process. */
  isWorkNew: boolean;
  /** A process has started since the last phase: the one before may have done more than it could tell. */
  isProcessNew: boolean;
  isReady: boolean;
}

/** What a kind of line tells, and what it must not follow. Returns why it is refused. */
type Judge = (
  known: Known,
  fields: Line['fields'],
  options: Required<TraceOptions>,
) => string | undefined;

const judges: Readonly<Record<string, Judge>> = {
  listening: (known) => {
    known.isReady = false;
    known.isProcessNew = true;
    known.isWorkNew = true;
    return undefined;
  },
  ready: (known, { state }) => {
    const found = laterStates[known.state].find((later) => later === state);
    if (found === undefined) return `a process finds ${String(state)} after ${known.state}`;
    known.isReady = true;
    known.state = found;
    return undefined;
  },
  started: (known) => {
    const refused = requireState(known, 'IDLE');
    Object.assign(known, { state: 'RUNNING', phase: undefined, isWorkNew: true });
    return refused;
  },
  phase: judgePhase,
  paused: (known) => {
    const refused = requireState(known, 'RUNNING');
    known.state = 'PAUSED';
    return refused;
  },
  resumed: (known) => {
    const refused = requireState(known, 'PAUSED');
    known.state = 'RUNNING';
    known.isWorkNew = true;
    return refused;
  },
  committing: (known) => {
    // The work may have heard of the commit before the answer to the one that gave it.
    const refused = requireState(known, 'RUNNING', 'COMMITTING', 'COMMITTED');
    if (known.state === 'RUNNING') known.state = 'COMMITTING';
    const hasChanges = known.phase === 'changes' || known.isProcessNew;
    return (
      refused ??
      (hasChanges || known.state !== 'COMMITTING'
        ? undefined
        : `a commit in ${String(known.phase)}`)
    );
  },
  'users may write to the destination': (known) =>
    known.phase === 'restoring' ? undefined : `users may write in ${String(known.phase)}`,
  committed: (known, _, { isShared }) => {
    if (known.phase !== 'done') return `committed in ${String(known.phase)}`;
    return known.hasRestored || isShared ? undefined : 'committed without restoring';
  },
  reversing: (known) => {
    const refused = requireState(known, 'COMMITTED');
    Object.assign(known, { state: 'RUNNING', phase: undefined, isWorkNew: true });
    return refused;
  },
  reversed: (known) =>
    known.phase === 'handover' ? undefined : `reversed in ${String(known.phase)}`,
  repairing: (known) => {
    const refused = requireState(known, 'RUNNING');
    Object.assign(known, { phase: undefined, isWorkNew: true, hasRestored: false });
    return refused;
  },
  reset: (known) => {
    Object.assign(known, { state: 'IDLE', phase: undefined });
    return undefined;
  },
};

/**
 * Judges what a syncer tells of itself: refuses the first line that no syncer can have written after those before it, as a phase
 * that comes back, or a commit that has restored nothing.
 * @param log - of one instance, over all its starts.
 * @returns how many lines were judged. Others say nothing about the progress of a sync.
 */
export function checkTrace(log: string, { isShared = false }: TraceOptions = {}): number {
  const known: Known = {
    state: 'IDLE',
    phase: undefined,
    hasRestored: false,
    isWorkNew: false,
    isProcessNew: false,
    isReady: false,
  };
  let judged = 0;
  for (const [number, text] of log.split('\n').entries()) {
    const line = lineOf(text);
    const judge = line && Object.hasOwn(judges, line.msg) ? judges[line.msg] : undefined;
    if (!line || !judge) continue;
    judged++;
    const refused =
      known.isReady || line.msg === 'listening' || line.msg === 'ready'
        ? judge(known, line.fields, { isShared })
        : 'the stored state has not been read';
    assert.ok(refused === undefined, `line ${number + 1}: ${String(refused)}: ${text}`);
  }
  return judged;
}

/** Undefined for a line that a killed process has not written to its end, and for what is not from the log. */
function lineOf(text: string): Line | undefined {
  if (!text.startsWith('{') || !text.endsWith('}')) return undefined;
  const fields = JSON.parse(text) as Line['fields'];
  const { msg } = fields;
  return typeof msg === 'string' ? { msg, fields } : undefined;
}

function requireState({ state }: Known, ...states: readonly SyncState[]): string | undefined {
  return states.includes(state) ? undefined : `the state was ${state}`;
}

function judgePhase(
  known: Known,
  fields: Line['fields'],
  { isShared }: Required<TraceOptions>,
): string | undefined {
  const phase = Object.keys(statesOf).find((name) => name === fields['phase']) as Phase | undefined;
  const state = phase && statesOf[phase].find((one) => one === fields['state']);
  if (phase === undefined || state === undefined) return 'no such phase in that state';
  const { isProcessNew, isWorkNew } = known;
  if (known.state === 'PAUSED' || known.state === 'IDLE') return `work in ${known.state}`;
  const isLater = laterStates[known.state].includes(state);
  const isTold = known.state === 'COMMITTED' && state !== 'COMMITTED' && !isProcessNew;
  if (!isLater || isTold) return `the state was ${known.state}`;
  const refused = orderOf(known, phase, isShared);
  if (phase === 'changes' || phase === 'handover') known.hasRestored = false;
  if (phase === 'restoring') known.hasRestored = true;
  Object.assign(known, { phase, state, isProcessNew: false, isWorkNew: false });
  return refused === undefined || (isWorkNew && refused === 'again') ? undefined : refused;
}

/** Why a phase must not follow; `again` if it may where work has begun again. */
function orderOf(
  { phase: former, isProcessNew }: Known,
  phase: Phase,
  isShared: boolean,
): string | undefined {
  if (former === undefined || former === phase) return former === undefined ? undefined : 'again';
  // A process that is killed in the command that restarts the work does not tell of it, nor does another instance.
  const mayHaveRestarted = isProcessNew || isShared;
  if (mayHaveRestarted && phase === 'catalog' && former !== 'done') return undefined;
  if (mayHaveRestarted && phase === 'handover' && former === 'done') return undefined;
  if (isShared && former === 'done') return undefined;
  const isNext = orders.some((order) => {
    const [from, to] = [order.indexOf(former), order.indexOf(phase)];
    return from >= 0 && (isShared ? to > from : to === from + 1);
  });
  return isNext ? undefined : `${phase} after ${former}`;
}
