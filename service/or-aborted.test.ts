import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { orAborted } from './or-aborted.ts';

const reason = new Error('stop');
const never = new Promise<string>(() => undefined);

describe('orAborted', () => {
  it('settles like the promise, and leaves no listener', async () => {
    const { signal } = new AbortController();
    assert.equal(await orAborted(Promise.resolve('done'), signal), 'done');
    const failure = new Error('failed');
    await assert.rejects(orAborted(Promise.reject(failure), signal), failure);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });

  it('rejects with the reason when the signal is aborted while it waits, and leaves no listener', async () => {
    const controller = new AbortController();
    const waiting = orAborted(never, controller.signal);
    controller.abort(reason);
    await assert.rejects(waiting, reason);
    assert.equal(getEventListeners(controller.signal, 'abort').length, 0);
  });

  it('rejects with the reason of an aborted signal, though the promise never settles', async () => {
    const waiting = orAborted(never, AbortSignal.abort(reason));
    await assert.rejects(Promise.race([waiting, setImmediate('it waits')]), reason);
  });

  for (const isEarly of [true, false])
    it(`leaves no rejection unhandled if the promise fails after an abort ${isEarly ? 'before' : 'during'} the wait`, async () => {
      const unhandled: unknown[] = [];
      const note = (error: unknown): void => void unhandled.push(error);
      process.on('unhandledRejection', note);
      try {
        const { promise, reject } = Promise.withResolvers<never>();
        const controller = new AbortController();
        if (isEarly) controller.abort(reason);
        const waiting = orAborted(promise, controller.signal);
        controller.abort(reason);
        await assert.rejects(waiting, reason);
        reject(new Error('later'));
        await setImmediate();
      } finally {
        process.off('unhandledRejection', note);
      }
      assert.deepEqual(unhandled, []);
    });
});
