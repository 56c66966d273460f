import assert from 'node:assert/strict';
import { jsonValue } from './json-text.ts';

describe('jsonValue', () => {
  const nested = (levels: number, open: string, close: string): string =>
    open.repeat(levels) + (open === '[' ? '' : '1') + close.repeat(levels);

  for (const [what, open, close] of [
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ] as const) {
    it(`reads 1,000 levels of ${what}, and no more`, () => {
      assert.ok(jsonValue(nested(1_000, open, close)));
      assert.equal(jsonValue(nested(1_001, open, close)), undefined);
    });
  }

  it('does not count brackets in strings', () => {
    const value = { a: `"\\${'['.repeat(2_000)}` };
    assert.deepEqual(jsonValue(JSON.stringify(value)), value);
  });

  it('is undefined for a text that is not JSON', () => {
    for (const text of ['', '{', '[1,]', 'text']) assert.equal(jsonValue(text), undefined);
  });
});
