import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { sleep } from '../../service/sleep.ts';

/** How long a command may take to end once told to. */
const endDeadlineMs = 10_000;

/** A command with its arguments. */
export type Command = readonly [string, ...string[]];

/**
 * Runs a command until it ends or is aborted, and returns how it ended: `exit code 0`, or the signal. On abort the
 * command and all that it has started in its process group get SIGTERM, 10 s later SIGKILL.
 * @param output - where its output goes: to that of this process, or to an open file.
 */
export async function runCommand(
  [file, ...args]: Command,
  signal: AbortSignal,
  output: 'inherit' | number = 'inherit',
): Promise<string> {
  if (signal.aborted) return 'not run';
  const child = spawn(file, args, {
    detached: true,
    env: { ...process.env, TEST_RUNNER_PID: String(process.pid) },
    stdio: ['ignore', output, output],
  });
  const ended = new AbortController();
  const stop = (): void => {
    void stopGroup(child.pid, ended.signal);
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    await once(child, 'exit');
    return child.signalCode ?? `exit code ${String(child.exitCode)}`;
  } catch (error) {
    return String(error);
  } finally {
    signal.removeEventListener('abort', stop);
    ended.abort();
    // Whatever it has left running.
    signalGroup(child.pid, 'SIGKILL');
  }
}

async function stopGroup(groupId: number | undefined, ended: AbortSignal): Promise<void> {
  signalGroup(groupId, 'SIGTERM');
  try {
    await sleep(endDeadlineMs, ended);
    signalGroup(groupId, 'SIGKILL');
  } catch {
    // It has ended in time.
  }
}

function signalGroup(groupId: number | undefined, signal: NodeJS.Signals): void {
  try {
    if (groupId !== undefined) process.kill(-groupId, signal);
  } catch {
    // Nobody is left in it.
  }
}
