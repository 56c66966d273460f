import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { until } from '../ground/until.ts';
import type { Stage } from './run-stages.ts';

const program = fileURLToPath(new URL('run-given-stages.ts', import.meta.url));
const skipModule = new URL('skip.ts', import.meta.url).href;
const hooks = './e2e/runner/mocha-hooks.ts';

const pass: Stage = check('pass', 'process.exit(0)');
const fail: Stage = check('fail', 'process.exit(1)');

describe('the test runner', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-runner-'));
  });
  after(async () => {
    await rm(folder, { recursive: true });
  });

  const specs: readonly (readonly [what: string, spec: string, lastLine: string, said: RegExp])[] =
    [
      ['counts tests', 'it("a", () => {}); it("b", () => {});', '2 passed, 0 failed', /✔ a/],
      [
        'counts failures, and continues',
        'it("a", () => { throw new Error("no\\n moon"); }); it("b", () => {});',
        '1 passed, 1 failed',
        /FAILED: a: no moon\n/,
      ],
      [
        'says why a test was skipped',
        `import { skipBecause } from ${JSON.stringify(skipModule)};
       it("a", function () { skipBecause(this, "no moon"); }); it("b", () => {});`,
        '1 passed, 0 failed, 1 skipped',
        /skipped: a: no moon\n/,
      ],
      [
        'says why a suite was skipped',
        `import { skipBecause } from ${JSON.stringify(skipModule)};
       describe("s", () => {
         before(function () { skipBecause(this, "no moon"); });
         it("a", () => {});
         describe("t", () => { it("b", () => {}); });
       });`,
        '0 passed, 0 failed, 2 skipped',
        /skipped: s a: no moon\nskipped: s t b: no moon\n/,
      ],
      [
        'takes a skip without a reason for a failure',
        'it.skip("a", () => {}); it("b", () => {});',
        '1 passed, 1 failed',
        /FAILED: a \(skipped without a reason/,
      ],
      [
        'takes a hook that fails for a failure',
        'describe("s", () => { before(() => { throw new Error("no"); }); it("a", () => {}); });',
        '0 passed, 1 failed',
        /FAILED: s "before all" hook/,
      ],
      [
        'takes an unhandled rejection for a failure of the test that runs',
        `it("a", async () => {
         void Promise.reject(new Error("lost"));
         // If it ended while the next one runs, that would fail, too.
         await new Promise(() => {});
       });
       it("b", () => {});`,
        '1 passed, 1 failed',
        /lost/,
      ],
      [
        'takes an unhandled rejection that the last test leaves behind for a failure',
        'it("a", () => { void Promise.reject("lost"); });',
        '1 passed, 1 failed',
        /lost/,
      ],
      [
        'takes a crash for a failure, and keeps what was counted before',
        'it("a", () => {}); it("b", () => { process.exit(0); });',
        '1 passed, 1 failed',
        /FAILED: specs broke off \(exit code 0\)/,
      ],
      [
        'takes a file that cannot be loaded for a failure',
        'import "./not-there.mjs";',
        '0 passed, 1 failed',
        /FAILED: specs broke off \(exit code [1-9]/,
      ],
      [
        'takes a file without tests for a failure',
        'describe("nothing", () => {});',
        '0 passed, 1 failed',
        /FAILED: specs ended \(exit code 1\)/,
      ],
      [
        'does not let .only pass',
        'it.only("a", () => {}); it("b", () => {});',
        '0 passed, 1 failed',
        /`\.only` is not supported|`\.only`/,
      ],
    ];
  specs.forEach(([what, spec, expected, said], index) => {
    it(what, async () => {
      const file = join(folder, `${index}.mjs`);
      await writeFile(file, spec);
      const { lastLine, output, code } = await run([mochaStage(file)]);
      assert.equal(lastLine, expected);
      assert.match(output, said);
      assert.equal(code, expected.includes(' 0 failed') ? 0 : 1);
    });
  });

  it('takes what is left open for a failure', async () => {
    const file = join(folder, 'open.mjs');
    await writeFile(file, 'it("a", () => { setInterval(() => {}, 60_000); });');
    // What is open stays open: it does not matter how soon it is checked.
    const { lastLine, output, code } = await run([mochaStage(file)], {
      MOCHA_END_DEADLINE_MS: '200',
    });
    assert.equal(lastLine, '1 passed, 1 failed');
    assert.match(output, /something is still open: .*Timeout/);
    assert.equal(code, 1);
  });

  it('continues after a check that fails', async () => {
    const { lastLine, code } = await run([fail, pass]);
    assert.equal(lastLine, '1 passed, 1 failed');
    assert.equal(code, 1);
  });

  it('shows again at the end what a failed check beside others has said last', async () => {
    const talking = check(
      'talking',
      'for (let n = 1; n <= 100; n++) console.log("line", n); process.exit(3)',
    );
    const { output } = await run([pass, { ...talking, isBeside: true }]);
    assert.match(output, /=== talking\nline 1\nline 2\n/);
    assert.match(
      output,
      /\n--- talking \(exit code 3\)\nline 41\nline 42\n(line \d+\n)+\nFAILED: talking/,
    );
  });

  it('runs files side by side, and shows the output of each as a whole', async () => {
    const files = join(folder, 'files');
    await mkdir(files);
    // Each waits for what the other one writes.
    const waiting = (own: string, other: string, end: string): string => `
      import { existsSync, writeFileSync } from 'node:fs';
      it("begins ${own}", async () => {
        console.log("${own} 1");
        ${mark(join(files, own))}
        ${awaitMark(join(files, other))}
        console.log("${own} 2");
      });
      it("ends ${own}", () => { ${end} });`;
    await writeFile(join(files, '1.mjs'), waiting('one', 'two', 'throw new Error("no");'));
    await writeFile(join(files, '2.mjs'), waiting('two', 'one', ''));
    await writeFile(join(files, '3.mjs'), 'process.exit(3);');
    const work: Stage['work'] = { kind: 'mocha files', pattern: join(files, '*.mjs'), jobs: 2 };
    const { lastLine, output } = await run([{ ...mochaStage(), work }]);
    assert.equal(lastLine, '3 passed, 2 failed');
    assert.match(output, /FAILED: ends one/);
    assert.match(output, /FAILED: specs: .*3\.mjs broke off \(exit code 3\)/);
    for (const own of ['one', 'two'])
      assert.match(output, new RegExp(`${own} 1\\n((?!(one|two) [12]).*\\n)*${own} 2`));
  });

  it('runs more files side by side when the stages beside have ended', async () => {
    const files = join(folder, 'more');
    await mkdir(files);
    const wait = (name: string): string => awaitMark(join(files, name));
    const write = (name: string): string => mark(join(files, name));
    const spec = (body: string): string => `
      import { existsSync, writeFileSync } from 'node:fs';
      it("ends", async () => { ${body} });`;
    const isThere = JSON.stringify(join(files, 'beside'));
    await writeFile(join(files, '1.mjs'), spec(write('1 ended')));
    await writeFile(
      join(files, '2.mjs'),
      spec(`if (existsSync(${isThere})) throw new Error('late'); ${write('2 ended')}`),
    );
    await writeFile(join(files, '3.mjs'), spec(`${write('3')} ${wait('4')}`));
    await writeFile(join(files, '4.mjs'), spec(`${write('4')} ${wait('3')}`));
    const beside = check(
      'beside',
      `(async () => {
         const { existsSync, writeFileSync } = require('node:fs');
         ${wait('2 ended')} ${write('beside')}
       })();`,
    );
    const pattern = join(files, '*.mjs');
    const work: Stage['work'] = { kind: 'mocha files', pattern, jobs: 1, jobsAlone: 2 };
    const { lastLine } = await run([
      { ...mochaStage(), work },
      { ...beside, isBeside: true },
    ]);
    assert.equal(lastLine, '5 passed, 0 failed');
  });

  it('leaves out the files that have not begun in time, each by its name, but never all', async () => {
    const files = join(folder, 'late');
    await mkdir(files);
    for (const name of ['1', '2', '3'])
      await writeFile(join(files, `${name}.mjs`), `it("test ${name}", () => {});`);
    const work = (beginWithinSeconds: number): Stage['work'] => {
      const pattern = join(files, '*.mjs');
      return { kind: 'mocha files', pattern, jobs: 1, first: ['2.mjs'], beginWithinSeconds };
    };
    const some = await run([{ ...mochaStage(), work: work(0) }]);
    assert.equal(some.lastLine, '1 passed, 0 failed, 2 skipped');
    assert.match(some.output, /✔ test 2/);
    for (const name of ['1', '3'])
      assert.match(
        some.output,
        new RegExp(`skipped: .*/${name}\\.mjs: not begun within 0 minutes`),
      );
    const all = await run([{ ...mochaStage(), work: work(3_600) }]);
    assert.equal(all.lastLine, '3 passed, 0 failed');
  });

  it('shows the output of files that run beside another stage under their heading', async () => {
    const files = join(folder, 'beside');
    await mkdir(files);
    for (const name of ['1', '2']) {
      const spec = `it("test ${name}", () => { console.log("output of ${name}"); });`;
      await writeFile(join(files, `${name}.mjs`), spec);
    }
    const work: Stage['work'] = { kind: 'mocha files', pattern: join(files, '*.mjs'), jobs: 1 };
    const beside: Stage = { ...mochaStage(), name: 'files', work, isBeside: true };
    const { lastLine, output } = await run([pass, beside]);
    assert.equal(lastLine, '3 passed, 0 failed');
    const [before = '', after = ''] = output.split('\n=== files\n');
    assert.doesNotMatch(before, /output of|took longest/);
    assert.match(after, /output of 1\n[^]*output of 2\n[^]*took longest[^]*=== files: passed/);
  });

  it('begins with the given files', async () => {
    const files = join(folder, 'ordered');
    await mkdir(files);
    for (const name of ['1', '2', '3', '4']) {
      const spec = `it("test ${name}", () => { console.log("output of ${name}"); });`;
      await writeFile(join(files, `${name}.mjs`), spec);
    }
    const first = ['ordered/4.mjs', '2.mjs'];
    const pattern = join(files, '*.mjs');
    const work: Stage['work'] = { kind: 'mocha files', pattern, jobs: 1, first };
    const { lastLine, output } = await run([{ ...mochaStage(), work }]);
    assert.equal(lastLine, '4 passed, 0 failed');
    const begun = Array.from(output.matchAll(/output of (\d)/g), ([, name]) => name);
    assert.deepEqual(begun, ['4', '2', '1', '3']);
    const timed = Array.from(output.matchAll(/^ +[\d.]+ {2}.*ordered\/(\d)\.mjs$/gm), ([, n]) => n);
    assert.deepEqual(timed.toSorted(), ['1', '2', '3', '4'], 'with the time of each');
  });

  it('runs stages beside each other, shows their output one after the other, and heeds all', async () => {
    // Each waits for what the other one writes.
    const meeting = (own: string, other: string, code: number): Stage => {
      const script = `
        const { existsSync, writeFileSync } = require('node:fs');
        console.log('${own} 1');
        writeFileSync(${JSON.stringify(join(folder, own))}, '');
        const timer = setInterval(() => {
          if (!existsSync(${JSON.stringify(join(folder, other))})) return;
          clearInterval(timer);
          console.log('${own} 2');
          process.exitCode = ${code};
        }, 10);`;
      return check(own, script);
    };
    const [left, right] = [meeting('left', 'right', 0), meeting('right', 'left', 1)];
    const stages = [left, { ...right, isBeside: true, isRequired: true }, pass];
    const { lastLine, output } = await run(stages);
    assert.equal(lastLine, '1 passed, 1 failed');
    assert.match(output, /=== left\n(.*\n)*left 1\n(.*\n)*left 2\n/);
    assert.match(output, /\n=== right\nright 1\nright 2\n=== right: FAILED/);
    assert.match(output, /=== pass: not run \(right failed\)/);
  });

  it('fails if no file has the given name', async () => {
    const work: Stage['work'] = { kind: 'mocha files', pattern: join(folder, '*.none'), jobs: 2 };
    const { lastLine } = await run([{ ...mochaStage(), work }]);
    assert.equal(lastLine, '0 passed, 1 failed');
  });

  it('runs nothing more when a required stage fails', async () => {
    const { lastLine, output } = await run([pass, { ...fail, isRequired: true }, pass]);
    assert.equal(lastLine, '1 passed, 1 failed');
    assert.match(output, /=== pass: not run \(fail failed\)/);
  });

  it('fails a stage that cannot be started', async () => {
    const { lastLine } = await run([{ ...pass, command: ['/nowhere/program'] }, pass]);
    assert.equal(lastLine, '1 passed, 1 failed');
  });

  it('ends a stage that takes too long, with its children', async () => {
    const stage = check('hang', hangWithChild);
    // Time enough to start its child.
    const { lastLine, output } = await run([{ ...stage, limitSeconds: 5 }, pass]);
    assert.equal(lastLine, '1 passed, 1 failed');
    assert.match(output, /FAILED: hang \(over 5 s\)/);
    await assertIsGone(output);
  });

  it('takes mocha with it when it is killed', async () => {
    const file = join(folder, 'hang.mjs');
    const script = 'it("a", async () => { console.log("child " + process.pid); await hang(); });';
    const hang = 'const hang = () => new Promise(() => { setInterval(() => {}, 60_000); });';
    await writeFile(file, `${hang}\n${script}`);
    const runner = start([mochaStage(file)]);
    assert.ok(runner.stdout);
    let output = '';
    for await (const chunk of runner.stdout) {
      output += String(chunk);
      if (/child \d+/.test(output) && !runner.killed) runner.kill('SIGKILL');
    }
    await assertIsGone(output);
  });

  it('ends its children on SIGINT, and still prints the last line', async () => {
    const runner = start([pass, check('hang', hangWithChild), pass]);
    assert.ok(runner.stdout);
    const end = once(runner, 'exit');
    let output = '';
    for await (const chunk of runner.stdout) {
      output += String(chunk);
      if (/child \d+/.test(output) && !runner.killed) runner.kill('SIGINT');
    }
    await end;
    assert.equal(output.trimEnd().split('\n').at(-1), '1 passed, 2 failed');
    assert.match(output, /=== pass: not run \(interrupted\)/);
    assert.equal(runner.exitCode, 130);
    await assertIsGone(output);
  });
});

