import { join } from 'node:path';
import { createGuardedFolder } from '../ground/guarded-folder.ts';
import { runCommand, type Command } from './run-command.ts';
import { addTallies, emptyTally, okExit, readTally, type Tally } from './tally.ts';

/** One part of a test run. */
export interface Stage {
  readonly name: string;
  /**
   * `check`: the command passes or fails as one. `mocha`: the command takes mocha's reporter options as additional
   * arguments, and every test counts.
   */
  readonly kind: 'check' | 'mocha';
  readonly command: Command;
  /** A stage that takes longer has failed. */
  readonly limitSeconds: number;
  /** When it fails, no later stage is run. */
  readonly isRequired?: boolean;
}

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
  await using folder = await createGuardedFolder();
  const file = join(folder.path, 'outcomes');
  const options = ['--reporter', reporter, '--reporter-option', `file=${file}`];
  const command: Command = stage.kind === 'check' ? stage.command : [...stage.command, ...options];
  const end = await runCommand(command, AbortSignal.any([signal, limit]));
  const exit = limit.aborted && end !== okExit ? `over ${stage.limitSeconds} s` : end;
  if (stage.kind === 'mocha') return await readTally(file, stage.name, exit);
  return exit === okExit
    ? { ...emptyTally, passed: 1 }
    : { ...emptyTally, failed: [`${stage.name} (${exit})`] };
}
