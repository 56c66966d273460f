import assert from 'node:assert/strict';
import type { ClusterSyncStatus } from '../../../operator/api/clustersync.ts';
import { syncVerifications } from '../../../operator/api/sync-verification.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import type { OperatorGround } from './operator-ground.ts';
import { applying, StandIn } from './stand-in.ts';
import { useOperatorGround } from './use-operator-ground.ts';
import { until } from '../../ground/until.ts';

const { signal } = new AbortController();

function told(status: ClusterSyncStatus): string {
  const { status: value, reason } = findCondition(status.conditions, 'ReadyToCommit') ?? {};
  return `${value} ${reason}`;
}

describe('whether a ClusterSync is ready to commit, on a real API server', () => {
  let ground: OperatorGround;
  useOperatorGround((started) => {
    ground = started;
  });

  it('follows what its SyncVerification knows, and that it exists', async () => {
    const { namespace, address } = await ground.newPlace();
    const startedAt = '2026-01-01T00:00:00Z';
    const running = { ...applying, startedAt };
    await using syncer = await StandIn.start(address, 27182, { progress: running });
    const verified = (mismatchCount: number | null) => ({
      progress: {
        phase: 'recheck',
        verdict: null,
        verificationStatus: { totalTasks: 1, completedTasks: 1 },
        lastPass:
          mismatchCount === null
            ? null
            : {
                ...{ mismatchCount, longestSeconds: mismatchCount * 10, isWhole: true },
                ...{ generation: 1, shortSeconds: 60, ageSeconds: 0 },
              },
      },
    });
    await using verifier = await StandIn.start(address, 27020, verified(null));
    await ground.createSync(namespace);
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
    const untilTold = async (expected: string): Promise<ClusterSyncStatus> => {
      return await ground.untilSync(namespace, expected, (status) => told(status) === expected);
    };
    await untilTold('Unknown NotVerified');

    const metadata = { namespace, name: 'check' };
    const object = { metadata, spec: { clusterSyncRef: { name: 'orders' } } };
    await ground.client.create<KubeObject>(syncVerifications, object, { signal });
    await untilTold('False WaitingForVerification');
    await ground.runPod(await ground.untilMade(namespace, 'check-verifier'), address);
    verifier.progress = verified(0);
    const ready = await untilTold('True Verified');
    assert.equal(ready.canCommit, true);
    assert.ok(syncer.polls > 0);
    const columns = await ground.kubectl('get', 'csync', '--namespace', namespace);
    assert.match(columns, /READYTOCOMMIT.*\n.* True +True /);

    verifier.progress = verified(2);
    await untilTold('False WaitingForVerification');
    verifier.progress = verified(0);
    await untilTold('True Verified');
    await ground.client.delete(syncVerifications, metadata, { signal });
    await untilTold('Unknown NotVerified');
  });

  it('is what an automatic commit follows, too, whatever its own SyncVerification knows', async () => {
    const { namespace, address } = await ground.newPlace();
    const running = { ...applying, startedAt: '2026-01-01T00:00:00Z' };
    await using syncer = await StandIn.start(address, 27182, { progress: running });
    const found = {
      ...{ generation: 1, mismatchCount: 0, longestSeconds: 0, isWhole: true },
      ...{ shortSeconds: 60, ageSeconds: 0 },
    };
    await using verifier = await StandIn.start(address, 27020, {
      progress: { phase: 'recheck', verdict: null, lastPass: found },
    });
    const verificationRef = { name: 'part' };
    await ground.createSync(namespace, { commit: { mode: 'Automatic', verificationRef } });
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
    const filter = { includeNamespaces: [{ database: 'shop' }] };
    const clusterSyncRef = { name: 'orders' };
    const create = async (name: string, spec: object) => {
      const object = { metadata: { namespace, name }, spec: { clusterSyncRef, ...spec } };
      await ground.client.create<KubeObject>(syncVerifications, object, { signal });
      await ground.runPod(await ground.untilMade(namespace, `${name}-verifier`), address);
    };
    await create('part', { filter });
    const status = await ground.untilSync(
      namespace,
      'that it refuses a part',
      (given) =>
        findCondition(given.conditions, 'Stalled')?.message.includes('part has spec.filter') ===
        true,
    );
    assert.equal(told(status), 'False WaitingForVerification');
    assert.ok(!syncer.commandNames.includes('commit'));
    await create('whole', {});
    await ground.patchSync(namespace, { commit: { verificationRef: { name: 'whole' } } });
    await until('it is committed', () => syncer.commandNames.includes('commit'));
    assert.ok(verifier.polls > 0);
  });
});
