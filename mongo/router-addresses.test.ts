import assert from 'node:assert/strict';
import { MongoNetworkError } from 'mongodb';
import { countOnRouters } from './router-addresses.ts';

describe('countOnRouters', () => {
  const { signal } = new AbortController();
  const count = async (answers: Readonly<Record<string, number | Error>>): Promise<number> =>
    await countOnRouters(Object.keys(answers), signal, async (address) => {
      const answer = await Promise.resolve(answers[address]);
      if (typeof answer !== 'number') throw answer ?? new Error('not asked for');
      return answer;
    });

  it('adds up what they have', async () => {
    assert.equal(await count({ a: 2, b: 0, c: 3 }), 5);
  });

  it('counts one for a router that does not answer: it may have something', async () => {
    assert.equal(await count({ a: 0, b: new MongoNetworkError('silent') }), 1);
  });

  it('fails with any other error', async () => {
    await assert.rejects(count({ a: 0, b: new Error('broken') }), /broken/);
  });

  it('fails with the reason of its signal', async () => {
    const stop = new AbortController();
    const counting = countOnRouters(['a'], stop.signal, async () => {
      stop.abort(new Error('given up'));
      return await Promise.reject(new MongoNetworkError('silent'));
    });
    await assert.rejects(counting, /given up/);
  });
});
