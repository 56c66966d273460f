import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs';
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
  /** What failed: a file with its test that did, or how the program broke; undefined where all have passed, however few. */
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

/** How much of the end of the output is read. */
const maxOutputBytes = 64 * 1024;

/**
 * Runs test files in a copy of the tree. Only what is proven is a failure: a test that failed, the limit, a module that
 * cannot be loaded, memory that grows until V8 ends the process, or something that the tests have left open.
 * @throws Error where the run ended otherwise without a result: it could not be started, for example, or was killed. Rejects
 * when the signal is aborted, too.
 */
export async function tryTests(
  { path, folder }: TreeCopy,
  level: Level,
  files: readonly string[],
  { limitSeconds, isBailing }: TrialEnd,
  signal: AbortSignal,
): Promise<Trial> {
  // Mocha would look for files of its own.
  if (files.length === 0) return { seconds: 0, failure: undefined, failedFiles: [] };
  const report = join(folder, 'report.json');
  rmSync(report, { force: true });
  const output = openSync(join(folder, 'output'), 'w+');
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
    const failures = failuresIn(report, path);
    const failedFiles = [...new Set(failures?.map(({ file }) => file))];
    if (failures?.length === 0 && end === okExit)
      return { seconds, failure: undefined, failedFiles };
    const [first] = failures ?? [];
    if (first) return { seconds, failure: `${first.file}: ${first.title}`, failedFiles };
    const text = endOf(output);
    const failure = limit.aborted
      ? `the limit of ${limitSeconds} s`
      : breakIn(text, failures, path);
    if (failure !== undefined) return { seconds, failure, failedFiles };
    throw new Error(`the ${level} ended without a result (${end})\n${text}`);
  } finally {
    closeSync(output);
  }
}

interface Failure {
  /** From the root of the copy. */
  readonly file: string;
  readonly title: string;
}

/** The failures of a run that came to its end; undefined where it did not. */
function failuresIn(report: string, root: string): readonly Failure[] | undefined {
  if (!existsSync(report)) return undefined;
  const { failures } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  return failures.map(({ file = 'a hook', fullTitle }) => ({
    file: file.replace(`${root}/`, ''),
    title: fullTitle,
  }));
}

/** How the program under test broke, if the output proves that it did. */
function breakIn(
  output: string,
  failures: readonly Failure[] | undefined,
  root: string,
): string | undefined {
  // Of mocha-hooks.ts.
  const open = /^the tests are over, but something is still open: .*$/m.exec(output);
  if (failures !== undefined) return open?.[0];
  // Of V8.
  if (/^FATAL ERROR: .* JavaScript heap out of memory$/m.test(output))
    return 'the memory of the process';
  // Of mocha. It says so as well of what is no file of the tree.
  const loading = /^ Exception during run: ([^]*)$/m.exec(output)?.[1];
  return loading?.includes(`${root}/`)
    ? `a module that cannot be loaded: ${loading.split('\n', 1)[0]}`
    : undefined;
}

/** The end of what a file holds. */
function endOf(file: number): string {
  const position = Math.max(0, fstatSync(file).size - maxOutputBytes);
  const bytes = Buffer.alloc(maxOutputBytes);
  return bytes.toString('utf8', 0, readSync(file, bytes, { position }));
}
