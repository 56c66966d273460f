import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { sleep } from '../service/sleep.ts';

/** On Linux, the same on every platform that Node supports. */
const ticksPerSecond = 100;
const sampleMs = 50;

/** The resources that processes have used. */
export interface Usage {
  readonly cpuSeconds: number;
  /** The peak resident memory of each process, added up. */
  readonly peakMebibytes: number;
}

/** CPU seconds that a process has used so far, in user and kernel mode; 0 if it has ended. */
export async function cpuSecondsOf(pid: number | undefined): Promise<number> {
  const text = await readProc(pid, 'stat');
  // The second field is the name in brackets; utime and stime are fields 14 and 15.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond;
}

/** Milliseconds that the main thread of a running process has waited for a core so far. Read synchronously, to be exact. */
export function coreWaitMsOf(pid: number): number {
  // Nanoseconds on a core, nanoseconds of waiting for one, how often it was on one (Linux, sched-stats).
  const [, waited] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(waited) / 1e6;
}

/** The peak resident memory of a process; 0 if it has ended. */
export async function peakMebibytesOf(pid: number | undefined): Promise<number> {
  return peakIn(await readProc(pid, 'status')) / 1_024;
}

/**
 * Watches processes until `run` has ended. A process that ends earlier is counted as it was at most 50 ms before its
 * end.
 */
export async function usageOf(
  pids: () => readonly (number | undefined)[],
  run: () => Promise<void>,
): Promise<Usage> {
  const known = new Map<number, { first: number; last: number; peak: number }>();
  const sample = async (isFirst: boolean): Promise<void> => {
    for (const pid of pids()) {
      if (pid === undefined) continue;
      const cpu = await cpuSecondsOf(pid);
      const peak = peakIn(await readProc(pid, 'status'));
      // A process that appears later was started during the work.
      const entry = known.get(pid) ?? { first: isFirst ? cpu : 0, last: cpu, peak };
      if (cpu >= entry.last)
        known.set(pid, { ...entry, last: cpu, peak: Math.max(entry.peak, peak) });
    }
  };
  await sample(true);
  const ended = new AbortController();
  const watching = (async () => {
    while (!ended.signal.aborted) {
      await sleep(sampleMs, ended.signal).catch(() => undefined);
      await sample(false);
    }
  })();
  try {
    await run();
  } finally {
    ended.abort();
    await watching;
  }
  const all = [...known.values()];
  return {
    cpuSeconds: all.reduce((sum, { first, last }) => sum + last - first, 0),
    peakMebibytes: all.reduce((sum, { peak }) => sum + peak, 0) / 1_024,
  };
}

function peakIn(status: string): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
}

async function readProc(pid: number | undefined, file: string): Promise<string> {
  if (pid === undefined) return '';
  try {
    return await readFile(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}
