import assert from 'node:assert/strict';
import type { SyncProgress } from '../../api/combine.ts';
import { syncOf, verificationFrom } from '../../api/testing/reported.ts';
import type { View } from '../../render/frame.ts';
import { RunSource } from './run-source.ts';
import { runDetail, runSummary, type RunState } from './run-views.ts';

const copying = { state: 'RUNNING', info: 'collection copy', startedAt: '2026-01-01T00:00:05Z' };
const applying = { ...copying, info: 'change event application', canCommit: true };
const sizes = { collectionCopy: { estimatedTotalBytes: 1000, estimatedCopiedBytes: 999 } };

function viewOf(sync: SyncProgress, more: Partial<View> = {}): View {
  const nothing = {
    ...{ collections: undefined, verification: undefined, warning: undefined },
    commitReadiness: undefined,
  };
  return { ...nothing, sync, copyBytesPerSecond: null, eventsPerSecond: null, ...more };
}

const ready = { isReady: true, message: 'every instance can commit' };

function stateOf(view: View | undefined, more: Partial<RunState> = {}): RunState {
  return {
    ...{ source: 'old', destination: 'new', commit: 'asks', isVerified: true, view },
    ...{ beganAt: '2026-01-01T00:00:00.000Z', copiedAt: null, committedAt: null, end: undefined },
    ...more,
  };
}

function verified(progress: object): Partial<View> {
  return { verification: verificationFrom({ phase: 'recheck', ...progress }) };
}

