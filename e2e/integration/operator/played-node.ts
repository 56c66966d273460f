import { nodes } from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';

const { signal } = new AbortController();

/** Makes a node, as its kubelet does, or the controller of nodes once that is silent; or changes what is said of it. */
export async function putNode(
  client: KubeClient,
  name: string,
  { ready, seconds }: { readonly ready: 'True' | 'False' | 'Unknown'; readonly seconds: number },
): Promise<void> {
  if (!(await client.find(nodes, { name }, { signal })))
    await client.create<KubeObject>(nodes, { metadata: { name } }, { signal });
  const lastTransitionTime = new Date(Date.now() - seconds * 1000).toISOString();
  const condition = { type: 'Ready', status: ready, reason: 'Played', message: '' };
  const status = { conditions: [{ ...condition, lastTransitionTime }] };
  await client.patch(nodes, { name }, { status }, { signal, subresource: 'status' });
}
