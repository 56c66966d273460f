import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('mongod-binary.sh', import.meta.url));

describe('the mongod that tests use', () => {
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mongod-'));
    for (const version of ['5.0.31', '7.0.5', '8.0.4']) {
      const program = `#!/bin/sh\necho 'db version v${version}'\n`;
      await writeFile(join(folder, version), program, { mode: 0o755 });
    }
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  /** What the script prints, with paths in the folder for the versions in MONGOD_BINARY. */
  function ask(given: string, ...args: readonly string[]) {
    const env = { ...process.env, MONGOD_BINARY: given.replaceAll('@', `${folder}/`) };
    const { status, stdout, stderr } = spawnSync(script, args, { env, encoding: 'utf8' });
    return { status, path: stdout.trim().replace(`${folder}/`, '@'), stderr };
  }

  const given = [
    ['@8.0.4', [], '@8.0.4', 'the only path'],
    ['8.0=@8.0.4', ['8.0'], '@8.0.4', 'a path by its name'],
    ['7.0=@7.0.5,8.0=@8.0.4', ['8.0'], '@8.0.4', 'the second of two'],
    ['8.0.4=@8.0.4', ['8.0'], '@8.0.4', 'a release of the series'],
    ['7.0=@7.0.5', ['7.0'], '@7.0.5', 'a path in place of a release that is downloaded'],
  ] as const;
  for (const [text, args, path, what] of given)
    it(`is ${what}: ${text}`, () => {
      const answer = ask(text, ...args);
      assert.deepEqual([answer.status, answer.path], [0, path], answer.stderr);
      assert.match(answer.stderr, /from MONGOD_BINARY/);
    });

  it('is that on PATH or the default release, if MONGOD_BINARY has names only', () => {
    const answer = ask('8.0=@8.0.4');
    assert.equal(answer.status, 0);
    assert.match(answer.stderr, /from PATH|6\.0\.27, from the cache of tools/);
  });

  it('is not downloaded where it is only asked whether it is there', () => {
    for (const name of ['6.0', '6.0.5', '7.0']) {
      const { status, stdout, stderr } = spawnSync(script, ['--present', name], {
        env: { ...process.env, CLUSTERSYNC_TOOLS: folder },
        encoding: 'utf8',
      });
      assert.deepEqual([status, stdout], [4, ''], stderr);
      assert.match(stderr, /would be downloaded/);
    }
    assert.equal(ask('8.0=@8.0.4', '--present', '8.0').path, '@8.0.4');
  });

  it('is no server that is older than 6.0', () => {
    const answer = ask('@5.0.31');
    assert.deepEqual([answer.status, answer.path], [1, '']);
    assert.match(answer.stderr, /must name a mongod of version 6\.0 or newer/);
  });

  it('is none that this machine cannot have, which its exit code tells', () => {
    for (const name of ['8.0', '7.1', '6.0.2']) {
      const answer = ask('7.0=@7.0.5', name);
      assert.deepEqual([answer.status, answer.path], [3, '']);
      assert.match(
        answer.stderr,
        new RegExp(`there is no ${name} here: name one in MONGOD_BINARY`),
      );
    }
  });
});
