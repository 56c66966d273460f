import assert from 'node:assert/strict';
import type { CopyResult } from './measure.ts';
import { median } from '../statistics.ts';
import { plotOf, rowsOf, tableOf } from './report.ts';

const result = (contender: string, seconds: number, peakMebibytes = 10): CopyResult => ({
  set: 'small',
  contender,
  round: 1,
  seconds,
  megabytes: 100,
  tool: { cpuSeconds: 2, peakMebibytes },
  mongodCpuSeconds: 3,
});

describe('the report of the copy bench', () => {
  const rows = rowsOf([
    result('floor, indexes after', 10),
    result('clustersync afterDataCopy', 11, 20),
    result('floor, indexes before', 20),
    result('clustersync beforeDataCopy', 30),
    result('clustersync afterDataCopy', 13, 30),
  ]);

  it('takes the median of the rounds, and the largest memory', () => {
    const [, after] = rows;
    assert.equal(after?.seconds, 12);
    assert.equal(after.peakMebibytes, 30);
  });

  it('compares with the floor that builds the indexes at the same time', () => {
    assert.deepEqual(
      rows.map(({ overFloor }) => overFloor),
      [undefined, 1.2, undefined, 1.5],
    );
  });

  it('is a table and a plot', () => {
    const lines = tableOf(rows).split('\n');
    assert.equal(
      lines[3],
      '| small | clustersync afterDataCopy | 12.0 | 8.3 | 1.20 | 2.0 | 3.0 | 30 |',
    );
    const plot = plotOf(rows);
    assert.equal(plot.match(/<rect /g)?.length, 4);
    assert.match(plot, /width="480" height="13"/);
  });
});

describe('median', () => {
  it('is the middle, or between the two in the middle', () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 3]), 2.5);
    assert.throws(() => median([]));
  });
});
