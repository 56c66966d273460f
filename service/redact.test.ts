import assert from 'node:assert/strict';
import fc from 'fast-check';
import { redact, redactValue } from './redact.ts';

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
      'hides secret options in any case',
      'mongodb://h/?TLSCERTIFICATEKEYFILEPASSWORD=abc&proxypassword=def',
      'mongodb://h/?TLSCERTIFICATEKEYFILEPASSWORD=<redacted>&proxypassword=<redacted>',
    ],
    [
      'hides the properties of a mechanism, which may hold a token',
      'mongodb://h/?authMechanismProperties=AWS_SESSION_TOKEN:abc,CANONICALIZE_HOST_NAME:true&tls=true',
      'mongodb://h/?authMechanismProperties=<redacted>&tls=true',
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

  it('never lets a password through, whatever text surrounds it', () => {
    const piece = fc.stringMatching(/^[a-z0-9]{0,4}$/).map((text) => `secret${text}`);
    const separator = fc.constantFrom(
      ...Array.from("@/?#&:;,.%~_=-'`\\"),
      ...['://', 'mongodb://', '%40'],
    );
    const password = fc
      .array(fc.tuple(piece, separator), { minLength: 1, maxLength: 4 })
      .map((pieces) => pieces.flat().join(''));
    const scheme = fc.constantFrom('mongodb', 'MongoDB', 'mongodb+srv');
    const option = fc.constantFrom('', '?tls=true', '?tls=true&proxyPassword=secret');
    const around = fc.oneof(
      fc.string().filter((text) => !/secret/i.test(text)),
      fc.constantFrom('', '(', "'", '`', '<', 'uri=', '[{"uri":"'),
    );
    fc.assert(
      fc.property(fc.tuple(around, scheme, password, option, around), (parts) => {
        const [before, protocol, text, options, after] = parts;
        const uri = `${protocol}://user:${text}@host/${options}`;
        assert.doesNotMatch(redact(`${before} ${uri} ${after}`), /secret/);
        const other = `http://user:${encodeURIComponent(text)}@proxy:1/`;
        assert.doesNotMatch(redact(`${before} ${other} ${after}`), /secret/);
        assert.doesNotMatch(redact(JSON.stringify({ [uri]: `${before}"${uri}"` })), /secret/);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps JSON valid, so that a log line can be parsed', () => {
    const piece = fc.constantFrom(
      ...['"', '\\', '\n', ' ', '@', '/', '&', '?', '#', ':', 'a', 'é'],
      ...['mongodb://', 'http://', 'mongodb://u:p@h/?proxyPassword=x', ';proxyPassword='],
    );
    const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(fc.dictionary(text, fc.oneof(text, fc.array(text), fc.jsonValue())), (value) => {
        JSON.parse(redact(JSON.stringify(value)));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('redactValue', () => {
  it('hides secrets in texts and names, at any depth, and leaves the rest unchanged', () => {
    const uri = 'mongodb://user:secret@host/';
    const value = { n: 1, none: null, yes: true, list: [{ [uri]: [uri, 'text'] }] };
    const hidden = 'mongodb://<credentials>@host/';
    assert.deepEqual(redactValue(value), { ...value, list: [{ [hidden]: [hidden, 'text'] }] });
  });
});
