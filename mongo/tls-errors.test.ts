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

  for (const [code, action] of [
    [
      'SELF_SIGNED_CERT_IN_CHAIN',
      /^failed: the certificate of the server is signed by an authority/,
    ],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /Name its authority/],
    ['UNABLE_TO_GET_ISSUER_CERT', /Name its authority/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /Name its authority/],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /Name its authority/],
    ['CERT_NOT_YET_VALID', /compare the clocks/],
    ['CERT_REVOKED', /has revoked it/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /name the servers/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /the server does not use TLS/],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', /does not accept the certificate of the client/],
    ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN', /does not accept the certificate of the client/],
    ['ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE', /does not accept the certificate of the client/],
    ['ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED', /does not accept the certificate of the client/],
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', /does not accept the certificate of the client/],
  ] as const) {
    it(`says what to do about ${code}`, () => {
      assert.match(tlsProblem(failed(code, 'failed')) ?? '', action);
    });
  }

  it('knows a server that ends the connection within the handshake, which has no code of its own', () => {
    const text = 'Client network socket disconnected before secure TLS connection was established';
    assert.match(
      tlsProblem(new Error(text, { cause: failed('ECONNRESET', text) })) ?? '',
      /established: if the server does not use TLS, omit tls, .+; otherwise its log says why/,
    );
  });

  it('tells the reason of OpenSSL without the place in its source', () => {
    const text = '40:error:0A00010B:SSL routines:f:wrong version number:../ssl/record.c:77:\n';
    const error = failed('ERR_SSL_WRONG_VERSION_NUMBER', text);
    const told = tlsProblem(Object.assign(error, { reason: 'wrong version number' }));
    assert.match(told ?? '', /^wrong version number: the server does not use TLS/);
  });

  it('knows no other errors, and no end of causes', () => {
    const circle = new Error('a');
    circle.cause = circle;
    for (const error of [undefined, 'CERT_HAS_EXPIRED', failed('ECONNREFUSED', 'no'), circle])
      assert.equal(tlsProblem(error), undefined);
  });
});
