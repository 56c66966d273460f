import assert from 'node:assert/strict';
import { durationAxis } from './duration-axis.ts';

const day = 86_400;

describe('an axis of durations', () => {
  it('ends with the first mark that holds the largest', () => {
    const ends = [0, 2, 60, 61, 3_601, 40 * 3_600, 31 * day, 365 * day].map((largest) =>
      durationAxis(largest).marks.at(-1),
    );
    assert.deepEqual(ends, [60, 60, 60, 3_600, day, 30 * day, 365 * day, 365 * day]);
    assert.deepEqual(durationAxis(40 * 3_600).marks, [0, 1, 60, 3_600, day, 30 * day]);
  });

  it('has a place for nothing, and the same distance between decades', () => {
    const { heightOf } = durationAxis(day);
    assert.equal(heightOf(0), 0);
    assert.equal(heightOf(-3), 0);
    assert.equal(heightOf(day), 1);
    const heights = [0, 1, 10, 100, 1_000, 10_000].map(heightOf);
    const steps = heights.slice(1).map((height, index) => height - (heights[index] ?? 0));
    for (const step of steps) assert.ok(Math.abs(step - (steps[0] ?? 0)) < 1e-9, String(steps));
  });

  it('shows a lag of seconds below an oplog of days, both far from the edges', () => {
    const { heightOf } = durationAxis(40 * 3_600);
    const [lag, oplog] = [heightOf(2), heightOf(40 * 3_600)];
    assert.ok(lag > 0.1 && lag < 0.3, String(lag));
    assert.ok(oplog > 0.7 && oplog < 0.95, String(oplog));
  });

  it('has marks far enough apart to be labelled, however long it is', () => {
    for (const largest of [0, 3_600, day, 30 * day, 365 * day]) {
      const { marks, heightOf } = durationAxis(largest);
      const heights = marks.map(heightOf);
      for (const [index, height] of heights.slice(1).entries())
        assert.ok(height - (heights[index] ?? 0) > 0.1, `${largest}: ${heights.join(' ')}`);
    }
  });

  it('holds what is longer than any mark', () => {
    const { marks, heightOf } = durationAxis(800 * day);
    assert.equal(marks.at(-1), 365 * day);
    assert.equal(heightOf(800 * day), 1);
    assert.ok(heightOf(365 * day) < 1);
  });
});
