import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sleep } from '../../../service/sleep.ts';
import { until } from '../until.ts';
import { startReplicaSet } from './replica-set.ts';

const program = fileURLToPath(new URL('replica-set-until-killed.ts', import.meta.url));

describe('what a replica set leaves behind', () => {
  let temporary: string;
  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'clustersync-crash-'));
  });
  afterEach(async () => {
    await rm(temporary, { recursive: true });
  });

  for (const signal of ['SIGKILL', 'SIGINT', 'SIGTERM'] as const) {
    it(`is nothing when the tests end by ${signal}`, async () => {
      const tests = runTests(temporary);
      assert.ok(tests.stdout);
      await once(tests.stdout, 'data');
      assert.equal((await processesOf(temporary)).length, 2, 'the guard and mongod');
      assert.equal((await readdir(temporary)).length, 1);
      tests.kill(signal);
      await untilNothingIsLeft(temporary);
    });
  }

  it('is nothing when the tests are killed while they start it', async () => {
    const running = [150, 200, 250, 300, 350, 400, 500].map(async (ms) => {
      const tests = runTests(temporary);
      await sleep(ms, AbortSignal.timeout(10_000));
      tests.kill('SIGKILL');
      await once(tests, 'exit');
    });
    await Promise.all(running);
    await untilNothingIsLeft(temporary);
  });

  it('is nothing when the start fails', async () => {
    const before = process.env['TMPDIR'];
    process.env['TMPDIR'] = temporary;
    try {
      await assert.rejects(startReplicaSet({ members: 3, deadlineMs: 300 }));
      await assert.rejects(startReplicaSet({ members: 1, parameters: { noSuchParameter: 1 } }));
    } finally {
      if (before === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = before;
    }
    await untilNothingIsLeft(temporary);
  });
});

function runTests(temporary: string): ChildProcess {
  return spawn(process.execPath, [program], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

async function untilNothingIsLeft(temporary: string): Promise<void> {
  let left: readonly string[] = [];
  try {
    await until('the end of all processes and folders', async () => {
      left = [...(await readdir(temporary)), ...(await processesOf(temporary))];
      return left.length === 0;
    });
  } catch (error) {
    throw new Error(`${String(error)}; left: ${left.join(', ')}`, { cause: error });
  }
}

/** The command lines of all processes that name the folder. One that has ended, but was not waited for, has none. */
async function processesOf(folder: string): Promise<readonly string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    ids.map(async (id) => {
      try {
        return (await readFile(`/proc/${id}/cmdline`, 'utf8')).replaceAll('\0', ' ');
      } catch {
        return '';
      }
    }),
  );
  return lines.filter((line) => line.includes(folder));
}
