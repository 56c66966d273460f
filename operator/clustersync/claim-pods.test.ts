import assert from 'node:assert/strict';
import type { Pod } from '../kube/builtin-resources.ts';
import { keyOf, podOf, Scene, type Tenant } from './testing/claim-scene.ts';

const deletionTimestamp = '2026-01-01T00:00:00Z';

/** A pod that users of its namespace keep in the API with a finalizer, and the status that the kubelet reports. */
function kept(tenant: Tenant, { spec, status }: Pick<Pod, 'spec' | 'status'>): Pod {
  const pod = podOf(tenant);
  const metadata = { ...pod.metadata, finalizers: ['example.dev/kept'], deletionTimestamp };
  return { ...pod, metadata, ...(spec && { spec }), ...(status && { status }) };
}

const onNode = { containers: [], nodeName: 'node-1' };

describe('the pods that keep a claim', () => {
  /** One ClusterSync that has the destination but no proper pods, and another one that has logged in there, too. */
  async function twoTenants(): Promise<{ scene: Scene; owner: Tenant; other: Tenant }> {
    const scene = new Scene();
    const [owner, other] = [scene.add('a'), scene.add('a')];
    scene.logIn(owner, 'a');
    assert.equal((await scene.pass(owner)).kind, 'held');
    scene.logIn(other, 'a');
    return { scene, owner, other };
  }

  for (const [what, pod, kind] of [
    ['one that has ended', { spec: onNode, status: { phase: 'Succeeded' } }, 'held'],
    ['one that has failed', { spec: onNode, status: { phase: 'Failed' } }, 'held'],
    ['one that no node has had', { spec: { containers: [] } }, 'held'],
    ['one that is being ended', { spec: onNode, status: { phase: 'Running' } }, 'taken'],
    ['one of which nothing is known', { spec: onNode }, 'taken'],
  ] as const) {
    for (const end of ['broken', 'deleted'] as const)
      it(`are those that may write: of a claim that is ${end}, ${what} that a finalizer keeps leaves it ${kind}`, async () => {
        const { scene, owner, other } = await twoTenants();
        if (end === 'broken') scene.break(owner);
        else owner.isThere = false;
        scene.endPods(owner);
        owner.replicas = 0;
        scene.otherPods.push(kept(owner, pod));
        assert.equal((await scene.pass(other)).kind, kind);
        const left = await scene.claims.release(keyOf(owner), new AbortController().signal);
        assert.equal(left, end === 'deleted' && kind === 'taken');
      });
  }

  it('are those to come, too: of a ClusterSync that is deleted, as long as its StatefulSet is left', async () => {
    const { scene, owner, other } = await twoTenants();
    owner.isThere = false;
    scene.endPods(owner);
    owner.hasSet = true;
    assert.equal((await scene.pass(other)).kind, 'taken');
    owner.hasSet = false;
    assert.equal((await scene.pass(other)).kind, 'held');
  });

  it('are those to come, too: of one whose claim is broken, until its StatefulSet has 0 replicas', async () => {
    const { scene, owner, other } = await twoTenants();
    scene.break(owner);
    scene.endPods(owner);
    assert.equal(owner.replicas, 1);
    assert.equal((await scene.pass(other)).kind, 'taken');
    owner.replicas = 0;
    assert.equal((await scene.pass(other)).kind, 'held');
  });

  it('are those of its StatefulSet: an annotation makes no other one count', async () => {
    const { scene, owner, other } = await twoTenants();
    scene.break(owner);
    scene.endPods(owner);
    owner.replicas = 0;
    const [pod] = [podOf(owner)];
    scene.otherPods.push({ ...pod, metadata: { ...pod.metadata, name: 'second-syncer-0' } });
    assert.equal((await scene.pass(other)).kind, 'held');
  });

  it('are those of its StatefulSet: someone who may change annotations hides none', async () => {
    const { scene, owner, other } = await twoTenants();
    scene.break(owner);
    scene.endPods(owner);
    owner.replicas = 0;
    const pod = podOf(owner);
    scene.otherPods.push({ ...pod, metadata: { ...pod.metadata, annotations: {} } });
    assert.equal((await scene.pass(other)).kind, 'taken');
  });
});
