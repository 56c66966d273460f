import assert from 'node:assert/strict';
import { events, pods, statefulSets } from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { until } from '../../ground/until.ts';
import { readiness, type OperatorGround } from './operator-ground.ts';
import { crashPod, playedImage } from './played-pod.ts';
import { applying, StandIn } from './stand-in.ts';
import { useOperatorGround } from './use-operator-ground.ts';

const signal = new AbortController().signal;
const ends = 12;

describe('a syncer that ends again and again, on a real API server', () => {
  let ground: OperatorGround;
  useOperatorGround((started) => {
    ground = started;
  });

  it('is left to Kubernetes: nothing starts over, and the sync continues each time', async () => {
    const { namespace, address } = await ground.newPlace();
    await ground.createSync(namespace);
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    const isInSync = async (): Promise<void> => {
      await ground.untilSync(namespace, 'in sync', (status) => readiness(status) === 'True InSync');
    };
    const versions = async (): Promise<unknown[]> => {
      const made = await ground.get(statefulSets, namespace, 'orders-syncer');
      const pod = await ground.get(pods, namespace, 'orders-syncer-0');
      return [made?.metadata.uid, made?.metadata.generation, pod?.metadata.uid];
    };
    await ground.runPod(set, address);
    await isInSync();
    const before = await versions();
    for (let count = 1; count <= ends; count++) {
      await crashPod(ground.client, set, count);
      const status = await ground.untilSync(
        namespace,
        `its end is told, ${count}`,
        (now) => readiness(now) === 'False PodCrashLooping',
      );
      const ready = findCondition(status.conditions, 'Ready');
      assert.match(ready?.message ?? '', /; last time with exit code 137 \(OOMKilled\)$/);
      const stalled = findCondition(status.conditions, 'Stalled')?.status;
      assert.equal(stalled, count < 5 ? undefined : 'True', `after ${count}`);
      assert.equal(status.instances?.[0]?.image, playedImage);
      await ground.runPod(set, address, { containerID: `test://again-${count}` });
      await isInSync();
    }
    assert.deepEqual(syncer.commandNames, []);
    assert.deepEqual(await versions(), before);
    await until('the event is written', async () => (await crashes(namespace)) > 0);
    assert.equal(await crashes(namespace), 1, 'one event, however often');
  });

  async function crashes(namespace: string): Promise<number> {
    const { items } = await ground.client.list(events, { namespace, signal });
    return items.filter(({ reason }) => reason === 'PodCrashLooping').length;
  }
});
