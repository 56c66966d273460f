import type { PageScope } from '../../../dashboard/api/messages.ts';
import type { SyncDetail, SyncSummary } from '../../../dashboard/api/sync-view.ts';
import type { DashboardSource, SyncLook } from '../../../dashboard/server/dashboard.ts';

const minuteMs = 60_000;

/** As many syncs as a test wants; they proceed on command. */
export class MadeUpSyncs implements DashboardSource {
  readonly syncs = new Map<string, SyncSummary>();
  /** What is different from an ordinary detail. */
  readonly details = new Map<string, Partial<SyncDetail>>();
  /** How often the details of one sync were requested. */
  looks = 0;

  constructor(count: number) {
    for (let index = 0; index < count; index++) this.put(madeUp(index));
  }

  put(summary: SyncSummary): void {
    this.syncs.set(summary.key, summary);
  }

  /** Changes a sync. */
  change(key: string, news: Partial<SyncSummary>): void {
    const former = this.syncs.get(key);
    if (former) this.put({ ...former, ...news });
  }

  staleness: string | null = null;

  page = (): PageScope => ({ scope: 'all namespaces', staleness: this.staleness });

  summaries = (): readonly SyncSummary[] => [...this.syncs.values()];

  look = (key: string): SyncLook => ({
    read: async () => {
      this.looks += 1;
      const summary = this.syncs.get(key);
      return await Promise.resolve(summary && { ...detailOf(summary), ...this.details.get(key) });
    },
  });
}

function ago(minutes: number): string {
  return new Date(Date.now() - minutes * minuteMs).toISOString();
}

const ordinary = {
  carriedOutBy: 'operator',
  ...{ namespace: 'shop', source: 'replica-set-fra1', destination: 'atlas-eu-central' },
  ...{ isReversed: false, readyInstances: '1/1', eventsApplied: null, oplogSeconds: 200_000 },
  ...{ startedAt: null, copiedAt: null, committedAt: null, verifications: [] },
  commitReadiness: { isReady: false, message: 'not every instance can commit' },
} as const;

const teams = ['shop', 'payments', 'search', 'media', 'identity', 'warehouse', 'analytics'];
const things = [
  'orders',
  'carts',
  'invoices',
  'catalog',
  'sessions',
  'profiles',
  'stock',
  'events',
];

/** Most are over; the others are at all places of the way. */
function madeUp(index: number): SyncSummary {
  const namespace = teams[index % teams.length] ?? '';
  const name = `${things[index % things.length] ?? ''}-${String(index).padStart(3, '0')}`;
  const totalBytes = 4e9 + ((index * 7_919) % 997) * 1.3e9;
  const base = {
    ...ordinary,
    ...{ key: `${namespace}/${name}`, namespace, name, createdAt: ago(600 + index) },
  };
  const started = { ...base, startedAt: ago(599 + index), totalBytes };
  const copied = {
    ...{ ...started, percent: 100, copiedBytes: totalBytes, copiedAt: ago(120) },
    ...{ eventsApplied: 40_000 + index * 1_337, lagSeconds: index % 4 },
  };
  switch (index % 25) {
    case 3:
      return {
        ...copied,
        ...{ phase: 'Stalled', lagSeconds: 86_400, percent: 37, copiedAt: null },
        copiedBytes: Math.round(totalBytes * 0.37),
        readiness: {
          kind: 'stalled',
          reason: 'OplogRolledOver',
          message:
            "the source's oplog no longer holds the changes since the last checkpoint: empty the destination, and start again with a larger oplog",
        },
      };
    case 4:
    case 9: {
      const percent = (index * 13) % 97;
      return {
        ...{ ...started, phase: 'InitialCopy', percent, lagSeconds: 3 },
        copiedBytes: Math.round((totalBytes * percent) / 100),
        readiness: {
          kind: 'working',
          reason: 'InitialCopy',
          message: 'the initial copy is running',
        },
      };
    }
    case 5:
    case 6:
      return {
        ...{ ...copied, phase: 'ChangeApplication' },
        readiness: {
          ...{ kind: 'ready', reason: 'InSync' },
          message: 'changes from the source are being applied',
        },
        commitReadiness: {
          isReady: true,
          message:
            'every instance can commit, the lag is at most 10 s, and the SyncVerification check has compared everything and knows of no difference',
        },
        verifications: [
          {
            name: 'check',
            phase: 'Checking',
            verdict: null,
            mismatches: 0,
            isPart: false,
            isStalled: false,
          },
        ],
      };
    case 7:
      return {
        ...{ ...copied, phase: 'Paused', lagSeconds: null },
        readiness: {
          ...{ kind: 'ready', reason: 'Paused' },
          message: "the sync is paused; the source's oplog must cover the pause",
        },
      };
    case 8:
      return {
        ...{ ...base, phase: 'Pending', percent: null, totalBytes: null, copiedBytes: null },
        ...{ lagSeconds: null, readyInstances: '0/1' },
        readiness: {
          ...{ kind: 'working', reason: 'PodPending' },
          message: `the pod ${name}-syncer-0 has not been created yet`,
        },
      };
    default: {
      const verdict = index % 25 === 10 ? 'different' : 'equal';
      return {
        ...{ ...copied, phase: 'Committed', committedAt: ago(60), lagSeconds: 0 },
        readiness: { kind: 'ready', reason: 'Committed', message: 'the sync is committed' },
        verifications: [
          {
            ...{ name: 'check', verdict, isPart: false, isStalled: false },
            phase: verdict === 'equal' ? 'Succeeded' : 'Failed',
            mismatches: verdict === 'equal' ? 0 : 12,
          },
        ],
      };
    }
  }
}

function detailOf(summary: SyncSummary): SyncDetail {
  const { name, phase, copiedBytes, lagSeconds, eventsApplied, readiness, verifications } = summary;
  return {
    instances: [
      {
        ...{ id: summary.source, pod: `${name}-syncer-0`, isReady: true, isCoordinator: true },
        ...{ state: phase === 'Committed' ? 'COMMITTED' : 'RUNNING', info: 'collection copy' },
        ...{ copiedBytes, lagSeconds, eventsApplied, error: null },
      },
    ],
    collections: null,
    indexes: null,
    reconciliation: null,
    heldBack: null,
    verifications: verifications.map((verification) => ({
      ...verification,
      ...{
        error: null,
        reason: null,
        generation: 0,
        documentsCompared: 1_250_000,
        documentsHashed: 12_500,
        documentsDone: 1_250_000,
      },
      ...{ documentsTotal: 4_000_000, kinds: [], namespaces: [], list: [], reportCommand: null },
    })),
    conditions: [
      {
        ...{ type: 'Ready', status: readiness.kind === 'ready' ? 'True' : 'False' },
        ...{ reason: readiness.reason, message: readiness.message, since: ago(3) },
      },
    ],
    findings: [],
    warnings: [],
    events: { shown: [], hasMore: false },
    catchUpSeconds: 0,
  };
}
