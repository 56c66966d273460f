import assert from 'node:assert/strict';
import { pods, type StatefulSet } from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { controllerReference } from '../../../operator/kube/owner.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';

const { signal } = new AbortController();

/** What the containers of played pods run. */
export const playedImage = `example.dev/clustersync@sha256:${'5f'.repeat(32)}`;
/** As a runtime reports it. */
const imageID = `docker-pullable://${playedImage}`;

/** Does what the controllers of Kubernetes and a kubelet would do: runs a pod of a StatefulSet. */
export async function runPod(
  client: KubeClient,
  set: StatefulSet,
  address: string,
  {
    index = 0,
    containerID = 'test://1',
    nodeName,
  }: { readonly index?: number; readonly containerID?: string; readonly nodeName?: string } = {},
): Promise<void> {
  const { namespace = '' } = set.metadata;
  const name = `${set.metadata.name}-${index}`;
  const template = set.spec?.template;
  const [container] = template?.spec?.containers ?? [];
  assert.ok(template?.spec && container);
  const { labels = {}, annotations = {} } = template.metadata ?? {};
  if (!(await client.find(pods, { namespace, name }, { signal }))) {
    const ownerReferences = [controllerReference(set)];
    const metadata = { namespace, name, labels, annotations, ownerReferences };
    const spec = { ...template.spec, ...(nodeName !== undefined && { nodeName }) };
    await client.create<KubeObject>(pods, { metadata, spec } as never, { signal });
  }
  const status = {
    podIP: address,
    podIPs: [{ ip: address }],
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [
      {
        name: container.name,
        image: '',
        imageID,
        ready: true,
        restartCount: 0,
        containerID,
        state: { running: {} },
      },
    ],
  };
  await client.patch(pods, { namespace, name }, { status }, { signal, subresource: 'status' });
}

/** Lets the container of a pod have ended so many times, and wait to be started again, as far as the API shows it. */
export async function crashPod(
  client: KubeClient,
  set: StatefulSet,
  restartCount: number,
): Promise<void> {
  const { namespace = '' } = set.metadata;
  const [container] = set.spec?.template.spec?.containers ?? [];
  assert.ok(container);
  const { name } = container;
  const status = {
    conditions: [{ type: 'Ready', status: 'False' }],
    containerStatuses: [
      {
        ...{ name, image: '', imageID, ready: false, restartCount },
        state: { waiting: { reason: 'CrashLoopBackOff' } },
        lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
      },
    ],
  };
  const pod = { namespace, name: `${set.metadata.name}-0` };
  await client.patch(pods, pod, { status }, { signal, subresource: 'status' });
}
