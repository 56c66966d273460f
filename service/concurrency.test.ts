import assert from 'node:assert/strict';
import fc from 'fast-check';
import { setImmediate } from 'node:timers/promises';
import { forEachAsGiven, forEachConcurrently } from './concurrency.ts';

describe('forEachConcurrently', () => {
  it('runs every item once, never more than the limit at a time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(3)),
        fc.integer({ min: 1, max: 5 }),
        async (delays, limit) => {
          const seen: number[] = [];
          let running = 0;
          await forEachConcurrently(delays.entries(), limit, async ([index, turns]) => {
            running += 1;
            assert.ok(running <= limit);
            for (let turn = 0; turn < turns; turn++) await setImmediate();
            running -= 1;
            seen.push(index);
          });
          assert.deepEqual(
            seen.sort((a, b) => a - b),
            [...delays.keys()],
          );
        },
      ),
      { numRuns: 30 },
    );
  });

  it('throws the first error once the running items have ended, and starts no more', async () => {
    const ended: number[] = [];
    const run = async (item: number): Promise<void> => {
      await setImmediate();
      if (item === 1) throw new Error('one');
      await setImmediate();
      ended.push(item);
    };
    await assert.rejects(forEachConcurrently([0, 1, 2, 3, 4], 2, run), /one/);
    assert.deepEqual(ended, [0]);
  });

  it('throws the error that came first, also if an earlier item fails after it', async () => {
    const first = Promise.withResolvers<undefined>();
    const run = async (item: number): Promise<void> => {
      if (item === 0) await first.promise;
      first.resolve(undefined);
      throw new Error(`of ${item}`);
    };
    await assert.rejects(forEachConcurrently([0, 1], 2, run), { message: 'of 1' });
  });
});

describe('forEachAsGiven', () => {
  it('works on every item once, in order, never on more than the limit at a time', async () => {
    const turns = fc.nat(3);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ before: turns, taking: turns })),
        fc.integer({ min: 1, max: 5 }),
        async (items, limit) => {
          const begun: number[] = [];
          let [running, ended] = [0, 0];
          const result = await forEachAsGiven<number, string>(
            async (give) => {
              for (const [index, { before }] of items.entries()) {
                for (let turn = 0; turn < before; turn++) await setImmediate();
                give(index);
              }
              return 'all given';
            },
            limit,
            async (index) => {
              begun.push(index);
              running += 1;
              assert.ok(running <= limit);
              for (let turn = 0; turn < (items[index]?.taking ?? 0); turn++) await setImmediate();
              running -= 1;
              ended += 1;
            },
          );
          assert.equal(result, 'all given');
          assert.deepEqual(begun, [...items.keys()]);
          assert.equal(ended, items.length);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('starts an item at once if there is room, otherwise when another has ended', async () => {
    const begun: number[] = [];
    const first = Promise.withResolvers<undefined>();
    await forEachAsGiven<number, undefined>(
      async (give) => {
        give(0);
        give(1);
        assert.deepEqual(begun, [0]);
        first.resolve(undefined);
        await setImmediate();
        assert.deepEqual(begun, [0, 1]);
        return undefined;
      },
      1,
      async (item) => {
        begun.push(item);
        await first.promise;
      },
    );
  });

  it('accepts no more items after a failure, starts none that wait, and throws the failure once the running ones have ended', async () => {
    const ended: number[] = [];
    let isRefused = false;
    const work = forEachAsGiven<number, undefined>(
      async (give) => {
        for (const item of [0, 1, 2, 3]) give(item);
        await setImmediate();
        await setImmediate();
        try {
          give(4);
        } catch (error) {
          isRefused = true;
          throw error;
        }
        return undefined;
      },
      2,
      async (item) => {
        await setImmediate();
        if (item === 1) throw new Error('one');
        for (let turn = 0; turn < 3; turn++) await setImmediate();
        ended.push(item);
      },
    );
    await assert.rejects(work, /one/);
    assert.ok(isRefused);
    assert.deepEqual(ended, [0]);
  });

  it('throws the failure of the producer once the running items have ended', async () => {
    const ended: number[] = [];
    const work = forEachAsGiven<number, undefined>(
      async (give) => {
        for (const item of [0, 1, 2]) give(item);
        await setImmediate();
        throw new Error('no more to read');
      },
      2,
      async (item) => {
        for (let turn = 0; turn < 3; turn++) await setImmediate();
        ended.push(item);
      },
    );
    await assert.rejects(work, /no more to read/);
    assert.deepEqual(ended, [0, 1]);
  });
});
