import assert from 'node:assert/strict';
import { untilOpenMs, windowAt, windowEndMs, type WindowOptions } from './window.ts';

const nowMs = Date.UTC(2026, 11, 5, 22);
const now = '2026-12-05T22:00:00Z';
const before = '2026-12-05T21:59:59Z';
const later = '2026-12-05T22:00:01Z';

describe('the window of an automatic commit', () => {
  const cases: readonly (readonly [string, WindowOptions, string, number])[] = [
    ['is open without limits', {}, 'open', Infinity],
    ['opens at its beginning', { notBefore: now }, 'open', Infinity],
    ['is open after its beginning', { notBefore: before }, 'open', Infinity],
    ['is not open before', { notBefore: later }, 'early', Infinity],
    ['is open before its end', { notAfter: later }, 'open', nowMs + 1000],
    ['is over at its end', { notAfter: now }, 'over', nowMs],
    ['is over after its end', { notAfter: before }, 'over', nowMs - 1000],
    ['is open between', { notBefore: before, notAfter: later }, 'open', nowMs + 1000],
    ['is over rather than early', { notBefore: later, notAfter: before }, 'over', nowMs - 1000],
    ['reads other time zones', { notAfter: '2026-12-06T00:00:01+02:00' }, 'open', nowMs + 1000],
    [
      'stays closed where its beginning cannot be read',
      { notBefore: 'tonight' },
      'early',
      Infinity,
    ],
    ['stays closed where its end cannot be read', { notAfter: 'tonight' }, 'over', 0],
  ];
  for (const [what, options, kind, endMs] of cases) {
    it(what, () => {
      assert.equal(windowAt(nowMs, options).kind, kind);
      assert.equal(windowEndMs(options), endMs);
    });
  }

  it('is awaited for as long as it takes to open', () => {
    assert.equal(untilOpenMs(later, nowMs), 1_000);
    assert.equal(untilOpenMs(before, nowMs), 0);
    assert.equal(untilOpenMs('tonight', nowMs), Infinity);
  });

  it('names the time at which it opens', () => {
    assert.deepEqual(windowAt(nowMs, { notBefore: later }), { kind: 'early', opensAt: later });
  });
});
