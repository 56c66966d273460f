import assert from 'node:assert/strict';
import fc from 'fast-check';
import { countDoubt, isSettledByStatistics, type CountEvidence } from './count-documents.ts';

/** What happens to a document around a read: whether it exists before, its inserts and deletes, and whether it exists after. */
interface History {
  readonly isThereAtFirst: boolean;
  /** Inserts and deletes, each possible in turn. */
  readonly changes: number;
  /** After how many of them the document is read. */
  readonly readAfter: number;
}

const history = fc.record({
  isThereAtFirst: fc.boolean(),
  changes: fc.nat(3),
  readAfter: fc.nat(3),
});

/** What a correct verification knows of documents with such histories, the same on both sides except for when they are read. */
function evidenceOf(histories: readonly (readonly [History, number])[]): CountEvidence {
  const read = { source: 0, destination: 0 };
  let inserted = 0;
  let deleted = 0;
  let there = 0;
  for (const [{ isThereAtFirst, changes, readAfter }, other] of histories) {
    const isThere = (after: number): boolean => (after % 2 === 0) === isThereAtFirst;
    if (isThere(Math.min(changes, readAfter))) read.source += 1;
    if (isThere(Math.min(changes, other))) read.destination += 1;
    if (isThere(changes)) there += 1;
    for (let number = 1; number <= changes; number++) {
      if (isThere(number)) inserted += 1;
      else deleted += 1;
    }
  }
  return {
    read,
    tally: {
      inserted: { source: inserted, destination: inserted },
      deleted: { source: deleted, destination: deleted },
    },
    counted: { source: there, destination: there },
    isExpiring: false,
  };
}

describe('countDoubt', () => {
  it('has no doubt of what was read whole, whenever documents came and went', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(history, fc.nat(3))), (histories) => {
        assert.equal(countDoubt(evidenceOf(histories)), undefined);
      }),
    );
  });

  it('doubts where one document was not read that no event tells of', () => {
    const quiet = history.map((each) => ({ ...each, changes: 0, isThereAtFirst: true }));
    fc.assert(
      fc.property(
        fc.array(fc.tuple(quiet, fc.nat(3)), { minLength: 1 }),
        fc.constantFrom('source' as const, 'destination' as const),
        fc.boolean(),
        (histories, side, isExpiring) => {
          const evidence = evidenceOf(histories);
          const read = { ...evidence.read, [side]: evidence.read[side] - 1 };
          assert.match(
            countDoubt({ ...evidence, isExpiring, read }) ?? '',
            new RegExp(`the ${side} counts`),
          );
        },
      ),
    );
  });

  it('doubts where a document is gone that no event tells of', () => {
    const none = { source: 0, destination: 0 };
    const sides = fc.constantFrom('source' as const, 'destination' as const);
    const numbers = fc.record({ read: fc.integer({ min: 1, max: 9 }), deleted: fc.nat(9) });
    fc.assert(
      fc.property(numbers, fc.nat(9), sides, ({ read, deleted }, inserted, side) => {
        fc.pre(deleted < read);
        const both = (count: number): CountEvidence['read'] => ({
          source: count,
          destination: count,
        });
        const tally = { inserted: both(inserted), deleted: both(deleted) };
        const least = { read: both(read), tally, isExpiring: false };
        assert.equal(countDoubt({ ...least, counted: both(read - deleted) }), undefined);
        assert.match(
          countDoubt({ ...least, counted: both(read - deleted - 1) }) ?? '',
          /the source counts/,
        );
        const counted = { ...both(read - deleted), [side]: read - deleted - 1 };
        assert.match(countDoubt({ ...least, counted }) ?? '', new RegExp(`the ${side} counts`));
        const quiet = { ...least, tally: { inserted: none, deleted: none } };
        assert.match(countDoubt({ ...quiet, counted: both(read - 1) }) ?? '', /the source counts/);
      }),
    );
  });

  it('excuses a side by its own events alone', () => {
    const none = { source: 0, destination: 0 };
    const read = { source: 5, destination: 5 };
    for (const [side, other] of [
      ['source', 'destination'],
      ['destination', 'source'],
    ] as const) {
      const one = { ...none, [other]: 1 };
      const doubtOf = (tally: CountEvidence['tally'], count: number): string | undefined =>
        countDoubt({
          ...{ read, tally, isExpiring: false },
          counted: { source: count, destination: count },
        });
      const expected = new RegExp(`the ${side} counts`);
      assert.match(doubtOf({ inserted: one, deleted: none }, 6) ?? '', expected);
      assert.match(doubtOf({ inserted: none, deleted: one }, 4) ?? '', expected);
    }
  });

  it('doubts where the sides count differently, whatever events allow', () => {
    const tally = {
      inserted: { source: 9, destination: 9 },
      deleted: { source: 9, destination: 9 },
    };
    const read = { source: 5, destination: 5 };
    const counted = { source: 5, destination: 4 };
    const evidence: CountEvidence = { read, tally, counted, isExpiring: false };
    assert.equal(countDoubt(evidence), 'the source counts 5 documents, the destination 4');
    assert.equal(countDoubt({ ...evidence, isExpiring: true }), undefined);
  });
});

describe('isSettledByStatistics', () => {
  const none = { source: 0, destination: 0 };
  const both = { source: 5, destination: 5 };
  const quiet: CountEvidence = {
    read: both,
    tally: { inserted: none, deleted: none },
    counted: both,
    isExpiring: false,
  };
  const busy: CountEvidence = {
    ...quiet,
    tally: { inserted: { source: 1, destination: 0 }, deleted: none },
  };
  const cases: readonly (readonly [string, CountEvidence, boolean])[] = [
    ['the numbers that were read', quiet, true],
    ['numbers within bounds that are wider', busy, false],
    ['the numbers that were read, and expire', { ...quiet, isExpiring: true }, true],
    [
      'the numbers that were read, where documents were deleted alone',
      { ...quiet, tally: { inserted: none, deleted: { source: 1, destination: 1 } } },
      false,
    ],
    ['others', { ...quiet, counted: none }, false],
  ];
  for (const [what, evidence, expected] of cases) {
    it(`is ${expected} for ${what}`, () => {
      assert.equal(isSettledByStatistics(evidence), expected);
    });
  }
});
