import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { Mutex } from './mutex.ts';

describe('Mutex', () => {
  it('runs tasks one after the other, also after one that fails', async () => {
    const mutex = new Mutex();
    const log: string[] = [];
    const task =
      (name: string, fails = false) =>
      async (): Promise<string> => {
        log.push(`begin ${name}`);
        await setImmediate();
        log.push(`end ${name}`);
        if (fails) throw new Error(name);
        return name;
      };
    const results = await Promise.allSettled([
      mutex.run(task('a')),
      mutex.run(task('b', true)),
      mutex.run(task('c')),
    ]);
    assert.deepEqual(log, ['begin a', 'end a', 'begin b', 'end b', 'begin c', 'end c']);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
  });
});
