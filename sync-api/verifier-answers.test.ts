import assert from 'node:assert/strict';
import { readMismatches, readVerification } from './verifier-answers.ts';

describe('readVerification', () => {
  it('finds none without a phase', () => {
    for (const value of [undefined, null, 'idle', [], {}, { phase: null }])
      assert.equal(readVerification(value), undefined, JSON.stringify(value));
  });

  it('reads an error in whatever form a tool gives it', () => {
    const errorOf = (error: unknown) => readVerification({ phase: 'idle', error })?.error;
    for (const none of [undefined, null, '']) assert.equal(errorOf(none), undefined);
    assert.equal(errorOf('CheckFailed: x'), 'CheckFailed: x');
    assert.equal(errorOf({ code: 1 }), '{"code":1}');
  });

  it('distinguishes a verdict that is not known yet from a tool that reports none', () => {
    const verdictOf = (fields: object) => readVerification({ phase: 'idle', ...fields })?.verdict;
    assert.equal(verdictOf({ verdict: 'equal' }), 'equal');
    assert.equal(verdictOf({ verdict: null }), null);
    assert.equal(verdictOf({}), undefined);
    assert.equal(verdictOf({ verdict: 1 }), undefined);
  });

  it('reads how many documents a proof rests on by hashes, if a tool says so', () => {
    const hashedOf = (proof: unknown) =>
      readVerification({ phase: 'idle', proof })?.documentsHashed;
    assert.equal(hashedOf({ documentsHashed: 7 }), 7);
    for (const none of [undefined, null, {}, { documentsHashed: '7' }, { documentsHashed: 0.5 }])
      assert.equal(hashedOf(none), undefined);
  });

  it('omits rows that are not a name and a count', () => {
    const rows = [
      { kind: 'a', count: 2 },
      { kind: 'b' },
      { count: 1 },
      { kind: 'c', count: 0.5 },
      1,
    ];
    const mismatchKinds = readVerification({ phase: 'idle', mismatchKinds: rows })?.mismatchKinds;
    assert.deepEqual(mismatchKinds, [{ name: 'a', count: 2 }]);
  });
});

describe('readMismatches', () => {
  it('reads a page, and finds none if nothing is listed', () => {
    const mismatch = { namespace: 'a.b', kind: 'options', other: 1 };
    assert.deepEqual(readMismatches({ mismatches: [mismatch], next: 'x' }), {
      mismatches: [mismatch],
      next: 'x',
    });
    assert.equal(readMismatches({ mismatches: [], next: null })?.next, undefined);
    assert.equal(readMismatches({ success: true }), undefined);
  });
});
