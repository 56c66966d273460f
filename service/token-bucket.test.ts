import assert from 'node:assert/strict';
import fc from 'fast-check';
import { TokenBucket, type BucketClock } from './token-bucket.ts';

/** A clock whose timers run when the test lets time pass. */
class FakeClock implements BucketClock {
  ms = 0;
  #timers: { readonly atMs: number; readonly run: () => void }[] = [];

  readonly now = (): number => this.ms;

  readonly after = (ms: number, run: () => void): (() => void) => {
    const timer = { atMs: this.ms + ms, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  };

  get timers(): number {
    return this.#timers.length;
  }

  /** Lets time pass, and everything that happens in it. */
  async pass(ms: number): Promise<void> {
    const endMs = this.ms + ms;
    await settled();
    for (;;) {
      const [next] = this.#timers.toSorted((one, other) => one.atMs - other.atMs);
      if (!next || next.atMs > endMs) break;
      this.ms = Math.max(this.ms, next.atMs);
      this.#timers = this.#timers.filter((each) => each !== next);
      next.run();
      await settled();
    }
    this.ms = endMs;
  }
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

const never = new AbortController().signal;

describe('TokenBucket', () => {
  let clock: FakeClock;
  let bucket: TokenBucket;
  let passed: number[];
  beforeEach(() => {
    clock = new FakeClock();
    bucket = new TokenBucket(1, undefined, clock);
    passed = [];
  });

  function take(amount: number, signal = never): Promise<unknown> {
    return bucket.take(amount, signal).then(
      () => passed.push(amount),
      (error: unknown) => error,
    );
  }

  it('lets everything pass without a limit', async () => {
    await bucket.take(1e12, never);
    assert.equal(clock.timers, 0);
  });

  it('serves in turn, each amount once it is saved up, however large', async () => {
    bucket.setRate(10);
    void take(25);
    void take(5);
    await clock.pass(2_499);
    assert.deepEqual(passed, []);
    await clock.pass(1);
    assert.deepEqual(passed, [25]);
    await clock.pass(499);
    assert.deepEqual(passed, [25]);
    await clock.pass(1);
    assert.deepEqual(passed, [25, 5]);
  });

  it('saves a burst while idle, and no more', async () => {
    bucket.setRate(10);
    await clock.pass(60_000);
    void take(10);
    void take(1);
    await settled();
    assert.deepEqual(passed, [10]);
    await clock.pass(100);
    assert.deepEqual(passed, [10, 1]);
  });

  it('takes a new rate up for those who wait; no limit lets all of them pass', async () => {
    bucket.setRate(1);
    void take(1_000);
    void take(1_000);
    await clock.pass(100_000);
    bucket.setRate(900);
    await clock.pass(1_000);
    assert.deepEqual(passed, [1_000]);
    bucket.setRate(undefined);
    await settled();
    assert.deepEqual(passed, [1_000, 1_000]);
    assert.equal(clock.timers, 0);
  });

  it('keeps no more of what was saved than a burst of a lower rate', async () => {
    bucket.setRate(100);
    await clock.pass(1_000);
    bucket.setRate(1);
    void take(1);
    void take(1);
    await settled();
    assert.deepEqual(passed, [1]);
    await clock.pass(1_000);
    assert.deepEqual(passed, [1, 1]);
  });

  it('lets nothing pass at a rate of 0, not even what was saved', async () => {
    bucket.setRate(10);
    await clock.pass(1_000);
    bucket.setRate(0);
    void take(1);
    await clock.pass(1e9);
    assert.deepEqual(passed, []);
    assert.equal(clock.timers, 0);
    bucket.setRate(10);
    await clock.pass(100);
    assert.deepEqual(passed, [1]);
  });

  it('leaves the queue when aborted: the next one does not wait for it', async () => {
    bucket.setRate(1);
    const reason = new Error('over');
    const leaving = new AbortController();
    const first = take(1_000_000, leaving.signal);
    void take(2);
    await clock.pass(1_000);
    leaving.abort(reason);
    assert.equal(await first, reason);
    await clock.pass(1_000);
    assert.deepEqual(passed, [2]);
    assert.equal(await take(1, leaving.signal), reason);
    assert.equal(bucket.waiting, 0);
  });

  it('never lets more pass than the rate and a burst, whatever the amounts, pauses and rates', async () => {
    const step = fc.record({
      ms: fc.integer({ min: 0, max: 5_000 }),
      amount: fc.integer({ min: 1, max: 500 }),
      rate: fc.option(fc.integer({ min: 0, max: 200 }), { freq: 4, nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
        const now = new FakeClock();
        let rate = 100;
        const tested = new TokenBucket(1, rate, now);
        let [allowed, highest, through] = [0, rate, 0];
        for (const { ms, amount, rate: next } of steps) {
          void tested.take(amount, never).then(() => {
            through += amount;
          });
          await now.pass(ms);
          allowed += (rate * ms) / 1000;
          assert.ok(through <= allowed + highest + 1e-6, `${through} of ${allowed}`);
          if (next === undefined) continue;
          rate = next;
          highest = Math.max(highest, rate);
          tested.setRate(rate);
        }
        tested.setRate(1e9);
        await now.pass(1_000);
        assert.equal(tested.waiting, 0, 'everybody is served');
      }),
      { numRuns: 100 },
    );
  });
});
