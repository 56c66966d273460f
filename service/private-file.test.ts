import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { constants } from 'node:fs';
import promises, {
  chmod,
  chown,
  lstat,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SyncError } from './errors.ts';
import { writePrivateFile } from './private-file.ts';

describe('writePrivateFile', () => {
  let folder: string;
  let path: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-private-'));
    path = join(folder, 'report');
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  async function* text(...pieces: readonly string[]): AsyncGenerator<string, void> {
    for (const piece of pieces) yield await Promise.resolve(piece);
  }

  async function write(pieces: AsyncIterable<string> = text('one, ', 'two')): Promise<void> {
    await writePrivateFile({ path, option: '--output' }, pieces);
  }

  async function mode(): Promise<number> {
    return (await lstat(path)).mode & 0o777;
  }

  it('creates a file that only its owner may read', async () => {
    await write();
    assert.equal(await mode(), 0o600);
    assert.equal(await readFile(path, 'utf8'), 'one, two');
  });

  it('does so even if others may read the existing file and hold it open', async () => {
    await writeFile(path, 'a former one, which is longer');
    await chmod(path, 0o644);
    await using held = await open(path, 'r');
    await write();
    assert.equal(await mode(), 0o600);
    assert.equal(await readFile(path, 'utf8'), 'one, two');
    assert.equal(await held.readFile('utf8'), 'a former one, which is longer');
    assert.deepEqual(await readdir(folder), ['report']);
  });

  it('does not follow a symbolic link, wherever it leads', async () => {
    const target = join(folder, 'elsewhere');
    for (const isThere of [false, true]) {
      if (isThere) await writeFile(target, 'of somebody else');
      await symlink(target, path);
      await assert.rejects(write(), { name: 'InvalidOption', message: /is a symbolic link/ });
      assert.deepEqual(
        await readFile(target, 'utf8').catch(() => undefined),
        isThere ? 'of somebody else' : undefined,
      );
      await rm(path);
    }
  });

  it('writes to a pipe of the user who runs it, and not to one of another user, who would read the output', async () => {
    execFileSync('mkfifo', [path]);
    // Opened for reading and writing, so that opening does not wait for the other end.
    await using reader = await open(path, 'r+');
    await write(text('to oneself'));
    const { buffer, bytesRead } = await reader.read(Buffer.alloc(100), 0, 100);
    assert.equal(buffer.toString('utf8', 0, bytesRead), 'to oneself');
    const { getuid } = process;
    // Only root can give a pipe away; otherwise this process becomes the other user.
    if (getuid?.() === 0) await chown(path, 65_534, 65_534);
    else process.getuid = () => 65_534;
    try {
      await assert.rejects(write(), { name: 'InvalidOption', message: /of another user/ });
    } finally {
      if (getuid) process.getuid = getuid;
    }
    await using waiting = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    await assert.rejects(waiting.read(Buffer.alloc(1), 0, 1), { code: 'EAGAIN' });
  });

  /** Lets another user put a symbolic link at a path right before it is opened. */
  async function writeBeside(target: string): Promise<unknown> {
    const { open: openReal } = promises;
    let planted = 0;
    promises.open = async (at, ...how) => {
      planted += 1;
      await rm(String(at), { force: true });
      await symlink(target, String(at));
      return await openReal(at, ...how);
    };
    syncBuiltinESMExports();
    try {
      return await write().then(
        () => undefined,
        (error: unknown) => error,
      );
    } finally {
      promises.open = openReal;
      syncBuiltinESMExports();
      assert.equal(planted, 1);
    }
  }

  for (const what of ['nothing', 'a file', 'a pipe'] as const)
    it(`does not follow a symbolic link that has just replaced ${what}`, async () => {
      const target = join(folder, 'elsewhere');
      if (what === 'a file') await writeFile(path, 'a former one');
      if (what === 'a pipe') execFileSync('mkfifo', [path]);
      for (const isThere of [false, true]) {
        if (isThere) await writeFile(target, 'of somebody else');
        const error = await writeBeside(target);
        assert.ok(error instanceof SyncError, String(error));
        assert.equal(error.name, 'InvalidOption');
        const code = what === 'a pipe' ? 'ELOOP' : 'EEXIST';
        assert.equal((error.cause as NodeJS.ErrnoException).code, code);
        assert.equal(
          await readFile(target, 'utf8').catch(() => undefined),
          isThere ? 'of somebody else' : undefined,
        );
        if (what !== 'a pipe') continue;
        await rm(path);
        execFileSync('mkfifo', [path]);
      }
    });

  it('leaves the existing file, and nothing else, if its new content cannot be produced', async () => {
    await writeFile(path, 'a former one');
    const failing = (async function* () {
      yield await Promise.resolve('half of it');
      throw new Error('the store has gone');
    })();
    await assert.rejects(write(failing), /the store has gone/);
    assert.equal(await readFile(path, 'utf8'), 'a former one');
    assert.deepEqual(await readdir(folder), ['report']);
  });

  it('says which option names a file that cannot be written', async () => {
    path = join(folder, 'no-such-folder', 'report');
    await assert.rejects(write(), { name: 'InvalidOption', message: /^--output: the file / });
    path = folder;
    await assert.rejects(write(), { name: 'InvalidOption', message: /^--output: the file / });
  });

  it('writes to a device as it is', async () => {
    path = '/dev/null';
    const before = await lstat(path);
    await write();
    const after = await lstat(path);
    assert.deepEqual([after.ino, after.mode], [before.ino, before.mode]);
  });

  it('reports that the output is lost if a device has no room', async () => {
    path = '/dev/full';
    await assert.rejects(write(), {
      name: 'OutputLost',
      message: /^--output: \/dev\/full takes nothing more: ENOSPC/,
    });
  });

  it('notices if only part of a piece was written, as to a disk that becomes full', async () => {
    await writeFile(path, 'a former one');
    const module = new URL('private-file.ts', import.meta.url).href;
    const script = `
      const { writePrivateFile } = await import('${module}');
      const pieces = (async function* () { yield 'x'.repeat(4096); })();
      const file = { path: process.argv[1], option: '--output' };
      console.log(await writePrivateFile(file, pieces).then(() => 'all', ({ name }) => name));`;
    const node = [process.execPath, '--input-type=module', '--eval', script, path];
    // A file has 1 KiB at most.
    const said = execFileSync('bash', ['-c', 'ulimit -f 1; "$@"', 'bash', ...node]);
    assert.equal(said.toString(), 'OutputLost\n');
    assert.equal(await readFile(path, 'utf8'), 'a former one');
    assert.deepEqual(await readdir(folder), ['report']);
  });
});
