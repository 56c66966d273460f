import { readdirSync, readFileSync } from 'node:fs';

/** Threads were seen to stop after 120 ms at the latest. */
const deadlineMs = 10_000;

/**
 * Stops a process, and returns when none of its threads runs any more: they learn of SIGSTOP one after the other, which took
 * 20 to 120 ms on a loaded machine, and those that still run may answer in the meantime. It blocks until then, so that nothing that the
 * caller holds back is sent before.
 * @throws Error where it has ended, or does not stop.
 */
export function freezeProcess(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  const endMs = performance.now() + deadlineMs;
  while (!isStopped(pid))
    if (performance.now() > endMs) throw new Error(`the process ${pid} does not stop`);
}

function isStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    try {
      const text = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      return text.slice(text.lastIndexOf(')') + 2).startsWith('T');
    } catch (error) {
      // It has ended in the meantime.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
      throw error;
    }
  });
}
