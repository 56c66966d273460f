import { SyncError } from '../../service/errors.ts';
import type { SyncView } from './records.ts';

/** States of the API (contract, part 3). In IDLE there is no sync. */
export type SyncState = 'IDLE' | SyncView['state'];

/** The commands of the API. */
export type Command = 'start' | 'pause' | 'resume' | 'commit' | 'reverse' | 'repair';

/** The commands without parameters. */
export type PlainCommand = Exclude<Command, 'start' | 'repair'>;

/** What decides whether a command is accepted. */
export interface Situation {
  readonly state: SyncState;
  /** A commit would be accepted: see `commitWord`. */
  readonly canCommit: boolean;
  /** Why not, if more is known than that changes are not applied yet. */
  readonly commitWarnings: readonly string[];
  /** Why a commit would be refused because of a featureCompatibilityVersion; undefined if it would not. */
  readonly versionRefusal: SyncError | undefined;
  /** Nobody waits for the answer. */
  readonly isCallerGone: boolean;
  /** The sync was started with `reversible`. */
  readonly isReversible: boolean;
  /** Why the sync stopped for good; undefined while it runs. */
  readonly failure: SyncError | undefined;
}

interface Transition {
  readonly from: SyncState;
  readonly to: SyncState;
}

/**
 * Every command is accepted in exactly one state, and leads to one other. COMMITTING becomes COMMITTED without a command;
 * nothing else changes the state.
 */
const transitions: Readonly<Record<Command, Transition>> = {
  start: { from: 'IDLE', to: 'RUNNING' },
  pause: { from: 'RUNNING', to: 'PAUSED' },
  resume: { from: 'PAUSED', to: 'RUNNING' },
  commit: { from: 'RUNNING', to: 'COMMITTING' },
  reverse: { from: 'COMMITTED', to: 'RUNNING' },
  repair: { from: 'RUNNING', to: 'RUNNING' },
};

const fixedOptions =
  '. The options of a sync and its filter are fixed: to change them, start over with an empty destination';

/** What remains of a repair once a commit was accepted, which cannot be taken back. */
const insteadOfRepair =
  'once a commit was accepted, no repair is possible: end the sync by a reset with the destination Keep, then start it with initialData: Present, which copies only what differs';

/**
 * The state that a command leads to.
 * @throws SyncError InvalidStateTransition; what stopped the sync, for every command to a sync that has failed;
 * FeatureVersionNotSupported, CannotCommitYet; NotReversible.
 */
export function stateAfter(command: Command, situation: Situation): SyncState {
  const { from, to } = transitions[command];
  const { failure } = situation;
  if (failure && command !== 'start' && !isRepair(command, situation))
    throw command === 'repair' && situation.state === 'COMMITTING'
      ? new SyncError(failure.name, `${failure.message}; ${insteadOfRepair}`, { cause: failure })
      : failure;
  if (situation.state !== from) throw notAllowed(command, situation.state);
  if (command === 'commit' && !situation.canCommit && situation.versionRefusal)
    throw situation.versionRefusal;
  if (command === 'commit' && !situation.canCommit)
    throw new SyncError(
      'CannotCommitYet',
      situation.commitWarnings.length > 0
        ? situation.commitWarnings.join('; ')
        : 'the initial copy or the preparation of a reversal is not complete',
    );
  if (command === 'commit' && situation.isCallerGone)
    throw new SyncError('CannotCommitYet', 'the client closed its connection: nothing was started');
  if (command === 'reverse' && !situation.isReversible)
    throw new SyncError('NotReversible', 'the sync was started without reversible: true');
  return to;
}

/** A repair starts over what has stopped, unless another process has the sync. */
function isRepair(command: Command, { state, failure }: Situation): boolean {
  const isTaken = state === transitions.repair.from;
  return command === 'repair' && isTaken && failure?.name !== 'SupersededByOtherInstance';
}

/** Why a command is not accepted in another state than its own: InvalidStateTransition. */
export function notAllowed(command: Command, state: SyncState): SyncError {
  const { from } = transitions[command];
  const hint =
    command === 'start'
      ? fixedOptions
      : command === 'repair' && state === 'COMMITTING'
        ? `: ${insteadOfRepair}`
        : '';
  return new SyncError(
    'InvalidStateTransition',
    `${command} is allowed in ${from}; the state is ${state}${hint}`,
  );
}

/** @throws SyncError InvalidBody when a command without parameters was given some. */
export function requireNoParameters(command: PlainCommand, body: unknown): void {
  if (typeof body !== 'object' || body === null || Object.keys(body).length > 0)
    throw new SyncError('InvalidBody', `${command} takes no parameters: the body is {}`);
}
