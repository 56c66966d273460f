import assert from 'node:assert/strict';
import { Wakeup } from './wakeup.ts';

describe('Wakeup', () => {
  const { signal } = new AbortController();

  it('wakes all that wait, and nobody who comes later', async () => {
    const wakeup = new Wakeup();
    const { count } = wakeup;
    const waits = [wakeup.next(signal), wakeup.since(count, 600_000, signal)];
    assert.equal(wakeup.waiting, 2);
    wakeup.wake();
    await Promise.all(waits);
    assert.equal(wakeup.waiting, 0);
    const later = new AbortController();
    const waiting = assert.rejects(wakeup.next(later.signal), { name: 'AbortError' });
    assert.equal(wakeup.waiting, 1);
    later.abort();
    await waiting;
  });

  it('waits for nothing that has happened since the count was read', async () => {
    const wakeup = new Wakeup();
    const { count } = wakeup;
    wakeup.wake();
    await wakeup.since(count, 600_000, signal);
    assert.equal(wakeup.count, count + 1);
  });

  it('keeps nobody who has waited long enough, or was to stop', async () => {
    const wakeup = new Wakeup();
    for (let wait = 0; wait < 100; wait++) await wakeup.since(wakeup.count, 0, signal);
    const stopped = new AbortController();
    const waiting = wakeup.since(wakeup.count, 600_000, stopped.signal);
    stopped.abort();
    await assert.rejects(waiting, { name: 'AbortError' });
    await assert.rejects(wakeup.next(stopped.signal), { name: 'AbortError' });
    assert.equal(wakeup.waiting, 0);
  });
});
