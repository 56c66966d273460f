import assert from 'node:assert/strict';
import { MongoNetworkError, MongoServerError } from 'mongodb';
import { SyncError } from '../service/errors.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { namedError, naming } from './named-error.ts';

describe('namedError', () => {
  const server = (code: number): Error => new MongoServerError({ code, message: 'no' });
  const fileError = (): Error =>
    Object.assign(new Error("ENOENT: no such file or directory, open '/nowhere/ca.pem'"), {
      ...{ code: 'ENOENT', syscall: 'open' },
    });
  const cases: readonly (readonly [what: string, error: unknown, plain: string, given: string])[] =
    [
      [
        'of a connection',
        new MongoNetworkError('lost'),
        'ClusterUnreachable',
        'ClusterUnreachable',
      ],
      [
        'of bytes that are no answer',
        new MalformedAnswer('a message of 3 bytes', 'db.example.com:27017'),
        'ServerAnswerMalformed',
        'ServerAnswerMalformed',
      ],
      ['of a file that is not there', fileError(), 'InvalidOption', 'InvalidOption'],
      ['of missing rights', server(13), 'MissingPrivileges', 'MissingPrivileges'],
      ['of a server', server(2), 'InternalError', 'CheckFailed'],
      ['that passes', server(11_601), 'ClusterUnreachable', 'ClusterUnreachable'],
      ['that a person must act on', server(14_031), 'ServerRefused', 'CheckFailed'],
      ['of the program', new TypeError('x'), 'InternalError', 'InternalError'],
      ['that has a name', new SyncError('NotFound', 'x'), 'NotFound', 'NotFound'],
    ];
  for (const [what, error, plain, given] of cases) {
    it(`calls an error ${what} ${plain}; ${given} where one is given for those of servers`, () => {
      assert.equal(namedError(error).name, plain);
      assert.equal(namedError(error, 'CheckFailed').name, given);
    });
  }

  it('keeps connection strings out', async () => {
    const failing = naming(() => Promise.reject(new Error('mongodb://user:secret@host/')));
    await assert.rejects(failing, (error) => !String(error).includes('secret'));
  });
});
