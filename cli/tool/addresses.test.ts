import assert from 'node:assert/strict';
import { addressesOf } from './addresses.ts';

describe('addressesOf', () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['http://localhost:27182', ['http://localhost:27182']],
    ['http://a:1/, http://b:2/sync/', ['http://a:1', 'http://b:2/sync']],
    ['https://syncer.example.com', ['https://syncer.example.com']],
  ];
  for (const [text, urls] of cases) {
    it(`reads ${text}`, () => {
      assert.deepEqual(
        addressesOf(text, 'secret'),
        urls.map((url) => ({ url, apiToken: 'secret' })),
      );
    });
  }

  for (const text of ['', 'localhost:27182', 'mongodb://a', 'http://a,', '/tmp']) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      assert.throws(() => addressesOf(text, undefined), { name: 'InvalidOption' });
    });
  }
});
