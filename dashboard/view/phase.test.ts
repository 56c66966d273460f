import assert from 'node:assert/strict';
import { needsAttention, phaseLook, verificationLook } from './phase.ts';
import { rowOf } from './testing/rows.ts';

const verification = { name: 'check', phase: 'Checking', verdict: null, mismatches: null };

describe('phaseLook', () => {
  it('tells a sync that is ready to commit from one that is not yet', () => {
    const labels = [false, true].map((isReady) => {
      return phaseLook(rowOf('a', { commitReadiness: { isReady, message: '' } })).label;
    });
    assert.deepEqual(labels, ['Applying changes', 'Ready to commit']);
  });

  it('shows a phase that it does not know as it is', () => {
    assert.equal(phaseLook(rowOf('a', { phase: 'Later' })).label, 'Later');
  });
});

describe('verificationLook', () => {
  it('does not take differences for a verdict before there is one', () => {
    assert.equal(verificationLook(verification).label, 'Comparing');
    assert.equal(verificationLook({ ...verification, mismatches: 0 }).label, 'Comparing');
    assert.deepEqual(verificationLook({ ...verification, mismatches: 2 }), {
      tone: 'warning',
      icon: 'alert',
      label: 'Differences so far',
    });
    const over = { ...verification, phase: 'Failed', mismatches: 2 };
    assert.equal(verificationLook({ ...over, verdict: 'different' }).label, 'Different');
    assert.equal(verificationLook(over).label, 'Failed');
    assert.equal(verificationLook({ ...over, verdict: 'equal' }).label, 'Equal');
  });
});

describe('needsAttention', () => {
  it('is so for what is stalled, different, or could not be verified', () => {
    const stalled = { kind: 'stalled', reason: 'OplogRolledOver', message: '' } as const;
    assert.equal(needsAttention(rowOf('a')), false);
    assert.equal(needsAttention(rowOf('a', { readiness: stalled })), true);
    for (const different of [{ verdict: 'different' }, { phase: 'Failed' }] as const) {
      const verifications = [verification, { ...verification, ...different }];
      assert.equal(needsAttention(rowOf('a', { verifications })), true);
    }
    const mismatches = [{ ...verification, mismatches: 3 }];
    assert.equal(needsAttention(rowOf('a', { verifications: mismatches })), false);
  });
});
