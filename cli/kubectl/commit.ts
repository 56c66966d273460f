import { messageOf, SyncError } from '../../service/errors.ts';
import type { JsonObject } from '../../service/json-fields.ts';
import { durationText } from '../../service/quantities.ts';
import { sleep } from '../../service/sleep.ts';
import { writeError, writeOut } from '../../service/terminal.ts';
import { PatientReading } from '../api/patient-reading.ts';
import { Screen } from '../terminal/screen.ts';
import { commitState, stateBeforeCommit, type CommitState } from './commit-state.ts';
import { Kubectl, syncNamed, type Run } from './kubectl.ts';
import type { CommitOptions } from './options.ts';
import { readSync, type SyncResource } from './resources.ts';

const pollMs = 2_000;

/** The exit code if the user does not confirm. */
const notConfirmed = 2;

/** For a user whose request has no answer. */
const mayBeRequested =
  'the commit may have been requested: look at spec.state before applications write to the source';

/** A refusal of the API server lasts (in the words of kubectl 1.35). */
const refusal = /\((NotFound|Forbidden|Unauthorized)\)/;

/** Nothing was stored: a refusal, one by validation or admission, or no connection at all. */
const notStored =
  /\((NotFound|Forbidden|Unauthorized|BadRequest|Invalid|Conflict)\)| is invalid:|denied the request|connection refused|not on the PATH/;

/** For a user whose ClusterSync is deleted meanwhile. */
const goneWhileRequested =
  'the commit was requested, and its syncers may have accepted it: do not let applications write to the source until you know';

/** For a user who stops waiting. */
const stillRequested =
  'the commit is still requested: the operator commits as soon as it can, so do not let applications write to the source';

/** Requests the commit of a sync: shows its state, asks the user if there is a terminal, and waits if requested. */
export const commitSync: Run<CommitOptions> = async (options, _logger, signal, [name = '']) => {
  const { wait, timeoutSeconds } = options;
  if (timeoutSeconds !== undefined && !wait)
    throw new SyncError('InvalidOption', '--timeout-seconds: applies only with --wait');
  const kubectl = new Kubectl(options);
  const sync = readSync(await kubectl.json(['get', syncNamed(name)], signal));
  writeError(stateBeforeCommit(sync));
  using screen = new Screen();
  if (!options.yes && !(await isConfirmed(sync, screen, signal))) {
    screen.step('that was not yes: nothing was requested');
    return notConfirmed;
  }
  await request(kubectl, name, screen, signal);
  if (!wait) return 0;
  const reading = new PatientReading(
    async (until) => await kubectl.json(['get', syncNamed(name)], until),
    ({ name: error, message }) => error === 'KubectlFailed' && !refusal.test(message),
  );
  await waitForCommit(reading, { screen, timeoutSeconds, signal });
  await writeOut(`ClusterSync ${name}: Committed\n`);
  return 0;
};

/**
 * Requests the commit. An answer can be lost before or after the API server stores the request, which it may do later.
 * @throws SyncError KubectlFailed that says whether it is requested, as far as that is known.
 */
async function request(
  kubectl: Kubectl,
  name: string,
  screen: Screen,
  signal: AbortSignal,
): Promise<void> {
  const patch = JSON.stringify({ spec: { state: 'Committed' } });
  try {
    const args = ['patch', syncNamed(name), '--type=merge', `--patch=${patch}`];
    await writeOut(await kubectl.text(args, signal));
  } catch (error) {
    if (signal.aborted) screen.step(mayBeRequested, 'warning');
    if (!(error instanceof SyncError) || error.name !== 'KubectlFailed') throw error;
    const isRequested = await isRequestedNow(kubectl, name, signal);
    if (!isRequested && notStored.test(error.message)) throw error;
    const known = isRequested ? stillRequested : mayBeRequested;
    throw new SyncError('KubectlFailed', `${known}; ${error.message}`, { cause: error });
  }
}

async function isRequestedNow(
  kubectl: Kubectl,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return readSync(await kubectl.json(['get', syncNamed(name)], signal)).desired === 'Committed';
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** A commit that is already requested needs no confirmation: it cannot be undone. */
async function isConfirmed(
  { desired, readyToCommit }: SyncResource,
  screen: Screen,
  signal: AbortSignal,
): Promise<boolean> {
  if (desired === 'Committed' || !screen.hasKeyboard) return true;
  if (!screen.isInteractive)
    throw new SyncError(
      'InvalidOption',
      '--yes: required here, since standard error is not a terminal that could show the question',
    );
  const question = readyToCommit === 'yes' ? 'Commit?' : 'Not ready. Commit anyway?';
  return (await screen.ask(`${question} It cannot be undone (yes/no):`, signal)).trim() === 'yes';
}

interface Wait {
  readonly screen: Screen;
  readonly timeoutSeconds: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Shows how far the commit is, until it is done.
 * @throws SyncError CommitPending if it takes longer than it may, or needs a person; KubectlFailed.
 */
async function waitForCommit(
  reading: PatientReading<JsonObject>,
  { screen, timeoutSeconds, signal }: Wait,
): Promise<void> {
  const limit =
    timeoutSeconds === undefined ? undefined : AbortSignal.timeout(timeoutSeconds * 1000);
  const until = limit ? AbortSignal.any([signal, limit]) : signal;
  let shown = 'its state is unknown';
  try {
    for (;;) {
      const read = await reading.next(until);
      const { kind, text } = read instanceof SyncError ? unread(read) : commitState(read);
      if (kind === 'committed') return;
      if (kind === 'withdrawn')
        throw new SyncError('CommitPending', `the commit is no longer requested: ${text}`);
      if (kind === 'stalled')
        throw new SyncError('CommitPending', `the commit needs somebody to act: ${text}`);
      if (text !== shown) screen.step(text);
      shown = text;
      await sleep(pollMs, until);
    }
  } catch (error) {
    if (signal.aborted) screen.step(stillRequested, 'warning');
    else if (limit?.aborted === true)
      throw new SyncError(
        'CommitPending',
        `not committed after ${durationText(timeoutSeconds ?? 0)}: ${shown}`,
        { cause: error },
      );
    else if (error instanceof SyncError && error.name === 'KubectlFailed') {
      const known = error.message.includes('(NotFound)') ? goneWhileRequested : stillRequested;
      throw new SyncError('KubectlFailed', `${known}; ${messageOf(error)}`, { cause: error });
    }
    throw error;
  }
}

function unread({ message }: SyncError): CommitState {
  return { kind: 'waiting', text: `its state cannot be read, trying again: ${message}` };
}
