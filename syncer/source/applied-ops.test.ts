import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { endOf } from './applied-ops.ts';

describe('endOf', () => {
  const time = (t: number, i = 1): Timestamp => new Timestamp({ t, i });

  it('is the end of a range that is no longer than the span, and a time in it of any other', () => {
    for (const seconds of [0, 1, 59, 60, 61, 3_600, 1_000_000]) {
      const range = { from: time(1_000), to: time(1_000 + seconds, 7) };
      const end = endOf(range, 60);
      if (seconds <= 60) assert.deepEqual(end, range.to);
      assert.ok(range.from.lessThan(end) && end.lessThanOrEqual(range.to));
    }
  });

  it('leaves nothing out between two ranges, and comes to the end', () => {
    const to = time(2_000, 5);
    let from = time(1_000, 3);
    let ranges = 0;
    while (from.lessThan(to)) {
      const end = endOf({ from, to }, 1);
      assert.ok(from.lessThan(end));
      from = end;
      ranges++;
    }
    assert.deepEqual(from, to);
    assert.equal(ranges, 1_000);
  });
});
