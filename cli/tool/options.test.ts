import assert from 'node:assert/strict';
import { addressesOf, type ApiOptions } from './options.ts';

const none = { apiToken: undefined, caFile: undefined, tlsServerName: undefined };

describe('addressesOf', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['http://localhost:27182', ['http://localhost:27182']],
    ['http://a:1/, http://b:2/sync/', ['http://a:1', 'http://b:2/sync']],
    ['https://syncer.example.com', ['https://syncer.example.com']],
  ];
  for (const [text, urls] of cases) {
    it(`reads ${text}`, () => {
      assert.deepEqual(
        addressesOf({ ...none, url: text, apiToken: 'secret' }),
        urls.map((url) => ({ url, apiToken: 'secret', trust: undefined })),
      );
    });
  }

  for (const text of ['', 'localhost:27182', 'mongodb://a', 'http://a,', '/tmp']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => addressesOf({ ...none, url: text }), { name: 'InvalidOption' });
    });
  }

  const wrong: readonly (readonly [string, Partial<ApiOptions>, RegExp])[] = [
    [
      'a name to verify with http',
      { url: 'http://a', tlsServerName: 'b' },
      /apply to https, not to/,
    ],
    [
      'an authority that is not there',
      { url: 'https://a', caFile: '/none' },
      /--ca-file: the file/,
    ],
  ];
  for (const [what, options, message] of wrong) {
    it(`refuses ${what}`, () => {
      assert.throws(() => addressesOf({ ...none, url: '', ...options }), message);
    });
  }

  it('verifies by the name that is given', () => {
    const [address] = addressesOf({
      ...none,
      url: 'https://127.0.0.1:1',
      tlsServerName: 'a.b.svc',
    });
    assert.deepEqual(address?.trust, { authority: undefined, serverName: 'a.b.svc' });
  });
});
