import assert from 'node:assert/strict';
import { errorIn } from './api-client.ts';

describe('errorIn', () => {
  const cases: readonly (readonly [string, Record<string, unknown>, string | undefined])[] = [
    ['a command that was taken', { success: true }, undefined],
    [
      'one that was not',
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
    ['a second writesOff', { error: 'writesOff already set' }, undefined],
  ];
  for (const [what, answer, expected] of cases) {
    it(`reads ${what}`, () => {
      const error = errorIn(answer);
      assert.equal(error && `${error.name}: ${error.message}`, expected);
    });
  }
});
