import { messageOf } from '../../service/errors.ts';
import { onInterruption } from './interruption.ts';
import { runStages, type Stage } from './run-stages.ts';
import { addTallies, emptyTally, lastLine, type Tally } from './tally.ts';

/**
 * Runs the stages as a program: prints skips with their reasons, failures, what was run on which servers, and last of all the line
 * with the counts. Exit code 0 when nothing failed, 130 when it was interrupted, else 1.
 * @returns what came out of each stage that ran, by its name.
 */
export async function runTests(stages: readonly Stage[]): Promise<ReadonlyMap<string, Tally>> {
  const interruption = onInterruption();
  let tallies: ReadonlyMap<string, Tally> = new Map();
  let total = emptyTally;
  try {
    tallies = await runStages(stages, print, interruption);
    total = [...tallies.values()].reduce(addTallies, total);
  } catch (error) {
    total = failedAs(total, `the test runner: ${messageOf(error)}`);
  }
  if (interruption.aborted) total = failedAs(total, 'interrupted');
  process.exitCode = interruption.aborted ? 130 : total.failed.length > 0 ? 1 : 0;
  const matrix = stages.flatMap(({ name, servers }) => {
    const tally = tallies.get(name);
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
