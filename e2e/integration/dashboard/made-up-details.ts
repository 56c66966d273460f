import type { SyncDetail, VerificationView } from '../../../dashboard/api/sync-view.ts';

const namespaces = ['orders', 'customers', 'items', 'invoices', 'carts', 'reviews', 'sessions'];
const lastMinute = new Date(Date.now() - 60_000).toISOString();

/** Three shards in the middle of the copy, one of them unreachable, with every optional value. */
export const busyDetail: Partial<SyncDetail> = {
  instances: ['shard-a', 'shard-b', 'shard-c'].map((id, index) => ({
    ...{ id, pod: `sessions-syncer-${index}`, isReady: index < 2, isCoordinator: index === 0 },
    ...{ state: 'RUNNING', info: 'collection copy', copiedBytes: 71e9 + index * 13e9 },
    ...{ lagSeconds: index * 2, eventsApplied: 120_345 + index },
    error: index < 2 ? null : 'no answer within 5000 ms',
  })),
  collections: {
    total: 230,
    copied: 131,
    ...{ isExact: true, unknownInstances: 0 },
    collections: Array.from({ length: 100 }, (_, index) => {
      const totalBytes = 9e9 / (index + 1);
      return {
        namespace: `shop_${Math.floor(index / 7)}.${namespaces[index % 7] ?? ''}`,
        totalBytes,
        copiedBytes: index < 4 ? totalBytes * (0.2 + index * 0.2) : index < 8 ? 0 : totalBytes,
        isCopied: index >= 8,
      };
    }),
  },
  indexes: { built: 12, total: 41 },
  reconciliation: { comparedDocuments: 48_200, changedDocuments: 12 },
  warnings: [
    'ordinary users cannot write on the destination',
    'change stream: trying again for 12 s: connection refused',
  ],
  events: {
    shown: ['Started', 'InstanceUnreachable', 'PodPending'].map((reason, index) => ({
      ...{ type: index === 1 ? 'Warning' : 'Normal', reason, at: lastMinute, count: index * 3 + 1 },
      ...{
        note: 'the pod sessions-syncer-2 has not been created yet',
        about: 'ClusterSync/sessions',
      },
    })),
    hasMore: true,
  },
};

/** A verification with differences of each kind. */
export const differentVerification: VerificationView = {
  ...{ name: 'check', phase: 'Failed', verdict: 'different', mismatches: 212, error: null },
  ...{ isPart: false, isStalled: false },
  reason: null,
  ...{
    generation: 2,
    documentsCompared: 8_250_120,
    documentsHashed: null,
    documentsDone: 118,
    documentsTotal: 118,
  },
  kinds: [
    { name: 'differentDocument', count: 180 },
    { name: 'missingDocument', count: 31 },
    { name: 'differentIndex', count: 1 },
  ],
  namespaces: [
    { name: 'shop.orders', count: 200 },
    { name: 'shop.customers', count: 12 },
  ],
  list: Array.from({ length: 100 }, (_, index) => ({
    namespace: 'shop.orders',
    kind: index === 0 ? 'differentIndex' : 'differentDocument',
    index: index === 0 ? 'customer_1' : null,
    field: index === 0 ? 'unique' : 'lines.3.price',
    detail: index === 0 ? 'only on shard-a' : null,
  })),
  reportCommand: 'clustersync verifier report --verification=2f1c --metaURIFile=uri.txt',
};
