import assert from 'node:assert/strict';
import fc from 'fast-check';
import { microTime, secondTime } from './micro-time.ts';

describe('microTime', () => {
  it('has exactly six fractional digits', () => {
    assert.equal(microTime(Date.UTC(2026, 10, 21, 5, 6, 7, 8)), '2026-11-21T05:06:07.008000Z');
    assert.equal(microTime(0.25), '1970-01-01T00:00:00.000250Z');
    fc.assert(
      fc.property(fc.double({ min: 0, max: 4e12, noNaN: true }), (ms) => {
        assert.match(microTime(ms), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
        assert.equal(Date.parse(microTime(ms)), Math.floor(ms));
      }),
    );
  });
});

describe('secondTime', () => {
  it('has whole seconds', () => {
    assert.equal(secondTime(Date.UTC(2026, 10, 21, 5, 6, 7, 999)), '2026-11-21T05:06:07Z');
  });
});