describe('what the page of a run shows', () => {
  it('has no lag and no oplog once the command has ended', () => {
    const sync = syncOf({
      ...applying,
      ...{ lagTimeSeconds: 1, estimatedOplogTimeRemainingSeconds: 90 },
    });
    const figures = (view: View, end?: RunState['end']): readonly (number | null)[] => {
      const { lagSeconds, oplogSeconds, eventsApplied } = runSummary(stateOf(view, { end }));
      assert.equal(eventsApplied, sync.eventsApplied);
      return [lagSeconds, oplogSeconds];
    };
    assert.deepEqual(figures(viewOf(sync)), [1, 90]);
    const failed = { kind: 'failed', name: 'OplogRolledOver', message: 'too late' } as const;
    assert.deepEqual(figures(viewOf(sync), failed), [null, null]);
  });

  const cases: readonly (readonly [string, RunState, string, string])[] = [
    ['before a syncer answers', stateOf(undefined), 'Starting', 'working'],
    ['while it is copied', stateOf(viewOf(syncOf(copying))), 'InitialCopy', 'working'],
    [
      'when it can be committed',
      stateOf(viewOf(syncOf(applying), { commitReadiness: ready })),
      'ChangeApplication',
      'ready',
    ],
    [
      'when it can be committed, and differs',
      stateOf(viewOf(syncOf(applying), { commitReadiness: { ...ready, isReady: false } })),
      'ChangeApplication',
      'working',
    ],
    [
      'when one instance copies still',
      stateOf(viewOf(syncOf(applying, copying))),
      'ChangeApplication',
      'working',
    ],
    [
      'while it is committed',
      stateOf(viewOf(syncOf({ ...applying, state: 'COMMITTING' }))),
      'Committing',
      'working',
    ],
    [
      'before the verdict',
      stateOf(viewOf(syncOf({ ...applying, state: 'COMMITTED' }))),
      'Committed',
      'working',
    ],
    [
      'when both sides are equal',
      stateOf(viewOf(syncOf({ ...applying, state: 'COMMITTED' }), verified({ verdict: 'equal' }))),
      'Committed',
      'ready',
    ],
    [
      'when they differ',
      stateOf(
        viewOf(syncOf({ ...applying, state: 'COMMITTED' }), verified({ verdict: 'different' })),
      ),
      'Committed',
      'stalled',
    ],
    [
      'when nothing is compared',
      stateOf(viewOf(syncOf({ ...applying, state: 'COMMITTED' })), { isVerified: false }),
      'Committed',
      'ready',
    ],
    [
      'when it was paused by Ctrl-C',
      stateOf(viewOf(syncOf(copying)), { end: { kind: 'stopped', message: 'paused' } }),
      'Paused',
      'working',
    ],
    [
      'when it has failed',
      stateOf(viewOf(syncOf(copying)), {
        end: { kind: 'failed', name: 'OplogRolledOver', message: 'gone' },
      }),
      'Stalled',
      'stalled',
    ],
  ];
  for (const [when, state, phase, kind] of cases) {
    it(`says how it is ${when}`, () => {
      const { phase: shown, readiness } = runSummary(state);
      assert.deepEqual([shown, readiness.kind], [phase, kind]);
    });
  }

  it('counts as copied only what is', () => {
    const percentOf = (progress: object): number | null =>
      runSummary(stateOf(viewOf(syncOf(progress)))).percent;
    assert.equal(percentOf(copying), null);
    assert.equal(percentOf({ ...copying, ...sizes }), 99);
    assert.equal(percentOf({ ...applying, ...sizes }), 100);
  });

  it('says what is being tried again', () => {
    const { readiness } = runSummary(stateOf(viewOf(syncOf(copying), { warning: 'no answer' })));
    assert.deepEqual(readiness, { kind: 'working', reason: 'TryingAgain', message: 'no answer' });
  });

  it('has waited for the start only where it has started the sync itself', () => {
    const view = viewOf(syncOf(copying));
    assert.equal(runSummary(stateOf(view)).createdAt, '2026-01-01T00:00:00.000Z');
    const later = stateOf(view, { beganAt: '2026-01-02T00:00:00.000Z' });
    assert.equal(runSummary(later).createdAt, null);
  });

  it('has a row for each instance, and marks the coordinator', () => {
    const one = { ...applying, coordinatorID: 'a', totalEventsApplied: 3, lagTimeSeconds: 1 };
    const view = viewOf(syncOf({ ...one, syncerID: 'a' }, { ...one, syncerID: 'b' }));
    assert.deepEqual(
      runDetail(stateOf(view), null).instances.map((each) => [
        ...[each.id, each.pod, each.isCoordinator, each.isReady, each.eventsApplied],
        each.lagSeconds,
      ]),
      [
        ['a', null, true, true, 3, 1],
        ['b', null, false, true, 3, 1],
      ],
    );
  });

  it('tells of differences without values and _ids', () => {
    const mismatch = { namespace: 'shop.orders', kind: 'differentDocument', field: 'price' };
    const view = viewOf(
      syncOf(applying),
      verified({
        ...{ verdict: null, mismatchCount: 1, documentsCompared: 7, generation: 1 },
        mismatches: [{ ...mismatch, id: '{"$oid":"65a0"}', sourceValue: 'secret' }],
        mismatchKinds: [{ kind: 'differentDocument', count: 1 }],
        mismatchNamespaces: [{ namespace: 'shop.orders', count: 1 }],
        generationStats: { documentsCompared: 1, documentsTotal: 4 },
      }),
    );
    const [shown] = runDetail(stateOf(view), null).verifications;
    assert.deepEqual(shown?.list, [{ ...mismatch, index: null, detail: null }]);
    assert.deepEqual(shown.kinds, [{ name: 'differentDocument', count: 1 }]);
    assert.deepEqual(shown.namespaces, [{ name: 'shop.orders', count: 1 }]);
    assert.deepEqual([shown.phase, shown.mismatches], ['Checking', 1]);
    assert.deepEqual([shown.documentsDone, shown.documentsTotal], [1, 4]);
    assert.doesNotMatch(JSON.stringify(shown), /secret|65a0/);
  });

  it('has the name of the error of a verification, if it has one', () => {
    const reasonFor = (error: string | null): readonly unknown[] => {
      const view = viewOf(syncOf(applying), verified({ verdict: null, error }));
      return runDetail(stateOf(view), null).verifications.map((each) => [each.error, each.reason]);
    };
    assert.deepEqual(reasonFor('CheckFailed: it is'), [['CheckFailed: it is', 'CheckFailed']]);
    assert.deepEqual(reasonFor('out of luck'), [['out of luck', null]]);
    assert.deepEqual(reasonFor(null), [[null, null]]);
  });

  it('knows when all was copied and committed, where it has seen that', () => {
    const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
    const facts = { source: 'old', destination: 'new', commit: 'asks', isVerified: true } as const;
    const committed = viewOf(syncOf({ ...applying, state: 'COMMITTED' }));
    const timesOf = (source: RunSource) =>
      source.summaries().map(({ copiedAt, committedAt }) => [copiedAt, committedAt]);
    const source = new RunSource(facts, at(0));
    const views = [viewOf(syncOf(copying)), viewOf(syncOf(applying)), committed, committed];
    for (const [second, view] of views.entries()) source.show(view, at(second));
    assert.deepEqual(timesOf(source), [[at(1).toISOString(), at(2).toISOString()]]);
    const late = new RunSource(facts, at(0));
    late.show(committed, at(1));
    assert.deepEqual(timesOf(late), [[null, null]]);
  });
});
