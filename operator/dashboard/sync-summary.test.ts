import assert from 'node:assert/strict';
import type { SyncVerificationStatus } from '../api/sync-verification.ts';
import { verification } from '../verification/testing/worlds.ts';
import { verificationSummaryOf } from './sync-summary.ts';

describe('the row of a SyncVerification', () => {
  it('has a verdict as long as that is about the present sync', () => {
    const verdicts = (['True', 'False', 'Unknown'] as const).map((consistent) => {
      const condition = { type: 'Consistent', status: consistent, reason: 'Any', message: '' };
      const status = {
        ...{ phase: 'Succeeded', verdict: consistent === 'True' ? 'Equal' : 'Different' },
        conditions: [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }],
      } as SyncVerificationStatus;
      return verificationSummaryOf(verification(status)).verdict;
    });
    assert.deepEqual(verdicts, ['equal', 'different', null]);
    assert.equal(verificationSummaryOf(verification()).verdict, null);
  });
});
