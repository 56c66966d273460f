import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChildProgram } from './child-program.ts';

/** Notes that it was started, and with which options of Node, says that it listens, and ends. */
const script = `
import { appendFileSync } from 'node:fs';
appendFileSync(process.env.STARTS, 'x');
appendFileSync(process.env.STARTS + '.options', process.env.NODE_OPTIONS + '\\n');
process.stdout.write(JSON.stringify({ level: 'info', msg: 'listening', port: 1 }) + '\\n', () => process.exit(3));
`;

describe('ChildProgram, of a program that ends by itself', () => {
  const { signal } = new AbortController();
  const [, ownScript = ''] = process.argv;
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-child-'));
    await writeFile(join(folder, 'program.mjs'), script);
    await appendFile(join(folder, 'starts'), '');
    process.argv[1] = join(folder, 'program.mjs');
  });

  afterEach(async () => {
    process.argv[1] = ownScript;
    await rm(folder, { recursive: true });
  });

  /** Starts it. `ended` resolves when it has said so often that the program has ended. */
  async function start(delayMs: number, times: number, workedMs = 600_000) {
    const ended = Promise.withResolvers<undefined>();
    const warnings: string[] = [];
    const spec = {
      ...{ name: 'the syncer', command: 'syncer', apiToken: 'token' },
      env: { STARTS: join(folder, 'starts') },
      onLine: () => undefined,
      onWarning: (text: string) => {
        if (warnings.push(text) === times) ended.resolve(undefined);
      },
    };
    const program = await ChildProgram.start(spec, signal, { delayMs, workedMs });
    return { program, warnings, ended: ended.promise };
  }

  async function starts(): Promise<number> {
    return (await readFile(join(folder, 'starts'), 'utf8')).length;
  }

  it('is not started again once it is to stop', async () => {
    const { program, warnings, ended } = await start(600_000, 1);
    await ended;
    await program[Symbol.asyncDispose]();
    assert.deepEqual(warnings, ['the syncer has exited with exit code 3; restarting it']);
    assert.equal(await starts(), 1);
  });

  it('is started again five times, then its address says why there is none', async () => {
    const { program, warnings, ended } = await start(1, 5);
    await ended;
    const address = (): unknown => program.address;
    while ((await starts()) < 6 || hasAddress(address)) await new Promise(setImmediate);
    assert.equal(warnings.length, 5);
    assert.throws(address, {
      name: 'InternalError',
      message: /^the syncer has exited 6 times, most recently with exit code 3/,
    });
    await program[Symbol.asyncDispose]();
    assert.equal(await starts(), 6);
  });

  it('is started again as often as it ends, where it has worked each time', async () => {
    const { program, warnings, ended } = await start(1, 8, 0);
    await ended;
    await program[Symbol.asyncDispose]();
    assert.ok(warnings.length >= 8);
    assert.ok((await starts()) >= 8);
  });

  it('has the options of Node that it needs, and after them those of this process', async () => {
    const own = process.env['NODE_OPTIONS'];
    try {
      for (const given of [undefined, '--max-semi-space-size=32']) {
        if (given === undefined) delete process.env['NODE_OPTIONS'];
        else process.env['NODE_OPTIONS'] = given;
        const { program, ended } = await start(600_000, 1);
        await ended;
        await program[Symbol.asyncDispose]();
      }
    } finally {
      if (own === undefined) delete process.env['NODE_OPTIONS'];
      else process.env['NODE_OPTIONS'] = own;
    }
    assert.deepEqual((await readFile(join(folder, 'starts.options'), 'utf8')).split('\n'), [
      '--max-semi-space-size=16',
      '--max-semi-space-size=16 --max-semi-space-size=32',
      '',
    ]);
  });
});

function hasAddress(address: () => unknown): boolean {
  try {
    address();
    return true;
  } catch {
    return false;
  }
}
