import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { optionsDigest } from '../../sync-api/options-digest.ts';
import { writeOut } from '../../service/terminal.ts';
import type { CheckFinding, StartBody } from '../../sync-api/json.ts';
import { formatted } from '../render/formats.ts';
import { Programs } from '../run/programs.ts';
import { connectionsOf, reachEach, type Sides } from '../run/reach.ts';
import { startBodyOf } from '../run/start-body.ts';
import { Screen } from '../terminal/screen.ts';
import { checkExitCode } from './exit-code.ts';
import { checkText } from './findings-text.ts';
import type { CheckFormat, CheckOptions } from './options.ts';
import { sarifLog } from './sarif.ts';

/**
 * Checks both deployments before a migration, and prints all that was found. Changes nothing; what measuring the copy writes is
 * dropped.
 * @returns the exit code.
 * @throws SyncError if nothing can be checked: InvalidStateTransition if the sync has begun.
 */
export async function checkMigration(
  options: CheckOptions,
  _logger: Logger,
  signal: AbortSignal,
): Promise<number> {
  using screen = new Screen();
  const body = startBodyOf(options);
  screen.step('inspecting both deployments');
  const findings = await findingsOf(options, body, screen, signal);
  screen[Symbol.dispose]();
  await writeOut(outputOf(findings, options.output));
  return canStart(findings) ? checkExitCode.done : checkExitCode.blocked;
}

async function findingsOf(
  options: CheckOptions,
  body: StartBody,
  screen: Screen,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  const { source, destination } = await reachEach(connectionsOf(options), signal);
  if (source instanceof SyncError || destination instanceof SyncError)
    return unreachable({ source, destination });
  await using programs = await Programs.open({
    options,
    digest: optionsDigest(body),
    isTried: true,
    logFile: options.logFile,
    onWarning: (text) => {
      screen.step(text, 'warning');
    },
  });
  const instances = await programs.startSyncers(source, signal);
  await instances.ready(signal);
  try {
    return (await instances.check(body, options, signal)).findings;
  } catch (error) {
    // The options contradict each other: nothing else can be reported.
    if (error instanceof SyncError && error.row.status === 400) return [blockerOf(error)];
    throw error;
  }
}

/** Nothing is known of the other deployment's fitness then, except that it can be reached. */
function unreachable(sides: Sides<unknown>): CheckFinding[] {
  return (['source', 'destination'] as const).flatMap((side) => {
    const error = sides[side];
    return error instanceof SyncError ? [blockerOf(error, side)] : [];
  });
}

function blockerOf(error: SyncError, side?: 'source' | 'destination'): CheckFinding {
  const { name, message, row } = error;
  return { severity: 'blocker', name, ...(side && { side }), message, action: row.action };
}

function canStart(findings: readonly CheckFinding[]): boolean {
  return !findings.some(({ severity }) => severity === 'blocker');
}

function outputOf(findings: readonly CheckFinding[], format: CheckFormat): string {
  if (format === 'sarif') return formatted(sarifLog(findings), 'json', () => '');
  const value = { canStart: canStart(findings), findings };
  return formatted(value, format, () => checkText(findings));
}
