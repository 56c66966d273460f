import assert from 'node:assert/strict';
import { SyncError } from '../service/errors.ts';
import { genericErrorBody, progressErrorBody } from '../service/http-server.ts';
import { answeredError, isNotServed } from './answer-error.ts';
import { readSyncerCommand, readVerifierCommand, writesOffAlready } from './command-answer.ts';
import type { Failure, ProgressFailure } from './json.ts';

describe('answeredError', () => {
  it('reads the answers of our own programs to commands and to progress calls', () => {
    const error = new SyncError('CannotCommitYet', 'not yet: wait');
    const expected = { name: 'CannotCommitYet', description: 'not yet: wait' };
    const failure: Failure = genericErrorBody(error);
    const ofProgress: ProgressFailure = progressErrorBody(error);
    assert.deepEqual(answeredError(failure), expected);
    assert.deepEqual(answeredError(ofProgress), expected);
  });

  const cases: readonly (readonly [string, unknown, string | undefined, string])[] = [
    ['a name alone', { error: 'NotFound' }, 'NotFound', ''],
    ['words alone', { error: 'so it is: no' }, undefined, 'so it is: no'],
    ['words and more words', { error: 'no', errorDescription: 'x' }, undefined, 'no: x'],
    ['a connection string', { error: 'X1: mongodb://a:b@c/' }, 'X1', 'mongodb://<credentials>@c/'],
    [
      'a connection string without a name',
      { error: 'no', errorDescription: 'mongodb://a:b@c/' },
      undefined,
      'no: mongodb://<credentials>@c/',
    ],
  ];
  for (const [what, body, name, description] of cases) {
    it(`reads ${what}`, () => {
      assert.deepEqual(answeredError(body), { name, description });
    });
  }

  it('finds no error if there is none', () => {
    for (const body of [undefined, null, 'error', [], {}, { error: null }, { error: 1 }])
      assert.equal(answeredError(body), undefined);
  });
});

describe('isNotServed', () => {
  for (const [statuses, expected] of [
    [[404, 405, 501], true],
    [[200, 400, 401, 403, 409, 500, 502, 503], false],
  ] as const) {
    it(`is ${expected} for ${statuses.join(', ')}`, () => {
      for (const status of statuses) assert.equal(isNotServed(status), expected, String(status));
    });
  }
});

describe('the answer to a command', () => {
  const refused = { success: false, error: 'NotStarted', errorDescription: 'no' };
  const cases: readonly (readonly [string, number, unknown, string, string])[] = [
    ['what says so', 200, { success: true }, 'taken', 'taken'],
    ['an error with 200', 200, refused, 'refused', 'refused'],
    ['nothing with 200', 200, {}, 'unclear', 'taken'],
    ['nothing with 502', 502, {}, 'unclear', 'unclear'],
    ['no JSON with 502', 502, undefined, 'unclear', 'unclear'],
    ['a second writesOff', 200, writesOffAlready, 'refused', 'taken'],
  ];
  for (const [what, status, body, ofSyncer, ofVerifier] of cases) {
    it(`of a syncer is ${ofSyncer}, and of a verifier ${ofVerifier}: ${what}`, () => {
      assert.equal(readSyncerCommand({ status, body }).kind, ofSyncer);
      assert.equal(readVerifierCommand({ status, body }).kind, ofVerifier);
    });
  }
});
