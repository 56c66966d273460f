import assert from 'node:assert/strict';
import { GrowingInterval, summaryOf } from './progress-log.ts';

describe('GrowingInterval', () => {
  const told = (hours: number): number => {
    const interval = new GrowingInterval(0);
    let count = 0;
    for (let second = 0; second <= hours * 3600; second++)
      if (interval.isDue(second * 1000)) count++;
    return count;
  };

  it('tells soon at first, and seldom in the end', () => {
    assert.equal(told(1 / 360), 1);
    assert.ok(told(1) <= 12, String(told(1)));
    assert.equal(told(48) - told(24), 24);
    assert.ok(told(48) < 70, String(told(48)));
  });
});

describe('summaryOf', () => {
  const monitor = {
    copiedBytes: 50,
    indexBuilding: null,
    lagSeconds: 3,
    catchUpSeconds: 4,
    eventsApplied: 5,
    oplogSecondsLeft: 6,
  };

  it('tells how far a copy is', () => {
    assert.deepEqual(summaryOf({ phase: 'copy', estimatedTotalBytes: 200 }, monitor), {
      message: 'copying',
      figures: { percent: 25, copiedBytes: 50, oplogSecondsLeft: 6 },
    });
    assert.deepEqual(summaryOf({ phase: 'copy', estimatedTotalBytes: 0 }, monitor)?.figures, {
      percent: 100,
      copiedBytes: 50,
      oplogSecondsLeft: 6,
    });
  });

  it('tells the lag, and nothing in phases that end by themselves', () => {
    assert.deepEqual(summaryOf({ phase: 'changes', estimatedTotalBytes: 200 }, monitor), {
      message: 'applying changes',
      figures: { lagSeconds: 3, catchUpSeconds: 4, eventsApplied: 5, oplogSecondsLeft: 6 },
    });
    assert.equal(summaryOf({ phase: 'done', estimatedTotalBytes: 200 }, monitor), undefined);
  });
});
