import assert from 'node:assert/strict';
import type { ClusterSync } from './api/clustersync.ts';
import type { SyncVerification } from './api/sync-verification.ts';
import { onVerification, onVerifiedSync } from './triggers.ts';

const api = { apiVersion: 'clustersync.dev/v1alpha1' } as const;

function verification(name: string, syncName: string, namespace = 'shop'): SyncVerification {
  return {
    ...{ ...api, kind: 'SyncVerification', metadata: { name, namespace } },
    spec: {
      clusterSyncRef: { name: syncName },
      ...{ comparison: 'Bytes', parallelism: 1, verifier: { resources: {}, logLevel: 'info' } },
    },
  };
}

function sync(status?: object): ClusterSync {
  const object = { ...api, kind: 'ClusterSync', metadata: { name: 'orders', namespace: 'shop' } };
  return { ...object, ...(status && { status }) } as unknown as ClusterSync;
}

describe('onVerification', () => {
  it('queues the ClusterSync that a SyncVerification is about, and was about, if there is one', () => {
    const queued: string[] = [];
    const known = new Set(['shop/orders', 'shop/carts']);
    const handler = onVerification((key) => queued.push(key), {
      get: (key) => (known.has(key) ? sync() : undefined),
      list: () => [],
    });
    handler({ kind: 'added', object: verification('check', 'orders') });
    handler({ kind: 'added', object: verification('check', 'gone') });
    handler({ kind: 'added', object: verification('check', 'orders', 'other') });
    handler({
      kind: 'updated',
      object: verification('check', 'carts'),
      old: verification('check', 'orders'),
    });
    handler({ kind: 'deleted', object: verification('check', 'carts') });
    assert.deepEqual(queued, ['shop/orders', 'shop/carts', 'shop/orders', 'shop/carts']);
  });
});

describe('onVerifiedSync', () => {
  it('queues the SyncVerifications of a ClusterSync at its milestones, which follow no verification', () => {
    const queued: string[] = [];
    const handler = onVerifiedSync((key) => queued.push(key), {
      get: () => undefined,
      list: () => [
        verification('check', 'orders'),
        verification('other', 'carts'),
        verification('check', 'orders', 'other'),
      ],
    });
    const conditions = (type: string) => [{ type, status: 'True' }];
    const changes = [
      [{}, { conditions: conditions('InitialCopyDone') }],
      [{ conditions: [] }, { conditions: conditions('ReadyToCommit') }],
      [{}, { totals: { percent: 7 } }],
      [{}, { direction: 'Reverse' }],
    ] as const;
    const counts = changes.map(([old, status]) => {
      queued.length = 0;
      handler({ kind: 'updated', object: sync(status), old: sync(old) });
      return [...queued];
    });
    assert.deepEqual(counts, [['shop/check'], [], [], ['shop/check']]);
  });
});
