import assert from 'node:assert/strict';
import { EventStream } from './event-stream.ts';
import { PlainAnswer } from './testing/plain-answer.ts';

describe('an event stream', () => {
  it('gives a sign of life only when nothing was sent for long', () => {
    const answer = new PlainAnswer();
    const stream = new EventStream(answer.request, answer.response, 0);
    stream.beat(14_999);
    assert.deepEqual(answer.written, []);
    stream.beat(15_000);
    assert.deepEqual(answer.written, [': alive\n\n']);
    stream.send('sync', {}, 20_000);
    stream.beat(34_999);
    assert.equal(answer.written.length, 2);
    stream.beat(35_000);
    assert.equal(answer.written.length, 3);
  });

  it('is given up if the browser reads nothing for a minute, but not if it reads in between', () => {
    const answer = new PlainAnswer();
    const stream = new EventStream(answer.request, answer.response, 0);
    const isReadyAt = (nowMs: number, isBehind: boolean): boolean => {
      answer.writableNeedDrain = isBehind;
      return stream.isReady(nowMs);
    };
    assert.deepEqual(
      [isReadyAt(0, true), isReadyAt(50_000, false), isReadyAt(55_000, true)],
      [false, true, false],
    );
    assert.equal(isReadyAt(115_000, true), false);
    assert.equal(answer.isDestroyed, false);
    assert.equal(isReadyAt(115_001, true), false);
    assert.equal(answer.isDestroyed, true);
  });
});
