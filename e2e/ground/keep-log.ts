import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const artifacts = fileURLToPath(new URL('../.artifacts/', import.meta.url));

/** Keeps the log of a program after a test that has failed. @returns the path. */
export async function keepLog(program: { log(): Promise<string> }, name: string): Promise<string> {
  await mkdir(artifacts, { recursive: true });
  const path = join(artifacts, `${name}.log`);
  await writeFile(path, await program.log());
  return path;
}
