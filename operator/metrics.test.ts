import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import type { ClusterSync, ClusterSyncStatus } from './api/clustersync.ts';
import type { SyncVerification } from './api/sync-verification.ts';
import { clusterSync } from './clustersync/testing/worlds.ts';
import { registerResourceMetrics } from './metrics.ts';
import { LatestStatuses } from './operand/latest-statuses.ts';
import { verification } from './verification/testing/worlds.ts';

function condition(type: string, status: 'True' | 'False' | 'Unknown') {
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  return { type, status, reason: `${type}Reason`, message: '', lastTransitionTime };
}

/** The samples of one ClusterSync and one SyncVerification, by an operator that leads and knows them or not. */
async function samples(isLeading = true, isKnown = true): Promise<string[]> {
  const sync: ClusterSync = {
    ...clusterSync(),
    status: {
      ...{ phase: 'ChangeApplication', lagTimeSeconds: 7 },
      totals: { estimatedTotalBytes: 900, estimatedCopiedBytes: 300 },
      conditions: [condition('Ready', 'False'), condition('Stalled', 'True')],
    },
  };
  const check: SyncVerification = verification({
    ...{ phase: 'Failed', mismatches: { total: 3 } },
    conditions: [
      condition('Ready', 'True'),
      condition('Consistent', 'False'),
      condition('SecretProblem', 'Unknown'),
    ],
  });
  const registry = new Registry();
  registerResourceMetrics(registry, {
    clusterSyncs: { list: () => [sync], get: () => sync },
    latest: new LatestStatuses<ClusterSyncStatus>(),
    syncVerifications: { list: () => [check], get: () => check },
    isActive: () => isLeading,
    isKnown: () => isKnown,
  });
  const text = await registry.metrics();
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

describe('the metrics of the custom resources', () => {
  it('are those of the statuses of each kind, without what is unknown', async () => {
    const { metadata } = clusterSync();
    const sync = `namespace="${metadata.namespace ?? ''}",name="${metadata.name}"`;
    const check = 'namespace="shop",name="check"';
    assert.deepEqual(await samples(), [
      `clustersync_lag_seconds{${sync}} 7`,
      `clustersync_estimated_total_bytes{${sync}} 900`,
      `clustersync_estimated_copied_bytes{${sync}} 300`,
      `clustersync_condition{${sync},condition="Ready"} 0`,
      `clustersync_condition{${sync},condition="Stalled"} 1`,
      `clustersync_not_ready_reason{${sync},reason="ReadyReason"} 1`,
      `clustersync_verification_mismatches{${check}} 3`,
      `clustersync_verification_condition{${check},condition="Ready"} 1`,
      `clustersync_verification_condition{${check},condition="Consistent"} 0`,
    ]);
  });

  it('are reported by the leader alone, and of objects that it knows as they are', async () => {
    assert.deepEqual(await samples(false), []);
    assert.deepEqual(await samples(true, false), []);
  });
});
