import assert from 'node:assert/strict';
import { bytesText, countOf, durationText, percentText, rateText } from './quantities.ts';

describe('bytesText', () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '0 B'],
    [-1, '0 B'],
    [999, '999 B'],
    [999.6, '1.0 kB'],
    [1000, '1.0 kB'],
    [99_949, '99.9 kB'],
    [99_960, '100 kB'],
    [999_499, '999 kB'],
    [999_600, '1.0 MB'],
    [1_234_567_890, '1.2 GB'],
    [5e15, '5.0 PB'],
    [5e18, '5000 PB'],
  ];
  for (const [bytes, text] of cases) {
    it(`${bytes} is ${text}`, () => {
      assert.equal(bytesText(bytes), text);
    });
  }
});

describe('durationText', () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '0 s'],
    [-5, '0 s'],
    [0.4, '0 s'],
    [59.6, '1 min'],
    [65, '1 min 5 s'],
    [3600, '1 h'],
    [3661, '1 h 1 min'],
    [86_400, '1 d'],
    [90_061, '1 d 1 h'],
    [86_460, '1 d'],
    [31_536_000, '365 d'],
  ];
  for (const [seconds, text] of cases) {
    it(`${seconds} is ${text}`, () => {
      assert.equal(durationText(seconds), text);
    });
  }
});

describe('percentText', () => {
  const cases: readonly (readonly [number, string])[] = [
    [0, '0 %'],
    [0.0001, '1 %'],
    [0.456, '46 %'],
    [0.9999, '99 %'],
    [1, '100 %'],
    [1.5, '100 %'],
    [-1, '0 %'],
  ];
  for (const [fraction, text] of cases) {
    it(`${fraction} is ${text}`, () => {
      assert.equal(percentText(fraction), text);
    });
  }
});

describe('rateText and countOf', () => {
  it('have a decimal below ten, and a plural', () => {
    assert.deepEqual([0, 0.25, 9.94, 9.96, 12_345.6].map(rateText), [
      '0',
      '0.3',
      '9.9',
      '10',
      '12,346',
    ]);
    assert.deepEqual(
      [0, 1, 1000].map((count) => countOf(count, 'index', 'indexes')),
      ['0 indexes', '1 index', '1,000 indexes'],
    );
  });
});
