import assert from 'node:assert/strict';
import {
  chmod,
  lstat,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

  it('makes a file that its owner alone may read', async () => {
    await write();
    assert.equal(await mode(), 0o600);
    assert.equal(await readFile(path, 'utf8'), 'one, two');
  });

  it('makes it so where others may read the file that was there, and hold it open', async () => {
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

  it('leaves what was there, and nothing else, where what is to be written fails', async () => {
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
});
