import { globSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { createGuardedFolder } from '../ground/guarded-folder.ts';
import { runCommand, type Command } from './run-command.ts';
import { addTallies, emptyTally, okExit, readTally, type Tally } from './tally.ts';

/** One part of a test run. */
export interface Stage {
  readonly name: string;
  readonly work: Work;
  readonly command: Command;
  /** A stage that takes longer has failed. */
  readonly limitSeconds: number;
  /** When it fails, no later stage is run. */
  readonly isRequired?: boolean;
}

/**
 * `check`: the command passes or fails as one. `mocha`: the command takes mocha's options as additional arguments, and
 * every test counts. `mocha files`: it is run once for each file that the pattern names, `jobs` of them side by side,
 * and the output of each is shown when it has ended.
 */
export type Work =
  | { readonly kind: 'check' }
  | { readonly kind: 'mocha' }
  | { readonly kind: 'mocha files'; readonly pattern: string; readonly jobs: number };

/** Mocha cannot see the terminal that its output comes to in the end. */
const colour = process.stdout.isTTY ? ['--color'] : [];
const reporter = 'e2e/runner/tally-reporter.ts';

/** Runs the stages one after the other, prints headings and times, and returns what came out of all. */
export async function runStages(
  stages: readonly Stage[],
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<Tally> {
  let total = emptyTally;
  let obstacle: string | undefined;
  for (const stage of stages) {
    obstacle = signal.aborted ? 'interrupted' : obstacle;
    if (obstacle !== undefined) {
      print(`\n=== ${stage.name}: not run (${obstacle})`);
      continue;
    }
    print(`\n=== ${stage.name}`);
    const startedAt = performance.now();
    const tally = await runStage(stage, signal);
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const result = tally.failed.length === 0 ? 'passed' : 'FAILED';
    print(`=== ${stage.name}: ${result} in ${seconds} s`);
    total = addTallies(total, tally);
    if (stage.isRequired === true && tally.failed.length > 0) obstacle = `${stage.name} failed`;
  }
  return total;
}

async function runStage(stage: Stage, signal: AbortSignal): Promise<Tally> {
  const limit = AbortSignal.timeout(stage.limitSeconds * 1000);
  const ended = AbortSignal.any([signal, limit]);
  const { work, name, command } = stage;
  const run: RunCommand = async (args, output) => {
    const end = await runCommand([...command, ...args], ended, output);
    return limit.aborted && end !== okExit ? `over ${stage.limitSeconds} s` : end;
  };
  switch (work.kind) {
    case 'check': {
      const exit = await run([]);
      return exit === okExit
        ? { ...emptyTally, passed: 1 }
        : { ...emptyTally, failed: [`${name} (${exit})`] };
    }
    case 'mocha':
      return await runMocha(name, run, []);
    case 'mocha files':
      return await runFiles(stage, work, run, ended);
  }
}

type RunCommand = (args: readonly string[], output?: number) => Promise<string>;

async function runMocha(
  name: string,
  run: RunCommand,
  args: readonly string[],
  output?: number,
): Promise<Tally> {
  await using folder = await createGuardedFolder();
  const file = join(folder.path, 'outcomes');
  const exit = await run(
    [...args, '--reporter', reporter, '--reporter-option', `file=${file}`],
    output,
  );
  return await readTally(file, name, exit);
}

async function runFiles(
  { name }: Stage,
  { pattern, jobs }: Extract<Work, { readonly kind: 'mocha files' }>,
  run: RunCommand,
  signal: AbortSignal,
): Promise<Tally> {
  const files = globSync(pattern).sort();
  if (files.length === 0) return { ...emptyTally, failed: [`${name}: no file is ${pattern}`] };
  await using folder = await createGuardedFolder();
  let total = emptyTally;
  await forEachConcurrently(files.entries(), jobs, async ([index, file]) => {
    if (signal.aborted) return;
    const path = join(folder.path, `output-${index}`);
    await using output = await open(path, 'w');
    const tally = await runMocha(`${name}: ${file}`, run, [...colour, '--spec', file], output.fd);
    // Whole, so that the outputs do not mix.
    process.stdout.write(await readFile(path));
    total = addTallies(total, tally);
  });
  return total;
}
