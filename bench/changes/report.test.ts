import assert from 'node:assert/strict';
import { percentile } from '../statistics.ts';
import { plotOf, textOf, type ChangesRound } from './report.ts';

const delays = (ms: number): { synced: number[]; direct: number[] } => ({
  synced: [ms, ms * 2],
  direct: [ms / 2],
});
const round = (eventsPerSecond: number): ChangesRound => ({
  loadAverage: 2.25,
  backlog: {
    events: 1_000,
    floorPerSecond: 20_000,
    eventsPerSecond,
    floorCost: { seconds: 1, cpuSeconds: { destination: 0.02, bench: 0.01 } },
    applyCost: { seconds: 1, cpuSeconds: { destination: 0.03, source: 0.01, syncer: 0.005 } },
  },
  singleWrites: delays(6),
  live: { ...delays(20), operationsPerSecond: 500, maxLagTimeSeconds: 1, catchUpMs: 7.4 },
});
const results = {
  at: '2026-01-01',
  machine: '2 cores',
  members: 1,
  rounds: [round(15_000), round(10_000)],
};

describe('the report of the changes bench', () => {
  it('has the ratio of each round, and the delays of all rounds together', () => {
    const lines = textOf(results).split('\n');
    assert.deepEqual(
      lines.filter((line) => /^\| (2.3|synced( beside the load)?|500) \|/.test(line)),
      [
        '| 2.3 | 1000 | 20000 | 15000 | 0.75 | 20.0 | 30.0 | 10.0 | 5.0 |',
        '| 2.3 | 1000 | 20000 | 10000 | 0.50 | 20.0 | 30.0 | 10.0 | 5.0 |',
        '| synced | 4 | 6.0 | 12.0 | 12.0 |',
        '| synced beside the load | 4 | 20.0 | 40.0 | 40.0 |',
        '| 500 | 40 | 1 | 7 |',
        '| 500 | 40 | 1 | 7 |',
      ],
    );
  });

  it('is a plot', () => {
    assert.equal(plotOf(results).match(/<rect /g)?.length, 4 + 4 + 4);
  });

  it('takes percentiles of few values', () => {
    const hundred = Array.from({ length: 100 }, (_, index) => index + 1);
    assert.deepEqual([percentile(hundred, 0.5), percentile(hundred, 0.99)], [50, 99]);
    assert.equal(percentile([3], 0.99), 3);
    assert.throws(() => percentile([], 0.5), /no values/);
  });
});
