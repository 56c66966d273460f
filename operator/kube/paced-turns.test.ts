import assert from 'node:assert/strict';
import fc from 'fast-check';
import { PacedTurns } from './paced-turns.ts';
import { FakeClock } from './testing/fake-clock.ts';

const turnMs = 100;

describe('PacedTurns', () => {
  it('gives what was saved up at once, and then one after the other', async () => {
    const clock = new FakeClock();
    const turns = new PacedTurns(clock, 2);
    const waits = ['a/1', 'a/2', 'a/3', 'a/4'].map((key) => turns.waitMs(key, turnMs));
    assert.deepEqual(waits, [0, 0, 100, 200]);
    await clock.advance(100);
    assert.deepEqual([turns.hasCome('a/3', turnMs), turns.hasCome('a/4', turnMs)], [true, false]);
    for (const key of ['a/1', 'a/2', 'a/3', 'a/4']) turns.end(key);
    await clock.advance(10_000);
    assert.deepEqual(
      ['b/1', 'b/2', 'b/3'].map((key) => turns.waitMs(key, turnMs)),
      [0, 0, 100],
    );
  });

  it('has come at the latest when it was said, where nobody else comes', async () => {
    const key = fc
      .tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(9))
      .map(([namespace, name]) => `${namespace}/${name}`);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(key, { minLength: 1 }), async (keys) => {
        const clock = new FakeClock();
        const turns = new PacedTurns(clock, 1);
        for (const each of keys) turns.waitMs(each, turnMs);
        const waits = keys.map((each) => [each, turns.waitMs(each, turnMs)] as const);
        for (const [each, waitMs] of waits.toSorted(([, one], [, other]) => one - other)) {
          await clock.advance(Math.max(0, waitMs - clock.monotonicMs()) + 0.001);
          assert.ok(turns.hasCome(each, turnMs), each);
        }
      }),
      { numRuns: 30 },
    );
  });
});
