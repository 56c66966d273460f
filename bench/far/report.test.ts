import assert from 'node:assert/strict';
import { backlogTable, copyTable, plotOf } from './report.ts';

const backlog = {
  shape: 'many documents',
  collections: 1,
  farSide: 'destination',
  roundTripMs: 0,
  round: 1,
  events: 1_000,
  eventsPerSecond: 20_000,
  cpuMicroseconds: 20,
  peakMebibytes: 300,
} as const;

const copy = {
  set: 'large',
  farSide: 'destination',
  roundTripMs: 0,
  round: 1,
  seconds: 5,
  megabytesPerSecond: 100,
  peakMebibytes: 280,
} as const;

describe('the report of far', () => {
  const backlogs = [
    backlog,
    { ...backlog, roundTripMs: 50, eventsPerSecond: 16_000 },
    { ...backlog, collections: 100, eventsPerSecond: 10_000, peakMebibytes: 310 },
    { ...backlog, collections: 100, round: 2, eventsPerSecond: 12_000 },
  ];
  const copies = [
    copy,
    { ...copy, roundTripMs: 50, megabytesPerSecond: 90 },
    { ...copy, set: 'small', megabytesPerSecond: 60 },
    { ...copy, set: 'small', roundTripMs: 50, megabytesPerSecond: 30 },
  ];

  it('has the median of all rounds, compared with one collection near', () => {
    assert.deepEqual(backlogTable(backlogs).split('\n').slice(2, -1), [
      '| many documents | 1 | destination | 0 | 20000 | 1.00 | 300 |',
      '| many documents | 1 | destination | 50 | 16000 | 0.80 | 300 |',
      '| many documents | 100 | destination | 0 | 11000 | 0.55 | 310 |',
    ]);
  });

  it('compares each copy with that of the same set near', () => {
    assert.deepEqual(copyTable(copies).split('\n').slice(2, -1), [
      '| large | destination | 0 | 100 | 1.00 | 280 |',
      '| large | destination | 50 | 90 | 0.90 | 280 |',
      '| small | destination | 0 | 60 | 1.00 | 280 |',
      '| small | destination | 50 | 30 | 0.50 | 280 |',
    ]);
  });

  it('shows each rate as a bar', () => {
    assert.equal(plotOf(copies, backlogs).match(/<rect/g)?.length, 7);
    assert.equal(plotOf([], backlogs).match(/<rect/g)?.length, 3);
  });
});
