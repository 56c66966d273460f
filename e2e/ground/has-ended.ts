import type { ChildProcess } from 'node:child_process';

/** Whether a process has ended, or could not be started: no `exit` is to come. */
export function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}
