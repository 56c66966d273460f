import assert from 'node:assert/strict';
import { FakeClock } from '../kube/testing/fake-clock.ts';
import { QuestionTurns } from './question-turns.ts';

/** Questions that end when told to. */
class Questions {
  readonly clock = new FakeClock();
  readonly turns = new QuestionTurns(this.clock);
  /** The keys of those that have begun, in order, each with the function that ends it. */
  readonly begun: { readonly key: string; readonly end: () => void }[] = [];
  readonly #all: Promise<void>[] = [];

  ask(key: string, signal = new AbortController().signal): void {
    const question = async (): Promise<void> => {
      const { promise, resolve } = Promise.withResolvers<undefined>();
      this.begun.push({
        key,
        end: () => {
          resolve(undefined);
        },
      });
      await promise;
    };
    this.#all.push(this.turns.ask(key, signal, question).catch(() => undefined));
  }

  countOf(namespace: string): number {
    return this.begun.filter(({ key }) => key.startsWith(`${namespace}/`)).length;
  }

  /** Ends all of them, including those that begin as a result. */
  async end(): Promise<void> {
    for (const { end } of this.begun) {
      end();
      await this.clock.advance(5);
    }
    await Promise.all(this.#all);
    assert.equal(this.clock.pendingTimers, 0);
  }
}

describe('QuestionTurns', () => {
  it('lets questions begin at once, and 200 a second when there are many', async () => {
    const questions = new Questions();
    for (let count = 0; count < 100; count += 1) questions.ask('shop/orders');
    await questions.clock.advance(0);
    assert.equal(questions.begun.length, 10);
    await questions.clock.advance(100);
    assert.equal(questions.begun.length, 30);
    await questions.end();
    assert.equal(questions.begun.length, 100);
  });

  it('has 200 of a namespace under way, and 400 of all', async () => {
    const ofOne = new Questions();
    for (let count = 0; count < 250; count += 1) ofOne.ask(`a/${count}`);
    await ofOne.clock.advance(5_000);
    assert.equal(ofOne.begun.length, 200);
    await ofOne.end();
    assert.equal(ofOne.begun.length, 250);
    const questions = new Questions();
    for (const namespace of ['a', 'b', 'c'])
      for (let count = 0; count < 250; count += 1) questions.ask(`${namespace}/${count}`);
    await questions.clock.advance(5_000);
    assert.equal(questions.begun.length, 400);
    const counts = ['a', 'b', 'c'].map((namespace) => questions.countOf(namespace));
    // Ten had begun before anybody else asked.
    assert.deepEqual(counts, [140, 130, 130]);
    for (let count = 0; count < 250; count += 1) questions.ask(`d/${count}`);
    for (const { end } of questions.begun.slice(0, 4)) end();
    await questions.clock.advance(50);
    assert.equal(questions.countOf('d'), 1);
    await questions.end();
    assert.equal(questions.begun.length, 1_000);
  });

  it('leaves the place of one that is given up to the next', async () => {
    const questions = new Questions();
    const stop = new AbortController();
    for (let count = 0; count < 200; count += 1) questions.ask(`a/${count}`);
    await questions.clock.advance(5_000);
    questions.ask('a/given-up', stop.signal);
    questions.ask('a/last');
    await questions.clock.advance(100);
    stop.abort(new Error('given up'));
    questions.begun[0]?.end();
    await questions.clock.advance(100);
    assert.equal(questions.begun.at(-1)?.key, 'a/last');
    await questions.end();
    assert.equal(questions.begun.length, 201);
  });

  it('continues after a question that fails', async () => {
    const turns = new QuestionTurns(new FakeClock());
    const { signal } = new AbortController();
    const failing = turns.ask('a/1', signal, () => Promise.reject(new Error('no answer')));
    await assert.rejects(failing, { message: 'no answer' });
    assert.equal(await turns.ask('a/1', signal, () => Promise.resolve('yes')), 'yes');
  });
});
