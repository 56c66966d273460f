import { globSync, writeSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { createGuardedFolder } from '../ground/guarded-folder.ts';
import { orderOfFiles } from './file-order.ts';
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
  /** What servers its tests run on, for the summary. */
  readonly servers?: string;
  /** It begins together with the stage before it, where there is one, and its output is shown when it has ended. */
  readonly isBeside?: boolean;
}

/**
 * `check`: the command passes or fails as one. `mocha`: the command takes mocha's options as additional arguments, and
 * every test counts. `mocha files`: it is run once for each file that the pattern names, `jobs` of them side by side, or
 * `jobsAlone` from when no stage beside it runs any more, and the output of each is shown when it has ended. The files whose paths end with
 * those in `first` begin before the others, in that order: what takes longest must not be left to the end. With `beginWithinSeconds`, all begin in another order each day,
 * and those that have not begun after that time of the run are left out, as skipped tests; one of them always begins.
 */
export type Work =
  | { readonly kind: 'check' }
  | { readonly kind: 'mocha' }
  | {
      readonly kind: 'mocha files';
      readonly pattern: string;
      readonly jobs: number;
      /** Not fewer than `jobs`, which it is where it is not given. */
      readonly jobsAlone?: number;
      readonly first?: readonly string[];
      readonly beginWithinSeconds?: number;
    };

/** Mocha cannot see the terminal that its output comes to in the end. */
const colour = process.stdout.isTTY ? ['--color'] : [];
const reporter = 'e2e/runner/tally-reporter.ts';

/** How much of what a failed check beside others has said is shown again at the end of the run. */
const detailLines = 60;

/** How many files are named at the end of a stage: what is worth starting first, or making faster. */
const slowestShown = 20;

type Print = (line: string) => void;

interface Surroundings {
  readonly signal: AbortSignal;
  /** Resolves when the stages beside have ended. */
  readonly isAlone: Promise<unknown>;
}

/**
 * Runs the stages one after the other or side by side, prints headings and times, and returns what came out of each that ran.
 */
export async function runStages(
  stages: readonly Stage[],
  print: Print,
  signal: AbortSignal,
): Promise<ReadonlyMap<Stage, Tally>> {
  const tallies = new Map<Stage, Tally>();
  let obstacle: string | undefined;
  for (const group of groupsOf(stages)) {
    obstacle = signal.aborted ? 'interrupted' : obstacle;
    if (obstacle !== undefined) {
      for (const { name } of group) print(`\n=== ${name}: not run (${obstacle})`);
      continue;
    }
    const ends = group.map(() => Promise.withResolvers<undefined>());
    await forEachConcurrently(group.entries(), group.length, async ([index, stage]) => {
      const run = index === 0 ? runAndPrint : runAndPrintLater;
      const others = ends.toSpliced(index, 1).map(({ promise }) => promise);
      try {
        const tally = await run(stage, print, { signal, isAlone: Promise.all(others) });
        tallies.set(stage, tally);
        if (stage.isRequired === true && tally.failed.length > 0) obstacle = `${stage.name} failed`;
      } finally {
        ends[index]?.resolve(undefined);
      }
    });
  }
  return tallies;
}

/** The stages that run side by side. */
function groupsOf(stages: readonly Stage[]): readonly (readonly Stage[])[] {
  const groups: Stage[][] = [];
  for (const stage of stages) {
    const last = groups.at(-1);
    if (stage.isBeside === true && last !== undefined) last.push(stage);
    else groups.push([stage]);
  }
  return groups;
}

async function runAndPrint(stage: Stage, print: Print, around: Surroundings): Promise<Tally> {
  const startedAt = performance.now();
  print(headingOf(stage));
  const tally = await runStage(stage, around);
  print(resultOf(stage, tally, startedAt));
  return tally;
}

async function runAndPrintLater(stage: Stage, print: Print, around: Surroundings): Promise<Tally> {
  const startedAt = performance.now();
  const { result, text } = await keepingOutput(
    async (output) => await runStage(stage, around, output),
  );
  // At once, so that nothing comes between.
  print(`${headingOf(stage)}\n${text}${resultOf(stage, result, startedAt)}`);
  if (stage.work.kind !== 'check' || result.failed.length === 0) return result;
  const said = text.trimEnd().split('\n').slice(-detailLines);
  return { ...result, details: [[...result.failed, ...said].join('\n')] };
}

