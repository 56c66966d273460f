import type { SyncRow } from '../../api/sync-view.ts';

/** A sync that applies changes, with the fields that a test sets. */
export function rowOf(name: string, different: Partial<SyncRow> = {}): SyncRow {
  return {
    key: `shop/${name}`,
    namespace: 'shop',
    name,
    carriedOutBy: 'operator',
    phase: 'ChangeApplication',
    source: 'old',
    destination: 'new',
    isReversed: false,
    readiness: {
      kind: 'ready',
      reason: 'InSync',
      message: 'changes from the source are being applied',
    },
    percent: 100,
    totalBytes: 1_000,
    copiedBytes: 1_000,
    lagSeconds: 1,
    eventsApplied: 10,
    oplogSeconds: 7_200,
    commitReadiness: { isReady: false, message: 'the lag is 20 s' },
    readyInstances: '1/1',
    createdAt: '2026-01-01T00:00:00Z',
    startedAt: '2026-01-01T00:00:10Z',
    copiedAt: '2026-01-01T00:10:00Z',
    committedAt: null,
    verifications: [],
    bytesPerSecond: 0,
    eventsPerSecond: 0,
    ...different,
  };
}
