import assert from 'node:assert/strict';
import { tlsProblem } from './tls-errors.ts';

function failed(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}

describe('tlsProblem', () => {
  it('finds the error of TLS within those of the driver, and says what to do', () => {
    const expired = failed('CERT_HAS_EXPIRED', 'certificate has expired');
    const text =
      'certificate has expired: renew the certificate of the server, or of its authority';
    assert.equal(tlsProblem(expired), text);
    const wrapped = new Error('selection', { cause: new Error('network', { cause: expired }) });
    assert.equal(tlsProblem(wrapped), text);
  });

  it('knows no other errors, and no end of causes', () => {
    const circle = new Error('a');
    circle.cause = circle;
    for (const error of [undefined, 'CERT_HAS_EXPIRED', failed('ECONNREFUSED', 'no'), circle])
      assert.equal(tlsProblem(error), undefined);
  });
});
