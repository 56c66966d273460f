import type { Logger } from '../../service/logger.ts';
import { SyncError } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';
import { ApiClient } from '../api/api-client.ts';
import type { JsonObject } from '../../service/json-fields.ts';
import { copyInfo } from '../../sync-api/syncer-answers.ts';
import { readMismatch } from '../../sync-api/verifier-answers.ts';
import { withoutTimes, type SyncProgress, type SyncState } from '../api/combine.ts';
import {
  afterCommit,
  cannotBeUndone,
  commitOutcome,
  lacksCommit,
  mayStillCome,
  requireCommitTaken,
} from '../api/commit-outcome.ts';
import { Instances } from '../api/instances.ts';
import { PatientReading } from '../api/patient-reading.ts';
import type { SyncerCommand } from '../api/syncer-api.ts';
import { limitsOf } from '../limit-flags.ts';
import { mismatchLine, VerifierApi } from '../api/verifier-api.ts';
import { fieldLines, formatted } from '../render/formats.ts';
import { plainLine, verificationText, type View } from '../render/frame.ts';
import { countText } from '../../service/quantities.ts';
import { RateMeter } from '../render/rate-meter.ts';
import { Screen } from '../terminal/screen.ts';
import { terminalStyle } from '../terminal/terminal-style.ts';
import {
  addressesOf,
  type ApiOptions,
  type CommandOptions,
  type ProgressOptions,
  type LimitsOptions,
  type RepairOptions,
  type ReportOptions,
  type ResetOptions,
  type StatusOptions,
} from './options.ts';
import { statusText, statusValue } from './status-text.ts';
import { harmless } from '../../service/harmless.ts';
import { errorTerminal, harmlessJson, writeOut } from '../../service/terminal.ts';

const pollMs = 1_000;

/** The state in which each command is accepted, and when it is done. */
const commands: Readonly<
  Record<
    SyncerCommand,
    { readonly from: SyncState; readonly isDone: (sync: SyncProgress) => boolean }
  >
> = {
  pause: { from: 'RUNNING', isDone: ({ state }) => state === 'PAUSED' },
  resume: { from: 'PAUSED', isDone: ({ state }) => state === 'RUNNING' },
  commit: { from: 'RUNNING', isDone: ({ state }) => state === 'COMMITTED' },
  reverse: { from: 'COMMITTED', isDone: ({ canCommit }) => canCommit },
};

/** Prints the state of a sync. */
export async function showStatus(
  options: StatusOptions,
  _logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  const sync = await readSync(instancesOf(options), signal);
  await writeOut(formatted(statusValue(sync), options.output, () => statusText(sync)));
  return 0;
}

/** Sends a command to all instances, and prints the resulting state of the sync. */
export function sendCommand(
  command: SyncerCommand,
): (
  options: StatusOptions & Partial<CommandOptions>,
  logger: Logger,
  signal: AbortSignal,
) => Promise<number> {
  const { from, isDone } = commands[command];
  return async (options, _logger, signal) => {
    const instances = instancesOf(options);
    const before = await readSync(instances, signal);
    requireAccepted(command, before);
    const finish = async (): Promise<void> => {
      if (options.wait === true) await watch(instances, isDone, signal);
      const sync = await instances.ready(signal);
      await writeOut(formatted(statusValue(sync), options.output, () => statusText(sync)));
    };
    if (command === 'commit') await committing(instances, before, finish, signal);
    else {
      await instances.command(command, from, before, signal);
      await finish();
    }
    return 0;
  };
}

/**
 * An instance that is paused while another one has a commit keeps that from being completed.
 * @throws SyncError InvalidStateTransition.
 */
