import assert from 'node:assert/strict';
import { chosenSeeds, firstSeeds, seedDate } from './chosen-seeds.ts';

const day = { SEED_DATE: '2026-11-27' };

describe('the seeds of a random test', () => {
  it('are the one, or as many, as were asked for', () => {
    assert.deepEqual(chosenSeeds([1, 2, 3], [], { ...day, SEED: '17' }), [17]);
    assert.deepEqual(chosenSeeds([8], [], { ...day, SEEDS: '3' }), [1, 2, 3]);
  });

  it('are those of the day for a third of the given ones, and not for those that are kept', () => {
    assert.deepEqual(chosenSeeds([1], [], day), [1]);
    assert.deepEqual(chosenSeeds([3, 4], [], day), [3, 1_566_762_004]);
    assert.deepEqual(
      chosenSeeds(firstSeeds(6), [2], day),
      [1, 2, 1_566_762_003, 4, 5, 1_566_762_006],
    );
    assert.notDeepEqual(
      chosenSeeds([3, 4], [], day),
      chosenSeeds([3, 4], [], { SEED_DATE: '2026-11-28' }),
    );
  });

  it('stay odd, even, and what they are by three', () => {
    const given = firstSeeds(12);
    const chosen = chosenSeeds(given, [], day);
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
    assert.throws(() => chosenSeeds([1, 2], [], { SEED_DATE: 'today' }), /SEED_DATE is a day/);
  });
});
