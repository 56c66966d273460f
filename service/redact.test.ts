import assert from 'node:assert/strict';
import fc from 'fast-check';
import { redact } from './redact.ts';

describe('redact', () => {
  it('hides user name and password, keeps hosts and options', () => {
    assert.equal(
      redact(
        'cannot reach mongodb://u:p%40ss@h1:1,h2:2/admin?replicaSet=rs and mongodb+srv://a:b@c',
      ),
      'cannot reach mongodb://<credentials>@h1:1,h2:2/admin?replicaSet=rs and mongodb+srv://<credentials>@c',
    );
  });

  it('hides a password that contains an unescaped @', () => {
    assert.equal(redact('mongodb://u:p@ss@host:1/'), 'mongodb://<credentials>@host:1/');
  });

  it('hides secret options', () => {
    assert.equal(
      redact('mongodb://h/?tlsCertificateKeyFilePassword=abc&tls=true'),
      'mongodb://h/?tlsCertificateKeyFilePassword=<redacted>&tls=true',
    );
  });

  it('never lets a password through, whatever stands around it', () => {
    const word = fc.stringMatching(/^[A-Za-z0-9%._~-]{1,20}$/);
    fc.assert(
      fc.property(fc.string(), word, fc.string(), (before, password, after) => {
        const secret = `Secret-${password}`;
        return !redact(`${before} mongodb://user:${secret}@host/ ${after}`).includes(secret);
      }),
    );
  });

  it('leaves other text alone', () => {
    assert.equal(
      redact('a@b.c is not a URI; http://host/path@x'),
      'a@b.c is not a URI; http://host/path@x',
    );
  });
});