function requireAccepted(command: SyncerCommand, before: SyncProgress): void {
  const { from } = commands[command];
  const { instances, state } = before;
  const isHalfGiven = commitOutcome(before) === 'taken' && lacksCommit(before);
  const refuse = (text: string): never => {
    throw new SyncError('InvalidStateTransition', text);
  };
  if (command === 'pause' && isHalfGiven)
    refuse(`${cannotBeUndone}; some instances do not have it yet: send commit, not pause`);
  if (command === 'pause' && before.commitUnderWay === true && state === from)
    refuse('pause: a commit is under way: wait for its outcome');
  const isSomePaused = instances.some((one) => one.state === 'PAUSED');
  if (command === 'commit' && isHalfGiven && isSomePaused)
    refuse(`${cannotBeUndone}; some instances are PAUSED: resume them, then send commit again`);
  if (command === 'commit' && isSomePaused)
    refuse('commit is allowed where every instance is RUNNING; some are PAUSED: resume them');
  if (!instances.some((one) => one.state === from))
    refuse(`${command} is allowed in ${from}; the state is ${state}`);
}

/**
 * Sends a commit, and does what comes after it.
 * @throws SyncError that says whether the commit may be carried out, whatever has failed.
 */
async function committing(
  instances: Instances,
  before: SyncProgress,
  finish: () => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  let warning = mayStillCome;
  try {
    try {
      await instances.command('commit', commands.commit.from, before, signal);
    } catch (error) {
      await requireCommitTaken(instances, error, signal);
    }
    warning = cannotBeUndone;
    await finish();
  } catch (error) {
    // Ending the command does not undo it.
    if (signal.aborted) warnOf(warning);
    signal.throwIfAborted();
    throw warning === cannotBeUndone ? afterCommit(error, warning) : error;
  }
}

function warnOf(text: string): void {
  using screen = new Screen();
  screen.step(text, 'warning');
}

/** Ends a sync for good, even a failed one: its instances are not asked for their state before. */
export async function resetSync(
  options: ResetOptions,
  _logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  const instances = instancesOf(options);
  await instances.reset({ destination: options.destination }, signal);
  if (options.wait)
    await watch(
      instances,
      ({ instances: all }) => all.every(({ state }) => state === 'IDLE'),
      signal,
    );
  const sync = await instances.ready(signal);
  await writeOut(formatted(statusValue(sync), options.output, () => statusText(sync)));
  return 0;
}

/** Repairs a sync, even one that has stopped: its instances need not report their state before. */
export async function repairSync(
  options: RepairOptions,
  _logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  const instances = instancesOf(options);
  const before = await instances.repairs(signal);
  await instances.repair({ comparison: options.comparison }, signal);
  // A tool that does not count them has said that it has begun.
  const hasBegun = ({ instances: all }: SyncProgress): boolean =>
    all.every(({ repairs }) => repairs === undefined || repairs > before);
  let sync = await instances.ready(signal);
  while (!hasBegun(sync)) {
    await sleep(pollMs, signal);
    sync = await instances.ready(signal);
  }
  if (options.wait) {
    await watch(instances, ({ canCommit }) => canCommit, signal);
    sync = await instances.ready(signal);
  }
  await writeOut(formatted(statusValue(sync), options.output, () => statusText(sync)));
  return 0;
}

/** Replaces the limits of a sync, and prints its state. @throws SyncError InvalidOption unless it is given limits or none. */
export async function changeLimits(
  options: LimitsOptions,
  _logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  const limits = limitsOf(options);
  if ((limits === undefined) !== options.none)
    throw new SyncError(
      'InvalidOption',
      limits === undefined
        ? '--none: give limits, which replace all previous ones, or --none to lift them'
        : '--none: lifts all limits, but others were given',
    );
  const instances = instancesOf(options);
  await instances.limits(limits ?? {}, signal);
  const sync = await instances.ready(signal);
  await writeOut(formatted(statusValue(sync), options.output, () => statusText(sync)));
  return 0;
}

/** Prints the progress of a sync, once or until it is committed. */
export async function showProgress(
  options: ProgressOptions,
  _logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  const instances = instancesOf(options);
  if (options.watch && options.output === 'text') {
    // An address at which nothing answers is not waited for.
    await readSync(instances, signal);
    // The drawing is its only output.
    await watch(
      instances,
      ({ state }) => state === 'COMMITTED',
      signal,
      errorTerminal.requireDrawn,
    );
    return 0;
  }
  const reading = viewsOf(instances, undefined);
  let view: View | SyncError = await viewOf(instances, undefined, signal);
  for (;;) {
    if (!(view instanceof SyncError)) {
      await writeOut(progressText(view, options));
      if (!options.watch || view.sync.state === 'COMMITTED') return 0;
    }
    await sleep(pollMs, signal);
    view = await reading.next(signal);
  }
}

