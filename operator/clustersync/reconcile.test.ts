import assert from 'node:assert/strict';
import type { SyncVerification, SyncVerificationStatus } from '../api/sync-verification.ts';
import { secondTime } from '../kube/micro-time.ts';
import { nowMs } from '../operand/testing/running-pod.ts';
import { automatic } from './testing/automatic-commits.ts';
import { PlayedSurroundings } from './testing/played-surroundings.ts';
import { answers, changed, clusterSync, runningWorld } from './testing/worlds.ts';

const { changes } = answers;

describe('ClusterSyncReconciler', () => {
  const toBeCommitted = clusterSync({ state: 'Committed' });

  it('sends what was decided', async () => {
    const surroundings = new PlayedSurroundings(toBeCommitted, runningWorld(changes));
    await surroundings.reconcile();
    assert.deepEqual(surroundings.sent, ['commit old']);
  });

  it('sends nothing that was decided for another spec', async () => {
    const surroundings = new PlayedSurroundings(toBeCommitted, runningWorld(changes));
    surroundings.whileApplying = async () => {
      const { metadata, spec } = toBeCommitted;
      surroundings.clusterSync = await Promise.resolve({
        ...toBeCommitted,
        metadata: { ...metadata, generation: 4 },
        spec: { ...spec, suspend: true },
      });
    };
    assert.equal(await surroundings.reconcile(), 100);
    await surroundings.reconcile();
    assert.deepEqual(surroundings.sent, []);
  });

  it('sends no commit whose window has closed since it was decided', async () => {
    const commit = { ...automatic, notAfter: secondTime(nowMs + 2_000) };
    const sync = clusterSync({ commit });
    const surroundings = new PlayedSurroundings(sync, runningWorld(changes));
    surroundings.whileApplying = async () => {
      await surroundings.clock.advance(3_000);
    };
    await surroundings.reconcile();
    assert.deepEqual(surroundings.sent, []);
    const inTime = new PlayedSurroundings(sync, runningWorld(changes));
    await inTime.reconcile();
    assert.deepEqual(inTime.sent, ['commit old']);
  });

  describe('with a verification', () => {
    const commit = { ...automatic, verificationRef: { name: 'check' } };
    const running = changed(changes, { startedAt: 'now' });
    /** Under way, with this number of differences at the end of its last pass. */
    const checking = (mismatchCount: number): SyncVerificationStatus => ({
      phase: 'Checking',
      run: { attempt: 1, direction: 'Forward', inputsHash: '', syncStartedAt: 'now' },
      conditions: [
        {
          ...{ type: 'Ready', status: 'False', reason: 'Checking', message: '' },
          lastTransitionTime: 'x',
        },
      ],
      verificationStatus: {
        ...{ totalTasks: 4, addedTasks: 1, processingTasks: 0, failedTasks: 0, recheckTasks: 0 },
      },
      verifier: {
        progress: {
          phase: 'recheck',
          lastPass: {
            ...{ generation: 1, mismatchCount, longestSeconds: 60, isWhole: true },
            ...{ shortSeconds: 60, ageSeconds: 0 },
          },
        },
      },
    });
    const verification = {
      apiVersion: 'clustersync.dev/v1alpha1',
      kind: 'SyncVerification',
      metadata: { namespace: 'shop', name: 'check', uid: 'check-uid' },
      spec: { clusterSyncRef: { name: 'orders' } },
      status: checking(0),
    } as unknown as SyncVerification;

    /** @param heard - the status that this operator has decided on; undefined before it has. */
    async function sentAfter(
      heard: SyncVerificationStatus | undefined,
    ): Promise<readonly string[]> {
      const surroundings = new PlayedSurroundings(clusterSync({ commit }), runningWorld(running));
      surroundings.verifications = [verification];
      if (heard) surroundings.latestVerifications.note(verification, heard);
      await surroundings.reconcile();
      return surroundings.sent;
    }

    it('commits by what this operator has heard of it, not by the word of a former one', async () => {
      assert.deepEqual(await sentAfter(undefined), []);
      assert.deepEqual(await sentAfter(checking(0)), ['commit old']);
    });

    it('commits by its newest status, though the cache has an older one', async () => {
      assert.deepEqual(await sentAfter(checking(1)), []);
    });
  });
});