/** Starts a child, says its process id, and neither of them ends. */
const hangWithChild = `
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 60_000)']);
  console.log('child ' + child.pid);
  setInterval(() => {}, 60_000);`;

async function assertIsGone(output: string): Promise<void> {
  const pid = /child (\d+)/.exec(output)?.[1];
  assert.ok(pid);
  await until('the end of the child', async () => {
    // A process that has ended, but was not waited for yet, has an empty command line.
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return line === '';
  });
}

/** Code of a program that makes a file for another one, which waits for it. */
function mark(path: string): string {
  return `writeFileSync(${JSON.stringify(path)}, '');`;
}

/** Code of a program that waits until another one has made a file. */
function awaitMark(path: string): string {
  return `while (!existsSync(${JSON.stringify(path)}))
    await new Promise((resolve) => setTimeout(resolve, 10));`;
}

function check(name: string, script: string): Stage {
  return {
    name,
    work: { kind: 'check' },
    command: [process.execPath, '-e', script],
    limitSeconds: 120,
  };
}

function mochaStage(file?: string): Stage {
  // --no-color: mocha colours its output where the variable CI is set, terminal or not.
  const options = ['--forbid-only', '--fail-zero', '--no-config', '--no-color'];
  const args = [...options, '--require', hooks, ...(file === undefined ? [] : ['--spec', file])];
  return {
    name: 'specs',
    work: { kind: 'mocha' },
    command: [process.execPath, 'node_modules/mocha/bin/mocha.js', ...args],
    limitSeconds: 120,
  };
}

function start(stages: readonly Stage[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  return spawn(process.execPath, [program, JSON.stringify(stages)], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

async function run(
  stages: readonly Stage[],
  env?: NodeJS.ProcessEnv,
): Promise<{ readonly lastLine: string; readonly output: string; readonly code: number | null }> {
  const runner = start(stages, env);
  assert.ok(runner.stdout && runner.stderr);
  const [output, errors] = await Promise.all([
    text(runner.stdout),
    text(runner.stderr),
    once(runner, 'exit'),
  ]);
  return {
    lastLine: output.trimEnd().split('\n').at(-1) ?? '',
    output: output + errors,
    code: runner.exitCode,
  };
}
