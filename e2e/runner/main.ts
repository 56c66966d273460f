import { messageOf } from '../../service/errors.ts';
import { onInterruption } from './interruption.ts';
import { runStages, type Stage } from './run-stages.ts';
import { addTallies, emptyTally, lastLine, type Tally } from './tally.ts';

/**
 * Runs the stages as a program: prints skips with their reasons, failures, and finally the line with the counts. Exit code: 0 if
 * nothing failed, 130 if it was interrupted, otherwise 1.
 */
export async function runTests(stages: readonly Stage[]): Promise<void> {
  const interruption = onInterruption();
  let total = emptyTally;
  try {
    total = await runStages(stages, print, interruption);
  } catch (error) {
    total = failedAs(total, `the test runner: ${messageOf(error)}`);
  }
  if (interruption.aborted) total = failedAs(total, 'interrupted');
  process.exitCode = interruption.aborted ? 130 : total.failed.length > 0 ? 1 : 0;
  printSummary(total);
}

function printSummary(total: Tally): void {
  print('');
  for (const { title, reason } of total.skipped) print(`skipped: ${title}: ${reason}`);
  for (const text of total.details) print(`--- ${text}\n`);
  for (const title of total.failed) print(`FAILED: ${title}`);
  print(lastLine(total));
}

function failedAs(total: Tally, title: string): Tally {
  return addTallies(total, { ...emptyTally, failed: [title] });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
