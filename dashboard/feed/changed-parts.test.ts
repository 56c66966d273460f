import assert from 'node:assert/strict';
import { ChangedParts } from './changed-parts.ts';

describe('ChangedParts', () => {
  it('gives everything at first, then what is another, then nothing', () => {
    const parts = new ChangedParts<{ a: number; b: readonly number[] | null }>();
    assert.deepEqual(parts.take({ a: 1, b: [1] }), { a: 1, b: [1] });
    assert.deepEqual(parts.take({ a: 1, b: [1, 2] }), { b: [1, 2] });
    assert.equal(parts.take({ a: 1, b: [1, 2] }), undefined);
    assert.deepEqual(parts.take({ a: 1, b: null }), { b: null });
  });
});
