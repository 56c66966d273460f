import assert from 'node:assert/strict';
import type { VerificationSummary } from '../api/sync-view.ts';
import { shownVerification } from './shown-verification.ts';

const running: VerificationSummary = {
  ...{ name: 'running', phase: 'Checking', verdict: null, mismatches: 0 },
  ...{ isPart: false, isStalled: false },
};
const equal: VerificationSummary = {
  ...running,
  ...{ name: 'equal', phase: 'Succeeded', verdict: 'equal' },
};
const doubtful: VerificationSummary = { ...running, name: 'doubtful', mismatches: 3 };
const failed: VerificationSummary = { ...running, name: 'failed', phase: 'Failed' };
const stalled: VerificationSummary = { ...doubtful, name: 'stalled', isStalled: true };
const different: VerificationSummary = {
  ...failed,
  ...{ name: 'different', verdict: 'different', mismatches: 3, isPart: true },
};
const partRunning: VerificationSummary = { ...running, name: 'part running', isPart: true };
const partEqual: VerificationSummary = { ...equal, name: 'part equal', isPart: true };

describe('shownVerification', () => {
  it('is the one that is most in the way of a commit', () => {
    const inOrder = [different, failed, stalled, doubtful, running, equal, partRunning, partEqual];
    for (const [index, expected] of inOrder.entries()) {
      assert.equal(shownVerification(inOrder.slice(index).toReversed()), expected);
    }
    assert.equal(shownVerification<VerificationSummary>([]), undefined);
  });
});
