import type { ChildProcess } from 'node:child_process';

/** Whether a process has ended, or could not be started: it will not emit `exit`. */
export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}
