import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  isTimeZone,
  limitsAt,
  unknownTimeZones,
  windowAt,
  type LimitWindow,
} from './limit-schedule.ts';

const berlin = { timeZone: 'Europe/Berlin', maxChangesPerSecond: 7 };

/** Whether a window has a time. */
function has(window: Pick<LimitWindow, 'from' | 'to' | 'timeZone'>, time: string): boolean {
  return windowAt([window], Date.parse(time)) !== undefined;
}

describe('limitsAt', () => {
  it('puts the limits of the first window that fits in the place of the others', () => {
    const limits = {
      ...{ maxChangesPerSecond: 100, maxConcurrentBatches: 3 },
      schedule: [
        { from: '08:00', to: '18:00', ...berlin },
        { from: '12:00', to: '13:00', ...berlin, maxChangesPerSecond: 8 },
      ],
    };
    const { schedule: _, ...others } = limits;
    assert.deepEqual(limitsAt(limits, Date.parse('2026-01-15T05:00:00Z')), others);
    assert.deepEqual(limitsAt(limits, Date.parse('2026-01-15T11:30:00Z')), {
      ...{ maxChangesPerSecond: 7, maxConcurrentBatches: 3 },
    });
    assert.deepEqual(limitsAt({}, 0), {});
  });
});

describe('a window in a time zone that is unknown', () => {
  const lost = { from: '08:00', to: '08:00', timeZone: 'Europe/Atlantis', maxChangesPerSecond: 7 };
  const known = { ...lost, timeZone: 'Europe/Berlin', maxChangesPerSecond: 8 };

  it('holds at no time, and is told', () => {
    assert.deepEqual(limitsAt({ schedule: [lost, known] }, 0), { maxChangesPerSecond: 8 });
    assert.deepEqual(limitsAt({ schedule: [lost] }, 0), {});
    assert.deepEqual(unknownTimeZones({ schedule: [lost, known, lost] }), ['Europe/Atlantis']);
    assert.deepEqual(unknownTimeZones({}), []);
  });
});

describe('windowAt', () => {
  it('goes by the clocks of the time zone, in summer and in winter', () => {
    const day = { from: '08:00', to: '18:00', timeZone: 'Europe/Berlin' };
    assert.equal(has(day, '2026-01-15T06:59:59Z'), false);
    assert.equal(has(day, '2026-01-15T07:00:00Z'), true);
    assert.equal(has(day, '2026-01-15T16:59:59Z'), true);
    assert.equal(has(day, '2026-01-15T17:00:00Z'), false);
    assert.equal(has(day, '2026-07-15T06:00:00Z'), true);
    assert.equal(has(day, '2026-07-15T16:00:00Z'), false);
    assert.equal(has({ from: '08:00', to: '18:00' }, '2026-07-15T17:59:00Z'), true);
  });

  it('has an hour twice when clocks go back, and none of the one that they leave out', () => {
    const night = { from: '02:00', to: '03:00', timeZone: 'Europe/Berlin' };
    const minutesOf = (from: string): number =>
      Array.from({ length: 360 }, (_, minute) => Date.parse(from) + minute * 60_000).filter(
        (atMs) => windowAt([night], atMs) !== undefined,
      ).length;
    assert.equal(minutesOf('2026-10-24T22:00:00Z'), 120);
    assert.equal(minutesOf('2026-03-28T22:00:00Z'), 0);
    assert.equal(minutesOf('2026-03-27T22:00:00Z'), 60);
  });

  it('goes over midnight, and lasts all day if it ends when it begins', () => {
    const night = { from: '22:00', to: '06:00', timeZone: 'Asia/Kolkata' };
    assert.equal(has(night, '2026-01-15T16:29:00Z'), false);
    assert.equal(has(night, '2026-01-15T16:30:00Z'), true);
    assert.equal(has(night, '2026-01-15T18:30:00Z'), true);
    assert.equal(has(night, '2026-01-16T00:29:00Z'), true);
    assert.equal(has(night, '2026-01-16T00:30:00Z'), false);
    const all = { from: '07:30', to: '07:30', timeZone: 'America/New_York' };
    for (const time of ['00:00', '12:29', '12:30', '23:59'])
      assert.equal(has(all, `2026-01-15T${time}:00Z`), true);
  });

  it('is in exactly one of a window and the rest of the day', () => {
    const time = fc
      .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
      .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'));
    const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/St_Johns', 'Pacific/Apia');
    const atMs = fc.integer({ min: 0, max: 4e12 });
    fc.assert(
      fc.property(time, time, zone, atMs, (from, to, timeZone, at) => {
        fc.pre(from !== to);
        const [one, rest] = [
          { from, to, timeZone },
          { from: to, to: from, timeZone },
        ];
        assert.notEqual(windowAt([one], at) === undefined, windowAt([rest], at) === undefined);
      }),
    );
  });
});

describe('isTimeZone', () => {
  it('knows those of the IANA, and no other', () => {
    for (const name of ['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires'])
      assert.equal(isTimeZone(name), true);
    for (const name of ['', 'Europe/Atlantis', 'CET+1:00', '../etc/passwd'])
      assert.equal(isTimeZone(name), false);
  });
});
