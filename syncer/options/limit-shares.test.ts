import assert from 'node:assert/strict';
import type { Limits } from '../../sync-api/json.ts';
import { requireShares } from './limit-shares.ts';

const mebibyte = 1024 * 1024;

describe('requireShares', () => {
  it('accepts what leaves each instance what a whole sync must have', () => {
    const least = { maxCopyDocumentsPerSecond: 8, maxChangesPerSecond: 8 };
    const limits = { ...least, maxCopyBytesPerSecond: 8 * mebibyte, maxConcurrentBatches: 1 };
    assert.doesNotThrow(() => {
      requireShares({}, 64);
      requireShares({ maxCopyBytesPerSecond: mebibyte, maxChangesPerSecond: 1 }, 1);
      requireShares({ ...limits, schedule: [{ from: '08:00', to: '18:00', ...limits }] }, 8);
    });
  });

  const refused: [string, Limits, RegExp][] = [
    [
      'bytes',
      { maxCopyBytesPerSecond: 8 * mebibyte - 1 },
      /^limits: maxCopyBytesPerSecond is 8388607, and 8 instances need at least 8388608:/,
    ],
    ['documents', { maxCopyDocumentsPerSecond: 7 }, /maxCopyDocumentsPerSecond is 7, .* 8:/],
    ['changes', { maxChangesPerSecond: 1 }, /maxChangesPerSecond is 1, .* at least 8:/],
    [
      'a window',
      {
        maxChangesPerSecond: 8,
        schedule: [
          { from: '08:00', to: '18:00' },
          { from: '18:00', to: '20:00', maxChangesPerSecond: 7 },
        ],
      },
      /^limits: schedule\.1\.maxChangesPerSecond is 7, /,
    ],
  ];
  for (const [name, limits, message] of refused)
    it(`refuses too little for each instance, with the least that it accepts: ${name}`, () => {
      assert.throws(
        () => {
          requireShares(limits, 8);
        },
        { name: 'InvalidBody', message },
      );
    });
});
