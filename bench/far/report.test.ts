import assert from 'node:assert/strict';
import { plotOf, rowsOf, tableOf } from './report.ts';

const result = {
  collections: 1,
  farSide: 'destination',
  roundTripMs: 0,
  round: 1,
  events: 1_000,
  eventsPerSecond: 20_000,
  cpuMicroseconds: 20,
  peakMebibytes: 300,
} as const;

describe('the report of far', () => {
  const rows = rowsOf([
    { ...result, collections: 100, eventsPerSecond: 10_000, peakMebibytes: 310 },
    { ...result, roundTripMs: 50, eventsPerSecond: 16_000 },
    result,
    { ...result, collections: 100, round: 2, eventsPerSecond: 12_000 },
  ]);

  it('has the median of all rounds, against one collection near', () => {
    assert.deepEqual(
      rows.map(({ eventsPerSecond, ratio }) => [eventsPerSecond, ratio]),
      [
        [11_000, 0.55],
        [16_000, 0.8],
        [20_000, 1],
      ],
    );
    assert.match(tableOf(rows), /\| 100 \| destination \| 0 \| 11000 \| 0\.55 \| 20 \| 310 \|/);
  });

  it('shows each rate as a bar', () => {
    assert.equal(plotOf(rows).match(/<rect/g)?.length, rows.length);
  });
});
