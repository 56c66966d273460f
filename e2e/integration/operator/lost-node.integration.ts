import assert from 'node:assert/strict';
import { events, nodes, pods } from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { until } from '../../ground/until.ts';
import { readiness, type OperatorGround } from './operator-ground.ts';
import { putNode } from './played-node.ts';
import { applying, StandIn } from './stand-in.ts';
import { useOperatorGround } from './use-operator-ground.ts';

const { signal } = new AbortController();

const replacing = { syncer: { replaceLostPodsAfterSeconds: 300 } };

/** When the node of a test has been silent for long enough: after its pod is told to be overdue. */
const untilLostSeconds = 120;

describe('the node of a pod that no longer answers, on a real API server', () => {
  let ground: OperatorGround;
  useOperatorGround((started) => {
    ground = started;
  });

  it('is told a minute after the pod was to end, with what a person must do; then the sync resumes', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    await ground.createSync(namespace);
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await ground.runPod(set, address, { nodeName: 'node-7' });
    await ground.untilSync(namespace, 'in sync', (status) => readiness(status) === 'True InSync');

    // As the taint manager does. No kubelet confirms that the pod has ended, so that it stays.
    const pod = { namespace, name: 'orders-syncer-0' };
    await ground.client.delete(pods, pod, { signal, gracePeriodSeconds: 1 });
    await ground.untilSync(namespace, 'its pod is to end', (status) => {
      return readiness(status) === 'False PodPending';
    });
    const lost = await ground.untilSync(namespace, 'its node is told', (status) => {
      return readiness(status) === 'False NodeUnresponsive';
    });
    const { deletionTimestamp = '' } =
      (await ground.get(pods, namespace, pod.name))?.metadata ?? {};
    assert.ok(Date.now() - Date.parse(deletionTimestamp) >= 60_000);
    const stalled = findCondition(lost.conditions, 'Stalled');
    assert.deepEqual([stalled?.status, stalled?.reason], ['True', 'NodeUnresponsive']);
    assert.match(
      stalled?.message ?? '',
      /kubectl taint nodes node-7 node\.kubernetes\.io\/out-of-service=/,
    );

    // As the collector of pods does once the node is tainted; the StatefulSet gets another pod.
    await ground.client.delete(pods, pod, { signal, gracePeriodSeconds: 0 });
    await ground.runPod(set, address, { nodeName: 'node-8', containerID: 'test://2' });
    const back = await ground.untilSync(namespace, 'in sync again', (status) => {
      return readiness(status) === 'True InSync';
    });
    assert.equal(findCondition(back.conditions, 'Stalled'), undefined);
    assert.ok(syncer.polls > 0);
  });

  it('is replaced after the time that is given, and no pod whose node answers, has answered lately, or that is new', async () => {
    const { client } = ground;
    const scenes: readonly (readonly [
      node: string,
      Parameters<typeof putNode>[2],
      asked: boolean,
    ])[] = [
      // Silent for five minutes soon after the pod is told to be overdue.
      ['node-lost', { ready: 'Unknown', seconds: 300 - untilLostSeconds }, true],
      ['node-ready', { ready: 'True', seconds: 9_000 }, true],
      ['node-back', { ready: 'Unknown', seconds: 0 }, true],
      ['node-unasked', { ready: 'Unknown', seconds: 9_000 }, false],
    ];
    await using stack = new AsyncDisposableStack();
    const places = await Promise.all(
      scenes.map(async ([node, , asked]) => {
        const { namespace, address } = await ground.newPlace();
        stack.use(await StandIn.start(address, 27182, { progress: applying }));
        await ground.createSync(namespace, asked ? replacing : {});
        const set = await ground.untilMade(namespace, 'orders-syncer');
        await ground.runPod(set, address, { nodeName: node });
        await ground.untilSync(namespace, 'in sync', (status) =>
          readiness(status).startsWith('True'),
        );
        return { node, namespace, address, set };
      }),
    );
    for (const [node, state] of scenes) await putNode(client, node, state);
    const name = 'orders-syncer-0';
    const uidIn = async (namespace: string): Promise<string | undefined> =>
      (await ground.get(pods, namespace, name))?.metadata.uid;
    const uids = new Map<string, string | undefined>();
    for (const { node, namespace } of places) {
      uids.set(node, await uidIn(namespace));
      await client.delete(pods, { namespace, name }, { signal, gracePeriodSeconds: 1 });
    }
    const said = async (namespace: string, pattern: RegExp): Promise<void> => {
      await ground.untilSync(namespace, String(pattern), ({ conditions }) => {
        const ready = findCondition(conditions, 'Ready');
        return ready?.reason === 'NodeUnresponsive' && pattern.test(ready.message);
      });
    };
    const [lost, ready, back, unasked] = places;
    assert.ok(lost && ready && back && unasked);
    await said(lost.namespace, /once the node has been silent for 300 s/);
    assert.equal(await uidIn(lost.namespace), uids.get('node-lost'));
    await said(ready.namespace, /does not replace the pod.*node-ready answers/);
    await said(back.namespace, /once the node has been silent for 300 s/);
    await said(unasked.namespace, /out-of-service=nodeshutdown:NoExecute"\)$/);

    await until('the pod of the lost node is gone', async () => {
      return (await uidIn(lost.namespace)) === undefined;
    });
    const conditions = (await client.get(nodes, { name: 'node-lost' }, { signal })).status
      ?.conditions;
    const since = Date.parse(conditions?.[0]?.lastTransitionTime ?? '');
    assert.ok(Date.now() - since >= 300_000, 'it is not replaced before');
    await until('it is told', async () => {
      const { items } = await client.list(events, { namespace: lost.namespace, signal });
      return items.some(
        ({ reason, note }) =>
          reason === 'PodReplaced' && note?.includes(name) && note.includes('node-lost'),
      );
    });
    // As the StatefulSet does. Its name is the same, and so may its node be.
    await ground.runPod(lost.set, lost.address, { nodeName: 'node-lost', containerID: 'test://2' });
    await ground.untilSync(lost.namespace, 'in sync again', (status) => {
      return readiness(status) === 'True InSync';
    });
    for (const { node, namespace } of places) {
      const uid = await uidIn(namespace);
      assert.notEqual(uid, undefined, node);
      assert.equal(uid === uids.get(node), node !== 'node-lost', node);
    }

    // It answers again, and is lost a second time: that counts from then on.
    await putNode(client, 'node-ready', { ready: 'Unknown', seconds: 0 });
    await said(ready.namespace, /once the node has been silent for 300 s/);
    await putNode(client, 'node-ready', { ready: 'Unknown', seconds: 300 });
    await until('its pod is gone, too', async () => (await uidIn(ready.namespace)) === undefined);
  });
});
