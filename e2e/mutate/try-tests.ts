import { closeSync, existsSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runCommand } from '../runner/run-command.ts';
import { mocha } from '../runner/run-files.ts';
import { okExit } from '../runner/tally.ts';
import type { TreeCopy } from './tree-copy.ts';

/** A level of tests. */
export type Level = 'unit tests' | 'integration specs';

/** More than a test has by itself: on a busy machine, a slow test would be taken for one that fails. */
const unitTimeoutMs = 60_000;

const options: Readonly<Record<Level, readonly string[]>> = {
  'unit tests': ['--config', '.mocharc.json', '--timeout', String(unitTimeoutMs)],
  'integration specs': ['--config', 'e2e/integration.mocharc.json'],
};

/** What became of a run of tests. */
export interface Trial {
  readonly seconds: number;
  /** What failed: a file with its test that did, or how the run ended; undefined where all have passed. */
  readonly failure: string | undefined;
  /** The files of the tests that failed; empty where the run did not come to its end. */
  readonly failedFiles: readonly string[];
}

/** How a run of tests ends. */
export interface TrialEnd {
  /** A run that takes longer is ended, and has failed: a change may make an endless loop. */
  readonly limitSeconds: number;
  /** Whether the first failure ends it. */
  readonly isBailing: boolean;
}

/** Mocha's report, as far as it is read. */
interface Report {
  readonly failures: readonly { readonly file?: string; readonly fullTitle: string }[];
}

/** Runs test files in a copy of the tree. Rejects when the signal is aborted. */
export async function tryTests(
  { path, folder }: TreeCopy,
  level: Level,
  files: readonly string[],
  { limitSeconds, isBailing }: TrialEnd,
  signal: AbortSignal,
): Promise<Trial> {
  const report = join(folder, 'report.json');
  rmSync(report, { force: true });
  const output = openSync(join(folder, 'output'), 'w');
  const limit = AbortSignal.timeout(limitSeconds * 1000);
  const beganAtMs = performance.now();
  try {
    const end = await runCommand(
      [
        ...(['env', '--chdir', path] as const),
        ...[process.execPath, mocha, ...options[level], ...(isBailing ? ['--bail'] : [])],
        ...['--reporter', 'json', '--reporter-option', `output=${report}`],
        ...files,
      ],
      AbortSignal.any([signal, limit]),
      output,
    );
    signal.throwIfAborted();
    const seconds = Math.round((performance.now() - beganAtMs) / 1000);
    // A process whose tests wait for nothing that could come ends as if all were well.
    if (end === okExit && existsSync(report))
      return { seconds, failure: undefined, failedFiles: [] };
    if (limit.aborted)
      return { seconds, failure: `the limit of ${limitSeconds} s`, failedFiles: [] };
    const failures = failuresIn(report, path);
    const [first] = failures;
    const failure = first ? `${first.file}: ${first.title}` : `a run that broke off (${end})`;
    return { seconds, failure, failedFiles: [...new Set(failures.map(({ file }) => file))] };
  } finally {
    closeSync(output);
  }
}

interface Failure {
  /** From the root of the copy. */
  readonly file: string;
  readonly title: string;
}

function failuresIn(report: string, root: string): readonly Failure[] {
  if (!existsSync(report)) return [];
  const { failures } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  return failures.map(({ file = 'a hook', fullTitle }) => ({
    file: file.replace(`${root}/`, ''),
    title: fullTitle,
  }));
}
