import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { GuardedFolder } from '../e2e/ground/guarded-folder.ts';

/** Builds the program that the others are compared with, and returns its path. */
export async function buildFloor(folder: GuardedFolder): Promise<string> {
  const floor = `${folder.path}/floor`;
  await promisify(execFile)('go', ['build', '-o', floor, '.'], {
    cwd: fileURLToPath(new URL('floor', import.meta.url)),
    env: { ...process.env, CGO_ENABLED: '0' },
  });
  return floor;
}
