import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../ground/until.ts';

const program = fileURLToPath(new URL('../run-tests.ts', import.meta.url));

describe('npm test -- FILE', () => {
  let folder = '';

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-files-'));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it('runs the tests of the file alone, those that --grep names, with the time limit of their level', async () => {
    const body = '{ console.log("limit", this.timeout()); }';
    for (const [name, limit] of [
      ['a.test.ts', 60_000],
      ['a.integration.ts', 400_000],
    ] as const) {
      const file = join(folder, name);
      await writeFile(
        file,
        `it("one", function () ${body}); it("two", () => { throw new Error(); });`,
      );
      const { output, end } = run([file, '--grep', 'one']);
      assert.equal(await end, 0);
      assert.match(output(), new RegExp(`limit ${limit}\\n(.*\\n)*  1 passing`));
    }
  });

  it('ends with 1 when a test has failed', async () => {
    const file = join(folder, 'a.test.ts');
    await writeFile(file, 'it("one", () => { throw new Error("no"); }); it("two", () => {});');
    const { output, end } = run([file]);
    assert.equal(await end, 1);
    assert.match(output(), /1 passing[^]*1 failing/);
  });

  it('with --watch runs them again when what they import has changed, until it is interrupted', async () => {
    const file = join(folder, 'a.test.ts');
    const imported = join(folder, 'imported.ts');
    await writeFile(imported, 'export const isRight: boolean = true;');
    await writeFile(
      file,
      `import { isRight } from './imported.ts';
       it("is right", () => { console.log("pid " + process.pid); if (!isRight) throw new Error("no"); });`,
    );
    const { output, end, child } = run(['--watch', file]);
    await until('the first run', () => output().includes('1 passing'));
    await writeFile(imported, 'export const isRight: boolean = false;');
    await until('the second run', () => output().includes('1 failing'));
    child.kill('SIGTERM');
    assert.equal(await end, 130);
    for (const [, pid = ''] of output().matchAll(/pid (\d+)/g)) {
      await until(`the end of ${pid}`, async () => {
        // A process that has ended, but was not waited for yet, has an empty command line.
        return (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')) === '';
      });
    }
  });
});

interface Run {
  readonly output: () => string;
  /** Its exit code. */
  readonly end: Promise<unknown>;
  readonly child: ChildProcess;
}

function run(args: readonly string[]): Run {
  const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  const end = once(child, 'close').then(([code]: unknown[]) => code);
  return { output: () => output, end, child };
}
