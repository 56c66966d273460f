import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { until } from '../ground/until.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const deadlineMs = 300_000;

/** What `make mutate` runs. It ends with this object. */
class Mutation implements Disposable {
  readonly #process;
  output = '';

  constructor(...args: readonly string[]) {
    const command = ['e2e/mutate/main.ts', '--unit-only', ...args];
    this.#process = spawn(process.execPath, command, { cwd: root, stdio: 'pipe' });
    for (const stream of [this.#process.stdout, this.#process.stderr])
      stream.on('data', (data: Buffer) => (this.output += data.toString()));
  }

  /** Its copy of the checkout, as soon as it is there. */
  get copy(): string | undefined {
    return /^changes are made in (.*)$/m.exec(this.output)?.[1];
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async exitCode(): Promise<number | null> {
    if (this.#process.exitCode === null && this.#process.signalCode === null)
      await once(this.#process, 'exit');
    return this.#process.exitCode;
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL');
  }
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' });
}

function assertGone(copy: string | undefined): void {
  assert.ok(copy !== undefined && !existsSync(copy));
  assert.ok(!git('worktree', 'list').includes(copy));
}

describe('make mutate', () => {
  const args = ['--rooms=verifier/compare/id-key.ts', '--count=3', '--seed=2'];

  it('names the test that notices a change, and leaves the checkout as it was, and no copy behind', async () => {
    const before = git('status', '--short');
    using mutation = new Mutation(...args);
    assert.equal(await mutation.exitCode(), 0, mutation.output);
    assert.match(mutation.output, /^3 changes: [1-3] noticed, /m);
    assert.match(mutation.output, /^ {2}by verifier\/[a-z/-]+\.test\.ts: /m);
    assert.equal(git('status', '--short'), before);
    assertGone(mutation.copy);
  });

  it('leaves no copy behind when it is interrupted', async () => {
    using mutation = new Mutation(...args);
    await until('the copy of the checkout', () => mutation.copy !== undefined, deadlineMs);
    mutation.signal('SIGTERM');
    assert.equal(await mutation.exitCode(), 130, mutation.output);
    assertGone(mutation.copy);
  });
});
