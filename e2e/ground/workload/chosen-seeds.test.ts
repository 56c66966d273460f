import assert from 'node:assert/strict';
import {
  chosenCases,
  chosenSeeds,
  firstSeeds,
  inTurnOfDay,
  seedDate,
  shareOfDay,
} from './chosen-seeds.ts';

const day = { SEED_DATE: '2026-11-27' };

describe('the seeds of a random test', () => {
  it('are the one, or as many, as were asked for', () => {
    assert.deepEqual(chosenSeeds([1, 2, 3], {}, { ...day, SEED: '17' }), [17]);
    assert.deepEqual(chosenSeeds([8], {}, { ...day, SEEDS: '3' }), [1, 2, 3]);
  });

  it('are those of the day for a third of the given ones, and not for those that are kept', () => {
    assert.deepEqual(chosenSeeds([1], {}, day), [1]);
    assert.deepEqual(chosenSeeds([3, 4], {}, day), [3, 1_566_762_004]);
    assert.deepEqual(
      chosenSeeds(firstSeeds(6), { kept: [2] }, day),
      [2, 1, 1_566_762_003, 4, 5, 1_566_762_006],
    );
    assert.notDeepEqual(
      chosenSeeds([3, 4], {}, day),
      chosenSeeds([3, 4], {}, { SEED_DATE: '2026-11-28' }),
    );
  });

  it('stay odd, even, and what they are by three', () => {
    const given = firstSeeds(12);
    const chosen = chosenSeeds(given, {}, day);
    for (const divisor of [2, 3, 4, 5])
      assert.deepEqual(
        chosen.map((seed) => seed % divisor),
        given.map((seed) => seed % divisor),
      );
    assert.equal(chosen.filter((seed) => seed > 12).length, 4);
  });

  it('are those of today, unless a day is named', () => {
    assert.equal(seedDate({}, new Date('2026-11-27T23:59:59Z')), '2026-11-27');
    assert.equal(seedDate(day, new Date('2027-01-01T00:00:00Z')), '2026-11-27');
    assert.throws(() => chosenSeeds([1, 2], {}, { SEED_DATE: 'today' }), /SEED_DATE is a day/);
  });

  it('are a share of them on a day, and those that are kept on each', () => {
    const ofDay = (date: string): readonly number[] =>
      chosenSeeds(firstSeeds(7), { kept: [7], perDay: 2 }, { SEED_DATE: date });
    assert.deepEqual(ofDay('2026-11-27'), [7, 1, 1_566_762_002]);
    assert.deepEqual(ofDay('2026-11-28'), [7, 3, 4]);
    assert.deepEqual(ofDay('2026-11-29'), [7, 1_566_774_005, 6]);
  });
});

describe('the share of the day', () => {
  const cases = ['a', 'b', 'c', 'd', 'e'];
  const days = Array.from({ length: 10 }, (_, n) => ({ SEED_DATE: `2026-12-${n + 10}` }));

  it('has as many cases as were asked for, and all have their turn equally often', () => {
    for (const count of [1, 2, 3, 5]) {
      const shares = days.map((variables) => shareOfDay(cases, count, variables));
      for (const share of shares) assert.equal(share.length, count);
      const turns = cases.map((one) => shares.filter((share) => share.includes(one)).length);
      assert.deepEqual(turns, Array<number>(5).fill(2 * count));
    }
  });

  it('is all where there are no more, and where all are asked for', () => {
    assert.deepEqual(shareOfDay(cases, 7, day), cases);
    assert.deepEqual(shareOfDay(cases, 1, { ...day, ALL_CASES: '1' }), cases);
    assert.deepEqual(shareOfDay([], 1, day), []);
  });

  it('is that of a day which can be read', () => {
    for (const ALL_CASES of ['0', '1'])
      assert.throws(
        () => shareOfDay(cases, 1, { SEED_DATE: 'today', ALL_CASES }),
        /SEED_DATE is a day/,
      );
  });
});

describe('the turns of days', () => {
  it('begin with each case on some day, and have all of them', () => {
    const cases = firstSeeds(100);
    const days = firstSeeds(9).map((n) => inTurnOfDay(cases, { SEED_DATE: `2026-12-0${n}` }));
    for (const turn of days)
      assert.deepEqual(
        [...turn].sort((a, b) => a - b),
        cases,
      );
    assert.equal(new Set(days.map(([first]) => first)).size, 9);
    assert.deepEqual(inTurnOfDay([], day), []);
  });

  it('leave none to the end for long', () => {
    const cases = firstSeeds(100);
    const late = firstSeeds(9).flatMap((n) =>
      inTurnOfDay(cases, { SEED_DATE: `2026-12-0${n}` }).slice(-20),
    );
    for (const one of cases)
      assert.ok(late.filter((other) => other === one).length <= 3, String(one));
  });
});

describe('the chosen cases', () => {
  const cases = [
    { by: 'one', seed: 2 },
    { by: 'two', seed: 5 },
    { by: 'one', seed: 7 },
    { by: 'two', seed: 8 },
  ];

  it('are the share of the day, with a third of their seeds of the day', () => {
    assert.deepEqual(chosenCases(cases, 2, day), [
      { by: 'one', seed: 2 },
      { by: 'two', seed: 1_566_762_005 },
    ]);
    assert.deepEqual(chosenCases(cases, 2, { SEED_DATE: '2026-11-28' }), cases.slice(2));
  });

  it('are those of the seeds that were asked for, of each kind once', () => {
    assert.deepEqual(chosenCases(cases, 1, { ...day, SEEDS: '2' }), [
      { by: 'one', seed: 1 },
      { by: 'one', seed: 2 },
      { by: 'two', seed: 1 },
      { by: 'two', seed: 2 },
    ]);
    const asked = chosenCases(cases, 1, { ...day, SEED: '17' });
    assert.deepEqual(
      asked.map(({ by, seed }) => `${by} ${seed}`),
      ['one 17', 'two 17'],
    );
  });
});
