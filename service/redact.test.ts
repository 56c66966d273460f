import assert from 'node:assert/strict';
import fc from 'fast-check';
import { redact } from './redact.ts';

describe('redact', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'hides user name and password, keeps hosts and options',
      'cannot reach mongodb://u:p%40ss@h1:1,h2:2/admin?replicaSet=rs and mongodb+srv://a:b@c',
      'cannot reach mongodb://<credentials>@h1:1,h2:2/admin?replicaSet=rs and mongodb+srv://<credentials>@c',
    ],
    [
      'hides a password with an unescaped @',
      'mongodb://u:p@ss@host:1/',
      'mongodb://<credentials>@host:1/',
    ],
    [
      'hides a password with unescaped / ? # and &',
      'mongodb://u:a/b?c#d&e@host:1/',
      'mongodb://<credentials>@host:1/',
    ],
    [
      'hides a password with the beginning of a connection string',
      'mongodb://u:mongodb://p@host/ and MongoDB://u:p@host/',
      'mongodb://<credentials>@host/ and MongoDB://<credentials>@host/',
    ],
    [
      'hides a password with quotation marks',
      "'mongodb://u:it's`so@host:1/' and `mongodb://u:p@h`",
      "'mongodb://<credentials>@host:1/' and `mongodb://<credentials>@h`",
    ],
    [
      'hides secret options',
      'mongodb://h/?tlsCertificateKeyFilePassword=abc&tls=true',
      'mongodb://h/?tlsCertificateKeyFilePassword=<redacted>&tls=true',
    ],
    [
      'hides credentials in any URI',
      'proxy http://u:p@proxy:1/path',
      'proxy http://<credentials>@proxy:1/path',
    ],
    [
      'leaves other text alone',
      'a@b.c is not a URI; http://host/path@x',
      'a@b.c is not a URI; http://host/path@x',
    ],
  ];
  for (const [what, text, wanted] of cases) {
    it(what, () => {
      assert.equal(redact(text), wanted);
    });
  }

  it('never lets a password through, whatever stands around it', () => {
    const word = fc.stringMatching(/^[A-Za-z0-9%._~/?#&:@'`-]{1,20}$/);
    fc.assert(
      fc.property(fc.string(), word, fc.string(), (before, password, after) => {
        const secret = `Secret-${password}`;
        return !redact(`${before} mongodb://user:${secret}@host/ ${after}`).includes(secret);
      }),
    );
  });
});
