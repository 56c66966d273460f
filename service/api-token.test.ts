import assert from 'node:assert/strict';
import { apiTokenHashOf, hashOfToken, requireToken } from './api-token.ts';

describe('apiTokenHashOf', () => {
  it('is the given hash, or that of the given token', () => {
    const apiTokenHash = hashOfToken('token');
    assert.equal(apiTokenHashOf({ apiToken: 'token', apiTokenHash: undefined }), apiTokenHash);
    assert.equal(apiTokenHashOf({ apiToken: undefined, apiTokenHash }), apiTokenHash);
    assert.equal(apiTokenHashOf({ apiToken: undefined, apiTokenHash: undefined }), undefined);
  });

  for (const [what, options] of [
    ['what is no hash', { apiToken: undefined, apiTokenHash: 'token' }],
    ['nothing for a hash', { apiToken: undefined, apiTokenHash: '' }],
    ['both', { apiToken: 'token', apiTokenHash: hashOfToken('token') }],
  ] as const) {
    it(`refuses ${what}`, () => {
      assert.throws(() => apiTokenHashOf(options), { name: 'InvalidOption' });
    });
  }
});

describe('requireToken', () => {
  const wanted = hashOfToken('token');

  it('accepts the token, and anything if none is required', () => {
    requireToken('Bearer token', wanted);
    requireToken('', undefined);
  });

  for (const authorization of ['', 'Bearer', 'Bearer ', 'token', 'Basic token', 'Bearer token ']) {
    it(`refuses "${authorization}"`, () => {
      assert.throws(
        () => {
          requireToken(authorization, wanted);
        },
        { name: 'Unauthorized' },
      );
    });
  }
});
