import { readFile } from 'node:fs/promises';
import type { SyncerProcess } from '../../ground/syncer-process.ts';

/** The most memory that a running syncer has had so far, in bytes. */
export async function peakResidentBytes({ pid }: SyncerProcess): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}
