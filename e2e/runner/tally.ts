import { readFile } from 'node:fs/promises';

/** What became of one test, as the reporter writes it: one JSON text a line. */
export type TestOutcome =
  | { readonly outcome: 'passed'; readonly title: string }
  | { readonly outcome: 'failed'; readonly title: string; readonly details: string }
  | { readonly outcome: 'skipped'; readonly title: string; readonly reason: string }
  /** The last line: the run has come to its end. */
  | { readonly outcome: 'end' };

/** The results of a stage. */
export interface Tally {
  readonly passed: number;
  /** Titles of what failed, each with the reason. */
  readonly failed: readonly string[];
  /** What failed tests have said, whole lines, each text beginning with the title. */
  readonly details: readonly string[];
  readonly skipped: readonly { readonly title: string; readonly reason: string }[];
}

/** Nothing yet. */
export const emptyTally: Tally = { passed: 0, failed: [], details: [], skipped: [] };

/** Adds two tallies up. */
export function addTallies(a: Tally, b: Tally): Tally {
  return {
    passed: a.passed + b.passed,
    failed: [...a.failed, ...b.failed],
    details: [...a.details, ...b.details],
    skipped: [...a.skipped, ...b.skipped],
  };
}

/** The line that ends a test run: `N passed, N failed`, with `, N skipped` where so. */
export function lastLine({ passed, failed, skipped }: Tally): string {
  const line = `${passed} passed, ${failed.length} failed`;
  return skipped.length === 0 ? line : `${line}, ${skipped.length} skipped`;
}

/**
 * Reads what the reporter wrote. A run that wrote nothing, or that broke off, has failed whatever its tests did; so has
 * one that ended with another exit code than its tests explain.
 */
export async function readTally(path: string, stage: string, exit: string): Promise<Tally> {
  let tally = emptyTally;
  let isComplete = false;
  for (const event of await readOutcomes(path)) {
    switch (event.outcome) {
      case 'passed':
        tally = { ...tally, passed: tally.passed + 1 };
        break;
      case 'failed':
        tally = {
          ...tally,
          failed: [...tally.failed, event.title],
          details: [...tally.details, `${event.title}\n${event.details}`],
        };
        break;
      case 'skipped':
        tally = { ...tally, skipped: [...tally.skipped, event] };
        break;
      case 'end':
        isComplete = true;
    }
  }
  if (isComplete && (exit === okExit || tally.failed.length > 0)) return tally;
  const problem = isComplete ? 'ended' : 'broke off';
  return addTallies(tally, { ...emptyTally, failed: [`${stage} ${problem} (${exit})`] });
}

/** How the end of a process without an error is called. */
export const okExit = 'exit code 0';

async function readOutcomes(path: string): Promise<readonly TestOutcome[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch {
    return [];
  }
  // The last line may be cut off.
  const lines = text.split('\n').slice(0, -1);
  // The reporter of this folder is the only writer.
  return lines.map((line) => JSON.parse(line) as TestOutcome);
}
