import { readFile } from 'node:fs/promises';

/** The most memory that a running process has had so far, in bytes; 0 where it has ended. */
export async function peakResidentBytes(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
}
