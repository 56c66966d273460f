import assert from 'node:assert/strict';
import type { SyncVerificationStatus } from '../api/sync-verification.ts';
import { verification } from '../verification/testing/worlds.ts';
import type { ClusterSyncStatus } from '../api/clustersync.ts';
import { clusterSync } from '../clustersync/testing/worlds.ts';
import { summaryOf, verificationSummaryOf } from './sync-summary.ts';

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

  it('knows of no difference, and of none missing, before anything is compared', () => {
    assert.equal(verificationSummaryOf(verification()).mismatches, null);
    const status = { phase: 'Checking', mismatches: { total: 0 } } as SyncVerificationStatus;
    assert.equal(verificationSummaryOf(verification(status)).mismatches, 0);
  });

  it('is stalled if the operator says so', () => {
    const stalled = (['True', 'False'] as const).map((value) => {
      const condition = { type: 'Stalled', status: value, reason: 'ImageNotAllowed', message: '' };
      const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }];
      return verificationSummaryOf(verification({ conditions }));
    });
    assert.deepEqual(
      [verificationSummaryOf(verification()), ...stalled].map(({ isStalled }) => isStalled),
      [false, true, false],
    );
  });

  it('is of a part if it has a filter of its own', () => {
    const filter = { includeNamespaces: [{ database: 'shop' }] };
    const parts = [{}, { filter }].map((spec) => {
      return verificationSummaryOf(verification(undefined, spec)).isPart;
    });
    assert.deepEqual(parts, [false, true]);
  });
});

describe('the row of a ClusterSync', () => {
  it('has the time of the end of the copy only once it has ended', () => {
    const times = (['True', 'False'] as const).map((value) => {
      const condition = { type: 'InitialCopyDone', status: value, reason: 'Any', message: '' };
      const conditions = [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' }];
      return summaryOf(clusterSync({}, { conditions }), []).copiedAt;
    });
    assert.deepEqual(times, ['2026-01-01T00:00:00Z', null]);
  });

  it('warns of what should pass, but somebody may want to know about', () => {
    const kinds = ['SyncerUnreachable', 'PodCrashLooping', 'Starting'].map((reason) => {
      const ready = { type: 'Ready', status: 'False', reason, message: '' } as const;
      const conditions = [{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }];
      const { readiness } = summaryOf(clusterSync({}, { conditions }), []);
      return `${readiness.kind} ${readiness.reason}`;
    });
    assert.deepEqual(kinds, [
      'warning SyncerUnreachable',
      'warning PodCrashLooping',
      'working Starting',
    ]);
  });

  type Given = readonly (readonly [type: string, status: 'True' | 'False' | 'Unknown'])[];
  const cases: readonly (readonly [Given, string, string, boolean])[] = [
    [[], 'working', 'Pending', false],
    [[['Ready', 'False']], 'working', 'Ready', false],
    [[['Ready', 'True']], 'ready', 'Ready', false],
    [
      [
        ['Ready', 'True'],
        ['ReadyToCommit', 'True'],
      ],
      'ready',
      'Ready',
      true,
    ],
    [
      [
        ['Ready', 'True'],
        ['ReadyToCommit', 'False'],
      ],
      'ready',
      'Ready',
      false,
    ],
    [
      [
        ['Ready', 'True'],
        ['ReadyToCommit', 'Unknown'],
      ],
      'ready',
      'Ready',
      false,
    ],
    [
      [
        ['Ready', 'False'],
        ['Stalled', 'True'],
      ],
      'stalled',
      'Stalled',
      false,
    ],
  ];
  for (const [given, kind, reason, isReady] of cases) {
    const what = given.map((one) => one.join(' ')).join(', ');
    it(`is ${kind} and ${isReady ? '' : 'not '}to be committed with ${what || 'no condition'}`, () => {
      const conditions = given.map(([type, status]) => ({
        ...{ type, status, reason: type, message: `of ${type}` },
        lastTransitionTime: '2026-01-01T00:00:00Z',
      }));
      const status = { phase: 'ChangeApplication', conditions } as ClusterSyncStatus;
      const { readiness, commitReadiness } = summaryOf(clusterSync({}, status), []);
      assert.deepEqual([readiness.kind, readiness.reason], [kind, reason]);
      assert.equal(commitReadiness.isReady, isReady);
    });
  }
});
