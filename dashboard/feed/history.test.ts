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
    assert.ok(times.length <= 242, `${times.length} points`);
    assert.ok(times.length >= 100, `${times.length} points`);
    assert.equal(times[0], 0);
    assert.equal(times.at(-1), 100_001);
    assert.deepEqual(
      times,
      [...new Set(times)].toSorted((one, other) => one - other),
    );
    const steps = new Set(times.slice(1, -2).map((at, index) => at - (times[index] ?? 0)));
    assert.equal(steps.size, 1);
  });

  it('keeps the longest lag and the smallest oplog of what it leaves out', () => {
    // Long before the end, so that they have been thinned out several times, and shortly before.
    for (const worstAt of [1, 2, 101, 102, 103, 104, 3_001, 3_002, 3_003, 99_990]) {
      const history = new History();
      for (let second = 0; second <= 100_001; second++) {
        const isWorst = second === worstAt;
        const lagSeconds = isWorst ? 70 : 3;
        history.add(second * 1_000, {
          ...figures(second),
          lagSeconds: second === worstAt + 1 ? null : lagSeconds,
          oplogSeconds: isWorst ? 5 : 90,
        });
      }
      const worst = history.points.filter(([, , lag, , oplog]) => lag === 70 && oplog === 5);
      assert.equal(worst.length, 1, `at ${worstAt}`);
      const step = (history.points[1]?.[0] ?? 0) - (history.points[0]?.[0] ?? 0);
      const [at = 0, copiedBytes] = worst[0] ?? [];
      assert.ok(at >= worstAt && at - worstAt <= step, `${at} instead of ${worstAt}`);
      assert.equal(copiedBytes, at, 'what is counted is of the time of the point');
    }
  });

  it('has the newest figures as they are, whenever they come', () => {
    const committed = { ...figures(3), lagSeconds: 0, oplogSeconds: null };
    for (const before of [0, 1, 2, 5, 1_000]) {
      for (const pauseMs of [50, 700, 1_000, 5_000]) {
        const history = new History();
        for (let index = 0; index <= before; index++) history.add(index * 400, figures(2));
        history.add(before * 400 + pauseMs, committed);
        const newest = history.points.at(-1)?.slice(1);
        assert.deepEqual(newest, [3, 0, null, null], `${pauseMs} ms after ${before} others`);
      }
    }
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
