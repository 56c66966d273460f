import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { messageOf, SyncError } from './errors.ts';

/** A file to write. */
export interface PrivateFile {
  readonly path: string;
  /** The option that names it, for errors: `--output`. */
  readonly option: string;
}

/**
 * Writes a file that only its owner may read. It is a new file, which gets the name when it is complete: anyone who may read a
 * file that had the name before, or holds it open, reads nothing of it. A pipe or a device of this user or of root is written
 * to directly.
 * @throws SyncError InvalidOption if it cannot be written, is a symbolic link, which may lead to another user's file, or is a
 * pipe of another user, who would read it; OutputLost if it accepts no more, as on a full disk; what `pieces` throws: then the
 * file that had the name before is left unchanged.
 */
export async function writePrivateFile(
  file: PrivateFile,
  pieces: AsyncIterable<string>,
): Promise<void> {
  const { path } = file;
  if (await isSpecial(file)) {
    const flags = constants.O_WRONLY | constants.O_NOFOLLOW;
    const special = await naming(file, async () => await open(path, flags));
    await writeAll(file, special, pieces, async () => {
      await requireOwn(file, special);
    });
    return;
  }
  const temporary = `${path}.${randomBytes(8).toString('hex')}`;
  const opened = await naming(file, async () => await open(temporary, 'wx', 0o600));
  try {
    await writeAll(file, opened, pieces);
    await naming(file, async () => {
      await rename(temporary, path);
    });
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Whether the path is something other than a file, whose mode does not matter. */
async function isSpecial({ path, option }: PrivateFile): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSymbolicLink() === true)
    throw new SyncError('InvalidOption', `${option}: ${path} is a symbolic link: name the file`);
  return found !== undefined && !found.isFile();
}

async function requireOwn({ path, option }: PrivateFile, opened: FileHandle): Promise<void> {
  // Of what was opened, since the name may lead to something else by now.
  const { uid } = await opened.stat();
  if (uid === 0 || uid === process.getuid?.()) return;
  throw new SyncError('InvalidOption', `${option}: ${path} is a pipe or device of another user`);
}

async function writeAll(
  file: PrivateFile,
  opened: FileHandle,
  pieces: AsyncIterable<string>,
  check?: () => Promise<void>,
): Promise<void> {
  await using held = opened;
  await check?.();
  // Not `write`, which may write a part of it.
  for await (const piece of pieces)
    await keeping(file, async () => {
      await held.writeFile(piece);
    });
  // Some file systems report only now that there was no room.
  await keeping(file, async () => {
    await held.close();
  });
}

async function keeping({ path, option }: PrivateFile, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    const description = `${option}: ${path} takes nothing more: ${messageOf(cause)}`;
    throw new SyncError('OutputLost', description, { cause });
  }
}

async function naming<T>({ path, option }: PrivateFile, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw new SyncError('InvalidOption', `${option}: the file ${path} cannot be written`, {
      cause,
    });
  }
}
