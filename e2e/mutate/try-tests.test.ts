import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tryTests, type Trial } from './try-tests.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const config = '.mocharc.json';
const file = 'a.test.ts';
const passing = 'it("passes", () => {});';
const failing = 'it("fails", () => { throw new Error("no"); });';
const isOver = 'the tests are over, but something is still open';

describe('tryTests', function () {
  // Each test starts programs: up to four of them.
  this.timeout(60_000);

  let folder: string;
  let path: string;
  const names = ['MOCHA_END_DEADLINE_MS', 'NODE_OPTIONS', 'PATH'] as const;
  const environment = names.map((name) => [name, process.env[name]] as const);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'trial-'));
    path = join(folder, 'tree');
    mkdirSync(path);
    for (const name of ['node_modules', 'e2e', config, 'package.json'])
      symlinkSync(join(root, name), join(path, name));
    process.env['MOCHA_END_DEADLINE_MS'] = '100';
    process.env['NODE_OPTIONS'] = '--max-old-space-size=100';
  });

  afterEach(() => {
    for (const [name, value] of environment) {
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
    }
    rmSync(folder, { recursive: true });
  });

  async function tryText(text: string, limitSeconds = 60): Promise<Trial> {
    writeFileSync(join(path, file), text);
    return await tryFiles([file], limitSeconds);
  }

  async function tryFiles(files: readonly string[] = [file], limitSeconds = 60): Promise<Trial> {
    const copy = { path, folder, [Symbol.asyncDispose]: () => Promise.resolve() };
    const end = { limitSeconds, isBailing: true };
    return await tryTests(copy, 'unit tests', files, end, new AbortController().signal);
  }

  it('finds no failure where all tests have passed', async () => {
    const { failure, failedFiles } = await tryText(passing);
    assert.deepEqual({ failure, failedFiles }, { failure: undefined, failedFiles: [] });
  });

  it('runs nothing where no test reaches what is changed', async () => {
    rmSync(path, { recursive: true });
    assert.deepEqual(await tryFiles([]), { seconds: 0, failure: undefined, failedFiles: [] });
  });

  it('finds the first test that fails, and its file', async () => {
    const { failure, failedFiles } = await tryText(`${passing} ${failing}`);
    assert.deepEqual({ failure, failedFiles }, { failure: `${file}: fails`, failedFiles: [file] });
  });

  it('finds that the run has come to its limit', async () => {
    const { failure, failedFiles } = await tryText('it("is endless", () => { for (;;); });', 1);
    assert.deepEqual({ failure, failedFiles }, { failure: 'the limit of 1 s', failedFiles: [] });
  });

  for (const [text, expected] of [
    [`${passing} throw new TypeError("no");`, /^a module that cannot be loaded: TypeError: no$/],
    [
      'it("grows", () => { for (const all = []; ; ) all.push(Array(1e5).fill({})); });',
      /^the memory of the process$/,
    ],
    [`${passing} setInterval(() => {}, 1000);`, new RegExp(`^${isOver}: .*Timeout`)],
  ] as const) {
    it(`finds ${expected.source}`, async () => {
      const { failure, failedFiles } = await tryText(text);
      assert.match(failure ?? 'nothing', expected);
      assert.deepEqual(failedFiles, []);
    });
  }

  for (const [end, text] of [
    ['SIGKILL', 'process.kill(process.pid, "SIGKILL")'],
    ['exit code 0', 'process.exit(0)'],
    ['exit code 1', 'process.exit(1)'],
  ] as const) {
    it(`has an error with the last words of a run that ended with ${end} before its tests`, async () => {
      const body = `console.log("${isOver}: words"); ${text};`;
      await assert.rejects(
        tryText(`it("ends", async () => { ${body} });`),
        new RegExp(`ended without a result \\(${end}\\)\\n[^]*words`),
      );
    });
  }

  for (const [what, text] of [
    [config, 'not JSON'],
    ['gone.ts', '{ "require": ["./gone.ts"] }'],
  ] as const) {
    it(`has an error where mocha is configured with ${text}`, async () => {
      rmSync(join(path, config));
      writeFileSync(join(path, config), text);
      await assert.rejects(tryText(passing), new RegExp(`\\(exit code 1\\)[^]*${what}`));
    });
  }

  it('has an error where there is no test file, no mocha, no tree, and no command', async () => {
    await assert.rejects(tryFiles(), /\(exit code 1\)[^]*No test files found/);
    rmSync(join(path, 'node_modules'));
    await assert.rejects(tryText(passing), /\(exit code 1\)[^]*mocha\.js/);
    rmSync(path, { recursive: true });
    await assert.rejects(tryFiles(), /\(exit code 125\)[^]*tree/);
    process.env['PATH'] = folder;
    await assert.rejects(tryFiles(), /\(Error: spawn env ENOENT\)/);
  });
});
