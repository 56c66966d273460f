import assert from 'node:assert/strict';
import type { VerificationSummary } from '../api/sync-view.ts';
import { commitWords, lagNote, noDifferencesText, passPercent } from './figure-words.ts';
import { rowOf } from './testing/rows.ts';

const ready = { isReady: true, message: 'every instance can commit' };
const copying = rowOf('a', { phase: 'InitialCopy', copiedBytes: 10, percent: 1 });
const committed = rowOf('a', { phase: 'Committed' });
const verification: VerificationSummary = {
  ...{ name: 'check', phase: 'Checking', verdict: null, mismatches: null },
  ...{ isPart: false, isStalled: false },
};

describe('the figure of the commit', () => {
  it('is ready only if a commit is, and says why it is not', () => {
    assert.deepEqual(commitWords(rowOf('a', { commitReadiness: ready }), []), {
      word: 'Ready',
      note: 'every instance can commit',
    });
    assert.deepEqual(commitWords(rowOf('a'), []), { word: 'Not yet', note: 'the lag is 20 s' });
    assert.deepEqual(commitWords(copying, []), {
      word: 'Not yet',
      note: 'the copy must be complete first',
    });
    // A tool need not say how much is copied.
    const unknown = rowOf('a', { commitReadiness: ready, percent: null });
    assert.equal(commitWords(unknown, []).note, 'every instance can commit');
  });

  it('does not call a destination complete that differs', () => {
    const others = [
      ...[{ verdict: 'equal' }, { verdict: 'different' }, { verdict: null }],
      ...[{ mismatches: 2 }, { phase: 'Failed' }, { isStalled: true }],
    ] as const;
    const notes = others.map((other) => {
      const verifications = [
        { ...verification, verdict: 'equal' as const },
        { ...verification, ...other },
      ];
      const { word, note } = commitWords(committed, verifications);
      return `${word}: ${note}`;
    });
    const complete = 'Done: the destination is complete';
    assert.deepEqual(notes, [
      ...[complete, 'Done: but the data differs', complete],
      'Done: but a verification has found differences so far',
      'Done: but a verification has failed',
      'Done: but a verification is stalled',
    ]);
  });
});

describe('the progress of a pass', () => {
  const pass = { phase: 'Checking', verdict: null, documentsDone: 50, documentsTotal: 200 };
  const cases: readonly (readonly [string, Partial<Parameters<typeof passPercent>[0]>, unknown])[] =
    [
      ['is what is compared of it', {}, 25],
      ['is never all of it while it runs', { documentsDone: 300 }, 99],
      ['is unknown without a number', { documentsDone: null }, undefined],
      ['is unknown without a total', { documentsTotal: null }, undefined],
      ['is unknown of nothing', { documentsTotal: 0 }, undefined],
      ['is none once there is a verdict', { verdict: 'equal' }, undefined],
      ['is none of one that has failed', { phase: 'Failed' }, undefined],
      ['is none of one that is outdated', { phase: 'Succeeded' }, undefined],
    ];
  for (const [what, parts, expected] of cases)
    it(what, () => {
      assert.equal(passPercent({ ...pass, ...parts }), expected);
    });
});

describe('what is said of a verification without differences', () => {
  it('names what was compared, and does not take a lack of differences for a verdict', () => {
    const texts = (['equal', null] as const).map((verdict) =>
      [false, true].map((isPart) => noDifferencesText({ verdict, isPart })),
    );
    assert.deepEqual(texts, [
      ['The data is equal.', 'What spec.filter selects is equal; nothing else is compared.'],
      ['No differences so far.', 'No differences so far in what spec.filter selects.'],
    ]);
  });
});

describe('the note of the lag', () => {
  it('says that it has caught up only if that is known, and after the copy', () => {
    const notes = [rowOf('a'), copying, committed].map((row) =>
      [0, 90, null].map((seconds) => lagNote(row, seconds)),
    );
    assert.deepEqual(notes, [
      ['caught up', 'caught up in 1 min 30 s', 'behind the source'],
      Array.from({ length: 3 }, () => 'changes are applied after the copy'),
      Array.from({ length: 3 }, () => 'nothing left to apply'),
    ]);
  });
});
