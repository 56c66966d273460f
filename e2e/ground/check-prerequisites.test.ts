import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('check-prerequisites.sh', import.meta.url));

/** What the script and the one that finds a mongod run, of what every Linux has. */
const ofTheSystem = ['sh', 'bash', 'env', 'sed', 'sort', 'dirname', 'tr', 'cut', 'sha256sum'];

describe('the check of what a machine lacks', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-machine-'));
    await mkdir(join(folder, 'bin'));
    for (const name of ofTheSystem) {
      const path = execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
      await symlink(path, join(folder, 'bin', name));
    }
    await isOf('x86_64');
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  /** Puts a program on the machine. */
  async function put(name: string, text: string): Promise<void> {
    await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  }

  /** The machine has a program of a version. */
  async function has(name: string, version: string): Promise<void> {
    await put(name, `echo '${version}'`);
  }

  /** The machine has processors of an architecture. */
  async function isOf(architecture: string): Promise<void> {
    await put('uname', `[ "$1" = -s ] && echo Linux || echo ${architecture}`);
  }

  /** The names of what is missing. */
  function missing(...args: readonly string[]): { status: number | null; names: string[] } {
    const env = { PATH: join(folder, 'bin'), HOME: folder, CLUSTERSYNC_TOOLS: join(folder, 'no') };
    const { status, stderr } = spawnSync(script, args, { env, encoding: 'utf8' });
    const names = [...stderr.matchAll(/^ {2}- (\S+)/gm)].map(([, name = '']) => name);
    return { status, names };
  }

  async function hasNode(): Promise<void> {
    await has('node', 'v20.20.2');
    await has('npm', '10.8.2');
    await has('make', 'GNU Make 4.4');
  }

  it('names all at once, and less for a first look', () => {
    const first = ['Node.js', 'npm', 'make', 'Python', 'pip,'];
    assert.deepEqual(missing('try'), { status: 1, names: first });
    const all = missing();
    assert.deepEqual(all.names.toSorted(), [...first, 'Go'].toSorted());
  });

  it('asks a first look for pip alone where there is no mongod, and for no pip where there is one', async () => {
    await hasNode();
    assert.deepEqual(missing('try'), { status: 1, names: ['Python', 'pip,'] });
    await has('mongod', 'db version v5.0.1');
    assert.deepEqual(missing('try'), { status: 1, names: ['Python', 'pip,'] });
    await has('mongod', 'db version v6.0.27');
    assert.deepEqual(missing('try'), { status: 0, names: [] });
    assert.deepEqual(missing().names, ['Go', 'Python', 'pip,']);
  });

  it('asks for a mongod where none can be downloaded', async () => {
    await hasNode();
    await isOf('aarch64');
    assert.deepEqual(missing('try'), { status: 1, names: ['mongod'] });
  });

  it('names what is too old', async () => {
    await hasNode();
    await has('mongod', 'db version v6.0.27');
    await has('node', 'v18.20.0');
    assert.deepEqual(missing('try'), { status: 1, names: ['Node.js'] });
  });
});
