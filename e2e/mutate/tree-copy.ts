import { execFile } from 'node:child_process';
import { cp, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createGuardedFolder } from '../ground/guarded-folder.ts';

const run = promisify(execFile);

/** A copy of the checkout, with what is not committed. It is gone when it is disposed of, and after any end of this process. */
export interface TreeCopy extends AsyncDisposable {
  /** Absolute path. */
  readonly path: string;
  /** A folder beside it that goes with it. */
  readonly folder: string;
}

/**
 * Copies a checkout as a worktree of Git, with its packages linked.
 * @param root - absolute path of the checkout.
 */
export async function copyTree(root: string): Promise<TreeCopy> {
  const git = async (...args: readonly string[]): Promise<readonly string[]> => {
    const { stdout } = await run('git', args, { cwd: root, maxBuffer: 100_000_000 });
    return stdout.split('\0').filter((line) => line !== '');
  };
  // A copy whose process was killed leaves its name behind: the guard removes the folder alone.
  await git('worktree', 'prune');
  const guarded = await createGuardedFolder();
  const dispose = async (): Promise<void> => {
    await guarded.remove();
    await git('worktree', 'prune');
  };
  try {
    const path = join(guarded.path, 'tree');
    await git('worktree', 'add', '--quiet', '--detach', path, 'HEAD');
    const deleted = await git('diff', '--name-only', '-z', '--diff-filter=D', 'HEAD');
    for (const file of deleted) await rm(join(path, file));
    const changed = [
      ...(await git('diff', '--name-only', '-z', '--diff-filter=d', 'HEAD')),
      ...(await git('ls-files', '-z', '--others', '--exclude-standard')),
    ].filter((file) => file !== 'node_modules');
    for (const file of changed) await cp(join(root, file), join(path, file));
    await symlink(join(root, 'node_modules'), join(path, 'node_modules'));
    return { path, folder: guarded.path, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
