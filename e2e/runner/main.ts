import { messageOf } from '../../service/errors.ts';
import { onInterruption } from './interruption.ts';
import { runStages, type Stage } from './run-stages.ts';
import { addTallies, emptyTally, lastLine, type Tally } from './tally.ts';

/**
 * Runs the stages as a program: prints skips with their reasons, failures, which servers the tests ran on, and finally the line
 * with the counts. Exit code: 0 if nothing failed, 130 if it was interrupted, otherwise 1.
 * @returns the result of each stage that ran.
 */
export async function runTests(stages: readonly Stage[]): Promise<ReadonlyMap<Stage, Tally>> {
  const interruption = onInterruption();
  let tallies: ReadonlyMap<Stage, Tally> = new Map();
  let total = emptyTally;
  try {
    tallies = await runStages(stages, print, interruption);
    total = [...tallies.values()].reduce(addTallies, total);
  } catch (error) {
    total = failedAs(total, `the test runner: ${messageOf(error)}`);
  }
  if (interruption.aborted) total = failedAs(total, 'interrupted');
  process.exitCode = interruption.aborted ? 130 : total.failed.length > 0 ? 1 : 0;
  const matrix = stages.flatMap((stage) => {
    const { servers } = stage;
    const tally = tallies.get(stage);
    if (servers === undefined) return [];
    return `servers: ${servers}: ${tally === undefined ? 'not run' : lastLine(tally)}`;
  });
  printSummary(total, matrix);
  return tallies;
}

function printSummary(total: Tally, matrix: readonly string[]): void {
  print('');
  for (const { title, reason } of total.skipped) print(`skipped: ${title}: ${reason}`);
  for (const text of total.details) print(`--- ${text}\n`);
  for (const title of total.failed) print(`FAILED: ${title}`);
  for (const line of matrix) print(line);
  print(lastLine(total));
}

function failedAs(total: Tally, title: string): Tally {
  return addTallies(total, { ...emptyTally, failed: [title] });
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
