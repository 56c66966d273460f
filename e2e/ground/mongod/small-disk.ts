import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createGuardedFolder } from '../guarded-folder.ts';

const run = promisify(execFile);

/** Mounts a file system in memory, of the size $1, on the folder $2, then becomes the command after them. */
const mountScript = 'mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@"';

/**
 * A command that runs a program with a file system of its own, in memory, on a folder. Nobody else sees it, and it is gone with
 * the program, killed or not: both have a mount namespace of their own, for which no root is needed.
 */
export function withSmallDisk(
  folder: string,
  bytes: number,
  command: readonly string[],
): readonly [string, ...string[]] {
  const own = ['--map-root-user', '--mount', 'sh', '-c', mountScript, 'sh'];
  return ['unshare', ...own, String(bytes), folder, ...command];
}

/** Gives the file system that {@link withSmallDisk} has made another size. */
export async function resizeDisk(pid: number, folder: string, bytes: number): Promise<void> {
  const inside = ['--target', String(pid), '--user', '--mount'];
  await run('nsenter', [...inside, 'mount', '-o', `remount,size=${bytes}`, folder]);
}

/**
 * Why this machine cannot mount one for a server; undefined if it can. Wine opens files in a process of its own, which does not see
 * the mount: its mongod ends with "File not found" (tried with 7.0.28).
 * @param server - the path of its program: that of Wine is a shell script.
 */
export async function noSmallDisk(server: string): Promise<string | undefined> {
  const start = (await readFile(server)).subarray(0, 2).toString();
  if (start === '#!') return 'a server under Wine does not see a file system of its own';
  await using folder = await createGuardedFolder();
  const [program, ...args] = withSmallDisk(folder.path, 1_000_000, ['true']);
  try {
    await run(program, args);
    return undefined;
  } catch (error) {
    const { message } = error as Error;
    return `no file system can be mounted: ${message.trim().split('\n').at(-1) ?? ''}`;
  }
}
