import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';

describe('runUntilSignal', () => {
  it('ends a program that does not stop in time, as failed', () => {
    const module = (name: string): string => new URL(name, import.meta.url).href;
    const script = `
      import { createLogger } from '${module('logger.ts')}';
      import { runUntilSignal } from '${module('shutdown.ts')}';
      const main = async () => {
        process.kill(process.pid, 'SIGTERM');
        setInterval(() => undefined, 1_000);
        await new Promise(() => undefined);
      };
      await runUntilSignal(createLogger('endless', 'info'), main, 7, 10);`;
    const { status, stdout } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { encoding: 'utf8', timeout: 30_000, killSignal: 'SIGKILL' },
    );
    assert.equal(status, 7, stdout);
    assert.match(stdout, /"level":"fatal".*"msg":"the shutdown took too long"/);
  });
});