function headingOf({ name }: Stage): string {
  return `\n=== ${name}`;
}

function resultOf({ name }: Stage, tally: Tally, startedAt: number): string {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const result = tally.failed.length === 0 ? 'passed' : 'FAILED';
  return `=== ${name}: ${result} in ${seconds} s`;
}

/** Runs something that writes to a file, and gives what it wrote, in whole lines. */
async function keepingOutput<T>(
  run: (output: number) => Promise<T>,
): Promise<{ readonly result: T; readonly text: string }> {
  await using folder = await createGuardedFolder();
  const path = join(folder.path, 'output');
  await using output = await open(path, 'w');
  const result = await run(output.fd);
  const text = await readFile(path, 'utf8');
  return { result, text: text === '' || text.endsWith('\n') ? text : `${text}\n` };
}

async function runStage(
  stage: Stage,
  { signal, isAlone }: Surroundings,
  stageOutput?: number,
): Promise<Tally> {
  const limit = AbortSignal.timeout(stage.limitSeconds * 1000);
  const ended = AbortSignal.any([signal, limit]);
  const { work, name, command } = stage;
  const run: RunCommand = async (args, output = stageOutput) => {
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
      return await runMocha(name, run, stageOutput === undefined ? [] : colour);
    case 'mocha files':
      return await runFiles(stage, work, run, { signal: ended, isAlone }, stageOutput);
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
  {
    pattern,
    jobs,
    jobsAlone = jobs,
    first = [],
    beginWithinSeconds = Infinity,
  }: Extract<Work, { readonly kind: 'mocha files' }>,
  run: RunCommand,
  { signal, isAlone }: Surroundings,
  stageOutput?: number,
): Promise<Tally> {
  const show = (text: string): void => {
    if (stageOutput === undefined) process.stdout.write(text);
    else writeSync(stageOutput, text);
  };
  const files = orderOfFiles(globSync(pattern), first, beginWithinSeconds !== Infinity);
  if (files.length === 0) return { ...emptyTally, failed: [`${name}: no file is ${pattern}`] };
  let total = emptyTally;
  const left = files.values();
  const times: { readonly file: string; readonly seconds: number }[] = [];
  let isFirst = true;
  let endedBefore = 0;
  const leaveOut = (title: string, reason: string): void => {
    total = addTallies(total, { ...emptyTally, skipped: [{ title, reason }] });
  };
  const runFile = async (file: string): Promise<void> => {
    if (signal.aborted) {
      endedBefore++;
      return;
    }
    // Counted from the beginning of this process.
    const startedAt = performance.now();
    // Each stage shows something.
    if (startedAt > beginWithinSeconds * 1000 && !isFirst) {
      const minutes = beginWithinSeconds / 60;
      leaveOut(file, `not begun within ${minutes} minutes of the run: this machine is too slow`);
      return;
    }
    isFirst = false;
    const { result, text } = await keepingOutput(
      async (output) =>
        await runMocha(`${name}: ${file}`, run, [...colour, '--spec', file], output),
    );
    show(text);
    times.push({ file, seconds: (performance.now() - startedAt) / 1000 });
    total = addTallies(total, result);
  };
  const begun = forEachConcurrently(left, jobs, runFile);
  const more = Promise.race([begun, isAlone]).then(async () => {
    await forEachConcurrently(left, jobsAlone - jobs, runFile);
  });
  await Promise.all([begun, more]);
  if (endedBefore > 0)
    leaveOut(`${name}: ${endedBefore} files`, 'not begun before the stage was ended');
  const slowest = times.toSorted((left, right) => right.seconds - left.seconds);
  show('the files that took longest, in seconds:\n');
  for (const { file, seconds } of slowest.slice(0, slowestShown))
    show(`${seconds.toFixed(1).padStart(8)}  ${file}\n`);
  return total;
}
