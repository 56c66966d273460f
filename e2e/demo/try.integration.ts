import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CliProcess } from '../ground/cli-process.ts';
import { typeCommit } from '../ground/type-commit.ts';

const program = fileURLToPath(new URL('try.ts', import.meta.url));

/** A first look with little data, whose temporary files are all in a folder of its own. */
class Attempt implements AsyncDisposable {
  readonly cli: CliProcess;
  readonly #temporary: string;

  private constructor(cli: CliProcess, temporary: string) {
    this.cli = cli;
    this.#temporary = temporary;
  }

  static async start(hasTerminal: boolean): Promise<Attempt> {
    const temporary = await mkdtemp(join(tmpdir(), 'clustersync-try-'));
    const args = ['--scale', '0.02', '--logFile', '{log}'];
    const env = { TMPDIR: temporary };
    return new Attempt(await CliProcess.start(args, { hasTerminal, program, env }), temporary);
  }

  /** The processes that it has started, directly or not: they have its environment. */
  async processes(): Promise<string[]> {
    const found: string[] = [];
    for (const id of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
      const environment = await readFile(`/proc/${id}/environ`, 'utf8').catch(() => '');
      if (environment.includes(`TMPDIR=${this.#temporary}\0`))
        found.push(await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => ''));
    }
    return found;
  }

  async assertNothingLeft(): Promise<void> {
    assert.deepEqual(await this.processes(), []);
    assert.deepEqual(await readdir(this.#temporary), []);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cli[Symbol.asyncDispose]();
    await rm(this.#temporary, { recursive: true });
  }
}

/** Asserts that the numbers of the command and of the program's own count are the same. */
function assertProven(said: string): void {
  assert.match(said, /Committed and verified: both sides are equal\./);
  const [, left, right] = /counted +([\d,]+) on the source, ([\d,]+) on the dest/.exec(said) ?? [];
  const [, old, copy] = /^all +([\d,]+) +([\d,]+) +17 +17 +yes\r?$/m.exec(said) ?? [];
  assert.ok(Number(left?.replace(',', '')) > 2_000, said);
  assert.deepEqual([right, old, copy], [left, left, left]);
  assert.match(said, /done: both sides are equal\. Everything that was started has been removed/);
  assert.match(said, /You have seen clustersync move 2,\d+ documents/);
}

describe('make try, with little data', () => {
  describe('to its end', () => {
    const resources = new AsyncDisposableStack();
    let unattended: Attempt;
    let attended: Attempt;

    // Side by side: each waits for its servers most of the time.
    before(async () => {
      unattended = resources.use(await Attempt.start(false));
      attended = resources.use(await Attempt.start(true));
    });

    after(async () => {
      await resources.disposeAsync();
    });

    it('lets a person commit at a terminal, when the application has been stopped', async () => {
      const { cli } = attended;
      await cli.untilSays(/when it asks for the commit, the application is stopped for you/);
      await typeCommit(cli);
      assert.equal((await cli.end()).exitCode, 0, await cli.output());
      assertProven(await cli.output());
      await attended.assertNothingLeft();
    });

    it('commits by itself without a terminal, counts both sides itself, and leaves nothing', async () => {
      const { cli } = unattended;
      assert.equal((await cli.end()).exitCode, 0, `${await cli.output()}${await cli.errors()}`);
      const said = await cli.output();
      assertProven(said);
      assert.match(said, /the commit blocked the application's writes after|was stopped before/);
      assert.doesNotMatch(`${said}${await cli.errors()}`, /Warning|\u001b/);
      await unattended.assertNothingLeft();
    });
  });

  for (const [how, hasTerminal] of [
    ['by SIGINT without a terminal', false],
    ['by Ctrl-C at a terminal', true],
  ] as const) {
    it(`ends what it has started when it is interrupted ${how}`, async () => {
      await using attempt = await Attempt.start(hasTerminal);
      const { cli } = attempt;
      await cli.untilSays(/inspecting both deployments/);
      const running = (await attempt.processes()).filter((words) => words.includes('--replSet'));
      assert.equal(running.length, 2);
      if (hasTerminal) cli.type('\u0003');
      else await cli.kill('SIGINT');
      assert.equal((await cli.end()).exitCode, 130, await cli.output());
      assert.match(await cli.output(), /FAILED: interrupted by SIGINT/);
      await attempt.assertNothingLeft();
    });
  }
});
