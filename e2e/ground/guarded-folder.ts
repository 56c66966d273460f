import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const guardScript = fileURLToPath(new URL('guard.sh', import.meta.url));

/** Enters itself in the folder's list of processes, then becomes the command. */
const launcher = 'mkdir "$1/pids/$$" && shift && exec "$@"';

/**
 * A temporary folder and the processes that work in it. Both are gone after `remove()`, and also after this process has
 * ended in any other way, SIGKILL included: a guard process watches it.
 */
export interface GuardedFolder extends AsyncDisposable {
  /** Absolute path, `<temporary folder>/clustersync-<uid>-<random>`. */
  readonly path: string;
  /**
   * Starts a program in a session of its own, so that a Ctrl-C does not reach it. Its output is appended to a file of
   * the folder. One of its arguments must contain the folder's path: by this the guard knows it for its own.
   */
  spawn(
    command: string,
    args: readonly string[],
    outputFile: string,
    options?: SpawnOptions,
  ): ChildProcess;
  /** Kills the programs with SIGKILL, waits for their end, and removes the folder. May be called again. */
  remove(): Promise<void>;
}

/** How a program is started in a guarded folder, if otherwise. */
export interface SpawnOptions {
  /**
   * Its standard input can be written to, or it is that of this process: then it stays in the session of this process, where it
   * can read the terminal and Ctrl-C reaches it. Default: there is none.
   */
  readonly input?: 'pipe' | 'inherit';
  /** Another file for its standard error, or that of this process, on descriptor 2. */
  readonly errorFile?: string | 2;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Creates a guarded folder. */
export async function createGuardedFolder(): Promise<GuardedFolder> {
  const guard = spawn(guardScript, [tmpdir()], {
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const children = new Set<ChildProcess>();
  const guardEnd = endOf(guard);
  const path = await firstLine(guard);
  let removal: Promise<void> | undefined;
  const end = async (): Promise<void> => {
    guard.stdin.end();
    await Promise.all([guardEnd, ...Array.from(children, endOf)]);
    if (guard.exitCode !== 0) throw new Error(`could not remove ${path}`);
  };
  const remove = async (): Promise<void> => {
    await (removal ??= end());
  };
  return {
    path,
    spawn(command, args, outputFile, { input, errorFile = outputFile, env } = {}) {
      const output = openSync(join(path, outputFile), 'a');
      const errors = errorFile === 2 ? undefined : openSync(join(path, errorFile), 'a');
      try {
        const child = spawn('/bin/sh', ['-c', launcher, 'sh', path, command, ...args], {
          detached: input !== 'inherit',
          stdio: [input ?? 'ignore', output, errors ?? 'inherit'],
          env: { ...process.env, ...env },
        });
        children.add(child);
        child.once('exit', () => children.delete(child));
        return child;
      } finally {
        closeSync(output);
        if (errors !== undefined) closeSync(errors);
      }
    },
    remove,
    [Symbol.asyncDispose]: remove,
  };
}

async function endOf(child: ChildProcess): Promise<void> {
  await once(child, 'exit');
}

async function firstLine(guard: ChildProcess): Promise<string> {
  if (guard.stdout === null) throw new Error('the guard has no output');
  for await (const line of createInterface(guard.stdout)) return line;
  throw new Error('no temporary folder could be made');
}