/** A view as it is printed: as JSON that is watched, in one line. */
function progressText(view: View, { watch: isWatched, output }: ProgressOptions): string {
  const value = statusValue(view.sync);
  if (isWatched && output === 'json') return `${harmlessJson(JSON.stringify(value))}\n`;
  const style = terminalStyle(false, process.env);
  const text = formatted(value, output, () => `${plainLine(view, style)}\n`);
  return isWatched ? `---\n${text}` : text;
}

/** Prints the result of a verification. @returns 0 equal, 1 different, 3 not known. */
export async function showReport(
  options: ReportOptions,
  _logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  const { apiToken, output } = options;
  const [address] = addressesOf(options);
  const api = new VerifierApi(new ApiClient(() => address ?? { url: undefined, apiToken }));
  const found = await api.progress(signal);
  const mismatches: JsonObject[] = [];
  for await (const mismatch of api.mismatches(signal)) mismatches.push(mismatch);
  const value = { ...found.reported.raw, mismatches };
  await writeOut(
    formatted(value, output, () =>
      [
        fieldLines({
          verdict: found.verdict ?? 'none yet',
          verification: verificationText(found),
          differences: countText(found.mismatchCount),
        }),
        ...mismatches.map((one) => `  ${harmless(mismatchLine(readMismatch(one)))}\n`),
      ].join(''),
    ),
  );
  switch (found.verdict) {
    case 'equal':
      return 0;
    case 'different':
      return 1;
    case null:
      return 3;
  }
}

function instancesOf(options: ApiOptions): Instances {
  return new Instances(addressesOf(options).map((address) => () => address));
}

/** @throws SyncError if an instance does not answer, or answers that the sync has stopped. */
async function readSync(instances: Instances, signal: AbortSignal): Promise<SyncProgress> {
  const { progress, error } = await instances.read(signal);
  if (error) throw error;
  if (!progress) throw new SyncError('InvalidOption', '--url: no instance was named');
  return progress;
}

interface Meters {
  readonly copied: RateMeter;
  readonly events: RateMeter;
}

async function viewOf(
  instances: Instances,
  meters: Meters | undefined,
  signal: AbortSignal,
): Promise<View> {
  const sync = await readSync(instances, signal);
  const atMs = performance.now();
  if (sync.copiedBytes !== null) meters?.copied.add(sync.copiedBytes, atMs);
  if (sync.eventsApplied !== null) meters?.events.add(sync.eventsApplied, atMs);
  return {
    sync,
    collections: sync.info === copyInfo ? await instances.collections(signal) : undefined,
    verification: undefined,
    commitReadiness: undefined,
    copyBytesPerSecond: meters?.copied.perSecond ?? null,
    eventsPerSecond: meters?.events.perSecond ?? null,
    warning: undefined,
  };
}

/** Views of a sync whose instances may be unreachable for a minute, as while their pods start again. */
function viewsOf(instances: Instances, meters: Meters | undefined): PatientReading<View> {
  return new PatientReading(
    async (signal) => await viewOf(instances, meters, signal),
    ({ row }) => row.retryable,
  );
}

/** Shows the progress until a condition is met. */
async function watch(
  instances: Instances,
  isOver: (sync: SyncProgress) => boolean,
  signal: AbortSignal,
  requireShown?: () => Promise<void>,
): Promise<void> {
  using screen = new Screen();
  const reading = viewsOf(instances, { copied: new RateMeter(), events: new RateMeter() });
  let last: View | undefined;
  for (;;) {
    const read = await reading.next(signal);
    if (read instanceof SyncError) {
      if (last) screen.show({ ...last, sync: withoutTimes(last.sync), warning: read.message });
    } else {
      last = read;
      screen.show(read);
      await requireShown?.();
      if (isOver(read.sync)) return;
    }
    await sleep(pollMs, signal);
  }
}
