import assert from 'node:assert/strict';
import type { KubeClient } from '../kube/client.ts';
import type { EventRecorder } from '../kube/event-recorder.ts';
import { errorOfStatus } from '../kube/kube-error.ts';
import { OperandStore } from '../operand/operand-store.ts';
import { LostPodKeeper } from './lost-pod-keeper.ts';
import { clusterSync } from './testing/worlds.ts';

const { signal } = new AbortController();
const lost = { name: 'orders-syncer-0', uid: 'pod-uid', resourceVersion: '7', node: 'node-1' };

/** What becomes of a lost pod. @param answer - of the API server to its deletion. */
async function removed(answer: () => Promise<boolean>) {
  const asked: unknown[] = [];
  const events: string[] = [];
  const client = {
    delete: async (
      _: unknown,
      ref: unknown,
      { signal: _signal, ...options }: { signal: unknown },
    ) => {
      asked.push([ref, options]);
      return await answer();
    },
  } as unknown as KubeClient;
  const recorder = {
    record: ({ reason }: { readonly reason: string }) => events.push(reason),
  } as unknown as EventRecorder;
  const nothing = undefined as never;
  const store = new OperandStore(client, nothing, nothing, () => undefined);
  const undeleted = await new LostPodKeeper(store, recorder).remove(clusterSync(), [lost], signal);
  return { asked, events, undeleted: [...undeleted] };
}

describe('LostPodKeeper', () => {
  const refuse = (code: number, reason: string) => async () =>
    await Promise.reject(errorOfStatus('DELETE /', code, { reason, message: 'no' }));

  it('deletes the pod that was looked at, and no later one of its name', async () => {
    const { asked, events, undeleted } = await removed(async () => await Promise.resolve(true));
    assert.deepEqual(asked, [
      [
        { namespace: 'shop', name: lost.name },
        { gracePeriodSeconds: 0, preconditions: { uid: 'pod-uid', resourceVersion: '7' } },
      ],
    ]);
    assert.deepEqual([events, undeleted], [['PodReplaced'], []]);
  });

  for (const [what, answer] of [
    ['has changed', refuse(409, 'Conflict')],
    ['is gone', async () => await Promise.resolve(false)],
  ] as const)
    it(`tells of no deletion where the pod ${what}`, async () => {
      const { events, undeleted } = await removed(answer);
      assert.deepEqual([events, undeleted], [[], []]);
    });

  it('says why the API server refuses', async () => {
    const { events, undeleted } = await removed(refuse(403, 'Forbidden'));
    assert.deepEqual([events, undeleted], [[], [['pod-uid', 'DELETE /: 403 Forbidden: no']]]);
  });
});
