import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { KubeMetrics } from './metrics.ts';
import { FakeClock } from './testing/fake-clock.ts';
import { WorkQueue } from './work-queue.ts';

function newQueue(options: { readonly maxPerNamespace?: number } = {}): {
  queue: WorkQueue;
  clock: FakeClock;
  registry: Registry;
} {
  const clock = new FakeClock();
  const registry = new Registry();
  const metrics = new KubeMetrics(registry);
  const queue = new WorkQueue({
    name: 'q',
    metrics,
    clock,
    baseDelayMs: 100,
    maxDelayMs: 1000,
    ...options,
  });
  return { queue, clock, registry };
}

describe('WorkQueue', () => {
  it('gives keys in the order in which they were added, each once', async () => {
    const { queue } = newQueue();
    for (const key of ['a', 'b', 'a', 'c', 'b']) queue.add(key);
    assert.deepEqual([await queue.take(), await queue.take(), await queue.take()], ['a', 'b', 'c']);
    assert.equal(queue.length, 0);
  });

  it('gives urgent keys first, also one that has waited already', async () => {
    const { queue } = newQueue();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    queue.add('d', true);
    queue.add('b', true);
    queue.add('d');
    assert.equal(queue.length, 4);
    queue.shutDown();
    const taken = [];
    for (let key; (key = await queue.take()) !== undefined;) taken.push(key);
    assert.deepEqual(taken, ['d', 'b', 'a', 'c']);
  });

  it('gives a key first that has become urgent while it was processed', async () => {
    const { queue } = newQueue();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    assert.equal(await queue.take(), 'a');
    queue.add('a');
    queue.add('a', true);
    queue.done('a');
    assert.deepEqual([await queue.take(), await queue.take(), await queue.take()], ['a', 'b', 'c']);
  });

  for (const isUrgent of [false, true]) {
    it(`gives the key of another namespace after one of 500 that came before it${isUrgent ? ', though those are urgent' : ''}`, async () => {
      const { queue } = newQueue();
      for (let index = 0; index < 500; index += 1) queue.add(`broken/${index}`, isUrgent);
      queue.add('quiet/orders');
      assert.deepEqual(
        [await queue.take(), await queue.take(), await queue.take()],
        ['broken/0', 'quiet/orders', 'broken/1'],
      );
    });
  }

  it('gives retries that are due together by namespace, too', async () => {
    const { queue, clock } = newQueue();
    for (let index = 0; index < 500; index += 1) queue.addRateLimited(`broken/${index}`);
    queue.addRateLimited('quiet/orders');
    await clock.advance(100);
    assert.equal(queue.length, 501);
    assert.deepEqual([await queue.take(), await queue.take()], ['broken/0', 'quiet/orders']);
  });

  it('gives a namespace no more keys at once than it may have, and continues when one is done', async () => {
    const { queue } = newQueue({ maxPerNamespace: 2 });
    for (const key of ['broken/a', 'broken/b', 'broken/c']) queue.add(key);
    assert.deepEqual([await queue.take(), await queue.take()], ['broken/a', 'broken/b']);
    const taken = [queue.take(), queue.take()];
    queue.add('quiet/orders');
    assert.equal(await taken[0], 'quiet/orders');
    assert.equal(queue.length, 1);
    queue.done('broken/a');
    assert.equal(await taken[1], 'broken/c');
  });

  it('gives a key to one who waits for it', async () => {
    const { queue } = newQueue();
    const taken = queue.take();
    queue.add('a');
    assert.equal(await taken, 'a');
    assert.equal(queue.processing, 1);
  });

  it('makes a hundred adds while the key is processed into one more run', async () => {
    const { queue } = newQueue();
    queue.add('a');
    await queue.take();
    for (let count = 0; count < 100; count += 1) queue.add('a');
    assert.equal(queue.length, 0);
    queue.done('a');
    assert.equal(await queue.take(), 'a');
    queue.done('a');
    assert.equal(queue.length, 0);
  });

  it('adds after a delay; of two delays of one key the shorter counts', async () => {
    const { queue, clock } = newQueue();
    queue.addAfter('a', 500);
    queue.addAfter('a', 300);
    queue.addAfter('a', 900);
    await clock.advance(299);
    assert.equal(queue.length, 0);
    await clock.advance(1);
    assert.equal(await queue.take(), 'a');
    queue.done('a');
    await clock.advance(10_000);
    assert.equal(queue.length, 0);
    assert.equal(clock.pendingTimers, 0);
  });

  context('when a key fails again and again', () => {
    it('doubles the delay up to the longest, and restarts once it is forgotten', () => {
      const { queue } = newQueue();
      const delays = Array.from({ length: 6 }, () => queue.addRateLimited('a'));
      assert.deepEqual(delays, [100, 200, 400, 800, 1000, 1000]);
      assert.equal(queue.addRateLimited('b'), 100);
      assert.equal(queue.retries('a'), 6);
      queue.forget('a');
      assert.equal(queue.retries('a'), 0);
      assert.equal(queue.addRateLimited('a'), 100);
    });
  });

  context('when it is shut down', () => {
    it('gives out what waits, takes nothing more, and wakes those who wait', async () => {
      const { queue, clock } = newQueue();
      queue.add('a');
      queue.addAfter('later', 100);
      queue.shutDown();
      queue.add('b');
      queue.addAfter('c', 0);
      queue.addRateLimited('d');
      assert.equal(await queue.take(), 'a');
      queue.add('a');
      queue.done('a');
      assert.equal(await queue.take(), undefined);
      assert.equal(clock.pendingTimers, 0);

      const other = newQueue().queue;
      const waiting = [other.take(), other.take()];
      other.shutDown();
      assert.deepEqual(await Promise.all(waiting), [undefined, undefined]);
    });
  });

  it('tells its metrics under the names of controller-runtime', async () => {
    const { queue, clock, registry } = newQueue();
    queue.add('a');
    queue.add('b');
    await clock.advance(2000);
    await queue.take();
    await clock.advance(3000);
    const labels = '{name="q",controller="q"}';
    const text = await registry.metrics();
    for (const line of [
      `workqueue_depth${labels} 1`,
      `workqueue_adds_total${labels} 2`,
      `workqueue_unfinished_work_seconds${labels} 3`,
      `workqueue_longest_running_processor_seconds${labels} 3`,
      `workqueue_queue_duration_seconds_sum${labels} 2`,
      `workqueue_retries_total${labels} 0`,
    ]) {
      assert.ok(text.includes(`${line}\n`), line);
    }
    queue.done('a');
    assert.match(await registry.metrics(), /workqueue_work_duration_seconds_sum\{.*\} 3\n/);
  });

  it('never gives a key to two, and loses no add, whatever the workers do', async () => {
    const key = fc.constantFrom('a', 'b', 'c');
    const step = fc.oneof(
      fc.record({ add: key }),
      fc.record({ addAfter: key, delayMs: fc.nat(50) }),
      fc.record({ retry: key }),
      fc.record({ advanceMs: fc.nat(60) }),
      fc.constant({ take: true }),
      fc.record({ done: fc.nat(5) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { queue, clock } = newQueue();
        const held: string[] = [];
        /** Keys that were added, but whose run has not begun since. */
        const owed = new Set<string>();
        const begin = (taken: string | undefined): void => {
          assert.ok(taken !== undefined && !held.includes(taken), 'one worker for a key');
          assert.ok(owed.delete(taken), 'no run without an add');
          held.push(taken);
        };
        let delayed: { key: string; dueMs: number }[] = [];
        const pass = async (ms: number): Promise<void> => {
          await clock.advance(ms);
          const nowMs = clock.monotonicMs();
          for (const each of delayed) if (each.dueMs <= nowMs) owed.add(each.key);
          delayed = delayed.filter(({ dueMs }) => dueMs > nowMs);
        };
        const later = (of: string, delayMs: number): void => {
          const dueMs = clock.monotonicMs() + delayMs;
          if (delayMs <= 0) owed.add(of);
          else {
            const former = delayed.find((each) => each.key === of);
            if (!former) delayed.push({ key: of, dueMs });
            else former.dueMs = Math.min(former.dueMs, dueMs);
          }
        };
        for (const each of steps) {
          if ('add' in each) {
            queue.add(each.add);
            owed.add(each.add);
          } else if ('addAfter' in each) {
            queue.addAfter(each.addAfter, each.delayMs);
            later(each.addAfter, each.delayMs);
          } else if ('retry' in each) {
            later(each.retry, queue.addRateLimited(each.retry));
          } else if ('advanceMs' in each) {
            await pass(each.advanceMs);
          } else if ('done' in each) {
            const [key_] = held.splice(each.done % Math.max(held.length, 1), 1);
            if (key_ !== undefined) queue.done(key_);
          } else if (queue.length > 0) {
            begin(await queue.take());
          }
          const waiting = [...owed].filter((owedKey) => !held.includes(owedKey));
          assert.equal(queue.length, waiting.length, 'what is owed and not held can be taken');
        }
        await pass(2000);
        for (const each of held.splice(0)) queue.done(each);
        while (queue.length > 0) begin(await queue.take());
        assert.deepEqual([...owed], []);
      }),
      { numRuns: 200 },
    );
  });
});
