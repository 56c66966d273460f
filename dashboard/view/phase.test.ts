import assert from 'node:assert/strict';
import type { VerificationSummary } from '../api/sync-view.ts';
import { conditionLook, isCopying, needsAttention, phaseLook, verificationLook } from './phase.ts';
import { rowOf } from './testing/rows.ts';

const verification: VerificationSummary = {
  ...{ name: 'check', phase: 'Checking', verdict: null, mismatches: null },
  ...{ isPart: false, isStalled: false },
};

describe('phaseLook', () => {
  it('tells a sync that is ready to commit from one that is not yet', () => {
    const labels = [false, true].map((isReady) => {
      return phaseLook(rowOf('a', { commitReadiness: { isReady, message: '' } })).label;
    });
    assert.deepEqual(labels, ['Applying changes', 'Ready to commit']);
  });

  it('does not show a commit as good after which the sides differ', () => {
    const looks = (['equal', 'different', null] as const).map((verdict) => {
      const verifications = [{ ...verification, verdict }];
      return phaseLook(rowOf('a', { phase: 'Committed', verifications }));
    });
    assert.deepEqual(
      looks.map(({ tone, label }) => `${tone} ${label}`),
      ['good Committed', 'bad Committed, different', 'good Committed'],
    );
  });

  it('does not show a commit as good that a verification casts doubt on', () => {
    const doubts = [{ phase: 'Failed' }, { isStalled: true }, { mismatches: 2 }, { mismatches: 0 }];
    const looks = doubts.map((doubt) => {
      const verifications = [
        { ...verification, verdict: 'equal' as const },
        { ...verification, ...doubt },
      ];
      return phaseLook(rowOf('a', { phase: 'Committed', verifications }));
    });
    assert.deepEqual(
      looks.map(({ tone, label }) => `${tone} ${label}`),
      [
        'bad Committed, verification failed',
        'bad Committed, verification stalled',
        'warning Committed, differences so far',
        'good Committed',
      ],
    );
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

  it('shows one that cannot continue, whatever it has found so far', () => {
    const stalled = { ...verification, isStalled: true };
    for (const one of [stalled, { ...stalled, mismatches: 2 }, { ...stalled, phase: 'Pending' }]) {
      const { tone, label } = verificationLook(one);
      assert.equal(`${tone} ${label}`, 'bad Stalled');
    }
    assert.equal(verificationLook({ ...stalled, phase: 'Failed' }).label, 'Failed');
  });

  it('shows one without a verdict that is over as outdated, whatever it has found', () => {
    const { tone, label } = verificationLook({
      ...verification,
      ...{ phase: 'Succeeded', mismatches: 2 },
    });
    assert.equal(`${tone} ${label}`, 'quiet Outdated');
  });

  it('does not show as good that only a part is equal', () => {
    const looks = [false, true].map((isPart) => {
      return verificationLook({ ...verification, verdict: 'equal', isPart });
    });
    assert.deepEqual(
      looks.map(({ tone, label }) => `${tone} ${label}`),
      ['good Equal', 'quiet Equal (part)'],
    );
  });
});

describe('needsAttention', () => {
  it('is so for what is stalled, different, or could not be verified', () => {
    const stalled = { kind: 'stalled', reason: 'OplogRolledOver', message: '' } as const;
    assert.equal(needsAttention(rowOf('a')), false);
    assert.equal(needsAttention(rowOf('a', { readiness: stalled })), true);
    const silent = { kind: 'warning', reason: 'SyncerUnreachable', message: '' } as const;
    assert.equal(needsAttention(rowOf('a', { readiness: silent })), true);
    for (const different of [
      { verdict: 'different' },
      { phase: 'Failed' },
      { isStalled: true },
    ] as const) {
      const verifications = [verification, { ...verification, ...different }];
      assert.equal(needsAttention(rowOf('a', { verifications })), true);
    }
    const mismatches = [{ ...verification, mismatches: 3 }];
    assert.equal(needsAttention(rowOf('a', { verifications: mismatches })), false);
  });
});

describe('conditionLook', () => {
  for (const [condition, tone] of [
    ['Ready True', 'good'],
    ['Ready False', 'warning'],
    ['CanStart False', 'warning'],
    ['Reconciling True', 'busy'],
    ['SecretProblem True', 'warning'],
    ['Stalled True', 'bad'],
    ['Suspended True', 'warning'],
    ['CanCommit True', 'good'],
    ['CanCommit False', 'quiet'],
    ['CanCommit Unknown', 'quiet'],
  ] as const)
    it(`${condition} is ${tone}`, () => {
      const [type = '', status = ''] = condition.split(' ');
      assert.equal(conditionLook({ type, status }, []).tone, tone);
    });

  it('does not warn of a sync that is not ready while it makes progress', () => {
    const [ready, reconciling] = ['Ready False', 'Reconciling True'].map((condition) => {
      const [type = '', status = ''] = condition.split(' ');
      return { type, status };
    });
    assert.ok(ready && reconciling);
    assert.equal(conditionLook(ready, [ready, reconciling]).tone, 'quiet');
  });
});

describe('isCopying', () => {
  it('holds until everything is copied, and never after a commit', () => {
    const percents = [null, 0, 99, 100];
    assert.deepEqual(
      percents.map((percent) => isCopying({ phase: 'InitialCopy', percent })),
      [true, true, true, false],
    );
    assert.equal(isCopying({ phase: 'Committed', percent: null }), false);
  });

  it('does not hold of a tool that does not say how much is copied, once it applies changes', () => {
    const phases = ['Pending', 'InitialCopy', 'Reversing', 'ChangeApplication', 'Committing'];
    assert.deepEqual(
      phases.map((phase) => isCopying({ phase, percent: null })),
      [true, true, false, false, false],
    );
  });
});
