import assert from 'node:assert/strict';
import { RateMeter } from './rate-meter.ts';

describe('RateMeter', () => {
  const cases: readonly (readonly [
    string,
    readonly (readonly [number, number])[],
    number | null,
  ])[] = [
    ['nothing', [], null],
    ['one sample', [[5, 0]], null],
    [
      'two at one time',
      [
        [5, 0],
        [9, 0],
      ],
      null,
    ],
    [
      'growth',
      [
        [0, 0],
        [50, 500],
        [200, 1000],
      ],
      200,
    ],
    [
      'standstill',
      [
        [7, 0],
        [7, 2000],
      ],
      0,
    ],
    [
      'a restart',
      [
        [900, 0],
        [5, 1000],
        [25, 3000],
      ],
      10,
    ],
    [
      'long ago',
      [
        [0, 0],
        [1000, 1000],
        [1000, 11_000],
        [1000, 21_000],
      ],
      0,
    ],
  ];
  for (const [what, samples, expected] of cases) {
    it(`of ${what} is ${String(expected)}`, () => {
      const meter = new RateMeter();
      for (const [value, atMs] of samples) meter.add(value, atMs);
      assert.equal(meter.perSecond, expected);
    });
  }
});
