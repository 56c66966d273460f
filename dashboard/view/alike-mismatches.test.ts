import assert from 'node:assert/strict';
import type { MismatchView } from '../api/sync-view.ts';
import { alikeMismatches } from './alike-mismatches.ts';

const price: MismatchView = {
  ...{ namespace: 'shop.orders', kind: 'differentDocument' },
  ...{ index: null, field: 'price', detail: null },
};
const missing: MismatchView = { ...price, kind: 'missingDocument', field: null };

describe('alikeMismatches', () => {
  it('counts what says the same, and keeps the order', () => {
    assert.deepEqual(alikeMismatches([price, missing, { ...price }]), [
      { mismatch: price, count: 2 },
      { mismatch: missing, count: 1 },
    ]);
  });

  it('keeps apart what is another in any of its parts', () => {
    const parts = ['namespace', 'kind', 'index', 'field', 'detail'] as const;
    const others = parts.map((part) => ({ ...price, [part]: 'other' }));
    assert.equal(alikeMismatches([price, ...others]).length, 6);
  });

  it('makes nothing of nothing', () => {
    assert.deepEqual(alikeMismatches([]), []);
  });
});
