import assert from 'node:assert/strict';
import { History } from './history.ts';

function figures(copiedBytes: number | null, eventsApplied: number | null = null) {
  return { copiedBytes, lagSeconds: 3, eventsApplied, oplogSeconds: 90 };
}

describe('History', () => {
  it('has a point for each second at first', () => {
    const history = new History();
    for (let second = 0; second < 5; second++) history.add(second * 1_000, figures(second * 10));
    assert.deepEqual(
      history.points,
      [0, 1, 2, 3, 4].map((second) => [second, second * 10, 3, null, 90]),
    );
  });

  it('has the whole time in a bounded number of points, and the newest figures', () => {
    const history = new History();
    for (let second = 0; second <= 100_001; second++) history.add(second * 1_000, figures(second));
    const times = history.points.map(([at]) => at);
    assert.ok(times.length <= 241, `${times.length} points`);
    assert.ok(times.length >= 100, `${times.length} points`);
    assert.equal(times[0], 0);
    assert.equal(times.at(-1), 100_001);
    const steps = new Set(times.slice(1, -1).map((at, index) => at - (times[index] ?? 0)));
    assert.equal(steps.size, 1);
  });

  it('tells the rates of the last seconds', () => {
    const history = new History();
    history.add(0, figures(0, 0));
    assert.equal(history.bytesPerSecond, null);
    for (let second = 1; second <= 30; second++) {
      history.add(second * 1_000, figures(second < 15 ? 0 : (second - 15) * 100, second * 7));
    }
    assert.equal(history.bytesPerSecond, 100);
    assert.equal(history.eventsPerSecond, 7);
  });

  it('has no rate where a count has restarted, or is not known', () => {
    const history = new History();
    history.add(0, figures(500));
    history.add(2_000, figures(100));
    assert.equal(history.bytesPerSecond, null);
    assert.equal(history.eventsPerSecond, null);
  });
});
