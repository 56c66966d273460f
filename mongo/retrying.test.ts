import assert from 'node:assert/strict';
import { MongoServerError } from 'mongodb';
import { Patience } from './patience.ts';
import { retrying, type RetryContext } from './retrying.ts';
import { RetryWarnings } from './retry-warnings.ts';

const unclear = (): MongoServerError => new MongoServerError({ message: 'odd', code: 77_777 });
const passing = (): MongoServerError => new MongoServerError({ message: 'killed', code: 11_601 });

class Clock {
  ms = 0;
  readonly now = (): number => this.ms;
}

interface Ground {
  readonly context: RetryContext;
  readonly clock: Clock;
  readonly told: string[];
}

function ground(): Ground {
  const clock = new Clock();
  const told: string[] = [];
  const logger = {
    warn: ({ reason }: { reason: string }) => {
      told.push(reason);
    },
  } as unknown as RetryContext['logger'];
  const monitor = { retryWarnings: new RetryWarnings(clock.now), addRetry: () => undefined };
  return { context: { signal: new AbortController().signal, logger, monitor }, clock, told };
}

/** Fails with each of the errors, then succeeds; the clock advances by a minute each time. */
function failing(clock: Clock, errors: readonly Error[]): (attempt: number) => Promise<number> {
  return async (attempt) => {
    clock.ms += 60_000;
    const error = errors[attempt];
    if (error) throw error;
    return await Promise.resolve(attempt);
  };
}

describe('retrying', () => {
  it('repeats what fails unclearly, and says until when', async () => {
    const { context, clock, told } = ground();
    const run = failing(clock, [unclear(), unclear()]);
    assert.equal(await retrying(context, 'work', run, undefined, new Patience(clock.now)), 2);
    assert.equal(told.length, 2);
    assert.match(
      String(told[0]),
      /odd \(it is unknown whether the error is transient: .* in 300 s or later\)/,
    );
    assert.match(String(told[1]), /in 240 s/);
  });

  it('ends with an error that stays unclear, once for work inside of other work', async () => {
    const { context, clock } = ground();
    let runs = 0;
    const inner = async (): Promise<never> => {
      const patience = new Patience(clock.now);
      const run = async (): Promise<never> => {
        clock.ms += 150_000;
        runs++;
        return await Promise.reject(unclear());
      };
      return await retrying(context, 'inner', run, undefined, patience);
    };
    const patience = new Patience(clock.now);
    await assert.rejects(retrying(context, 'outer', inner, undefined, patience), /odd/);
    assert.equal(runs, 6);
  });

  it('does not count what passes by itself', async () => {
    const { context, clock } = ground();
    clock.ms = 0;
    const errors = [unclear(), passing(), unclear(), passing(), unclear()];
    const run = failing(clock, errors);
    const patience = new Patience(clock.now);
    assert.equal(await retrying(context, 'work', run, undefined, patience), errors.length);
  });

  it('ends at once with what is refused, and with a fault of the program', async () => {
    const { context, clock } = ground();
    for (const error of [new MongoServerError({ message: 'x', code: 13 }), new TypeError('x')]) {
      const run = failing(clock, [error]);
      await assert.rejects(retrying(context, 'work', run), error);
    }
  });
});

describe('Patience', () => {
  it('counts no more than a minute for an attempt: most of a longer one has succeeded', () => {
    const clock = new Clock();
    const patience = new Patience(clock.now);
    const fails = (): boolean => {
      clock.ms += 3_600_000;
      return patience.allows(unclear());
    };
    const allowed = Array.from({ length: 6 }, fails);
    assert.deepEqual(allowed, [true, true, true, true, true, false]);
  });

  it('counts from the next error on after a success', () => {
    const clock = new Clock();
    const patience = new Patience(clock.now);
    for (let count = 0; count < 9; count++) {
      assert.equal(patience.allows(unclear()), true);
      clock.ms += 50_000;
      assert.equal(patience.allows(unclear()), true);
      assert.match(patience.hint, / 250 s or later$/);
      patience.reset();
      clock.ms += 3_600_000;
    }
    assert.match(patience.hint, / 300 s or later$/);
  });

  it('counts all of the time of short attempts', () => {
    const clock = new Clock();
    const patience = new Patience(clock.now);
    let count = 0;
    while (patience.allows(unclear())) {
      clock.ms += 10_000;
      count++;
    }
    assert.equal(count, 30);
  });
});
