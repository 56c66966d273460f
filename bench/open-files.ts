import { readFileSync } from 'node:fs';

/** What is dropped keeps its files open for minutes. */
const withDropped = 2;

/**
 * Why so many collections are too many for a mongod on this machine: it keeps a file open for each of them and for each
 * index, and ends where it may not. Undefined where they are not too many.
 */
export function tooManyFiles(collections: number, filesEach: number): string | undefined {
  const limits = readFileSync('/proc/self/limits', 'utf8');
  const allowed = Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  const needed = collections * filesEach * withDropped;
  return needed <= allowed
    ? undefined
    : `${collections} collections need ${needed} open files, ${allowed} are allowed (ulimit -n)`;
}
