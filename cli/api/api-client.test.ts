import assert from 'node:assert/strict';
import { answeredError } from '../../sync-api/answer-error.ts';
import { errorOf } from './api-client.ts';

describe('errorOf', () => {
  const cases: readonly (readonly [string, Record<string, unknown>, string])[] = [
    [
      'a command that was not taken',
      { success: false, error: 'CannotCommitYet', errorDescription: 'not yet' },
      'CannotCommitYet: not yet',
    ],
    [
      'a progress that failed',
      { error: 'OplogRolledOver: too late: 1' },
      'OplogRolledOver: too late: 1',
    ],
    ['a name of another version', { error: 'Odd: so' }, 'InternalError: Odd: so'],
    ['no name at all', { error: 'so it is' }, 'InternalError: so it is'],
  ];
  for (const [what, answer, expected] of cases) {
    it(`names ${what}`, () => {
      const answered = answeredError(answer);
      assert.ok(answered);
      const error = errorOf(answered);
      assert.equal(`${error.name}: ${error.message}`, expected);
    });
  }
});
