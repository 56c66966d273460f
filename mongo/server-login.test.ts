import assert from 'node:assert/strict';
import { Binary } from 'mongodb';
import { checkLogin } from './server-login.ts';

const start = { saslStart: 1, mechanism: 'SCRAM-SHA-256' };

function answerOf(text: string): object {
  return { ok: 1, conversationId: 1, done: false, payload: new Binary(Buffer.from(text)) };
}

describe('checkLogin', () => {
  it('takes what servers answer', () => {
    for (const rounds of [4_096, 10_000, 15_000, 1_000_000])
      checkLogin(start, answerOf(`r=nonce,s=c2FsdA==,i=${rounds}`));
    checkLogin({ hello: 1 }, { ok: 1 });
    checkLogin({ ...start, mechanism: 'PLAIN' }, { ok: 1, done: true });
    checkLogin({ hello: 1, speculativeAuthenticate: start }, { ok: 1 });
  });

  for (const rounds of ['0', '1', '4095', '1000001', '2147483647', '9'.repeat(1000), '-1', '1e9'])
    it(`refuses to work for ${rounds.slice(0, 20)} rounds`, () => {
      const answer = answerOf(`r=nonce,s=c2FsdA==,i=${rounds}`);
      const asked = { hello: 1, speculativeAuthenticate: start };
      for (const [command, said] of [
        [start, answer],
        [asked, { ok: 1, speculativeAuthenticate: answer }],
      ] as const)
        assert.throws(
          () => {
            checkLogin(command, said);
          },
          { name: 'AuthenticationFailed' },
        );
    });

  for (const payload of [undefined, 'r=nonce', new Binary(Buffer.from('{"issuer": 1}')), 5])
    it(`takes ${String(payload)} for no answer`, () => {
      const answer = { ok: 1, done: false, payload };
      assert.throws(
        () => {
          checkLogin(start, answer);
        },
        { name: 'AuthenticationFailed', message: /does not answer the login/ },
      );
    });
});
