import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SyncerProcess } from './syncer-process.ts';

const artifacts = fileURLToPath(new URL('../.artifacts/', import.meta.url));

/** Keeps the log of a syncer after a test that has failed. @returns the path. */
export async function keepLog(syncer: SyncerProcess, name: string): Promise<string> {
  await mkdir(artifacts, { recursive: true });
  const path = join(artifacts, `${name}.log`);
  await writeFile(path, await syncer.log());
  return path;
}
