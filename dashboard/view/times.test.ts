import assert from 'node:assert/strict';
import { ageText, agoText, axisTime, copySecondsLeft, secondsBetween } from './times.ts';

const at = '2026-01-01T00:00:00Z';

describe('secondsBetween', () => {
  it('is not known without both times, and never negative', () => {
    assert.equal(secondsBetween(at, '2026-01-01T00:01:30Z'), 90);
    assert.equal(secondsBetween(at, Date.parse(at) - 5_000), 0);
    assert.equal(secondsBetween(null, at), undefined);
    assert.equal(secondsBetween(at, null), undefined);
    assert.equal(secondsBetween('soon', at), undefined);
  });
});

describe('agoText', () => {
  it('has the largest unit alone', () => {
    const texts = [2, 40, 125, 7_300, 200_000].map((seconds) =>
      agoText(at, Date.parse(at) + seconds * 1_000),
    );
    assert.deepEqual(texts, ['just now', '40 s ago', '2 min ago', '2 h ago', '2 d ago']);
  });
});

describe('ageText', () => {
  it('has the largest unit alone, and nothing where the age is not known', () => {
    const texts = [0, 40, 7_300, 200_000].map((seconds) =>
      ageText(at, Date.parse(at) + seconds * 1_000),
    );
    assert.deepEqual(texts, ['0 s', '40 s', '2 h', '2 d']);
    assert.equal(ageText(null, Date.parse(at)), '');
    assert.equal(ageText('soon', Date.parse(at)), '');
  });
});

describe('copySecondsLeft', () => {
  const known = { totalBytes: 100, copiedBytes: 40, bytesPerSecond: 30 };

  it('follows from the rate', () => {
    assert.equal(copySecondsLeft(known), 2);
  });

  it('is not known without a rate, or when all is copied', () => {
    assert.equal(copySecondsLeft({ ...known, bytesPerSecond: 0 }), undefined);
    assert.equal(copySecondsLeft({ ...known, totalBytes: null }), undefined);
    assert.equal(copySecondsLeft({ ...known, copiedBytes: 140 }), undefined);
  });
});

describe('axisTime', () => {
  it('is as exact as what the axis spans', () => {
    const atSeconds = new Date(2026, 0, 2, 3, 4, 5).getTime() / 1_000;
    assert.deepEqual(
      [60, 3_600, 90_000].map((spanSeconds) => axisTime(atSeconds, spanSeconds)),
      ['03:04:05', '03:04', '2 Jan, 03:04'],
    );
  });
});
