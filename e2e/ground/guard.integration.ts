import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const guardScript = fileURLToPath(new URL('guard.sh', import.meta.url));

describe('the guard of a temporary folder', () => {
  let temporary: string;
  beforeEach(async () => {
    temporary = await mkdtemp(join(tmpdir(), 'clustersync-guard-'));
  });
  afterEach(async () => {
    await rm(temporary, { recursive: true });
  });

  it('leaves nothing when nobody is there any more to be told of the folder', async () => {
    // The output goes to a pipe whose other end is closed before there is any: the writer gets SIGPIPE.
    const script = 'read -r _; exec "$0" "$1"';
    const guard = spawn('/bin/sh', ['-c', script, guardScript, temporary], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const ended = once(guard, 'exit');
    guard.stdout.destroy();
    await once(guard.stdout, 'close');
    guard.stdin.end('go on\n');
    await ended;
    assert.equal(guard.exitCode, 0);
    assert.deepEqual(await readdir(temporary), []);
  });
});
