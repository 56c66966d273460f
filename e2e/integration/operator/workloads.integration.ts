import assert from 'node:assert/strict';
import type { SeenWorkload, WorkloadState } from '../../../operator/commit/plan.ts';
import { Workloads } from '../../../operator/commit/workloads.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { until } from '../../ground/until.ts';
import { useApiServer } from '../kube/use-api-server.ts';

const { signal } = new AbortController();
const namespace = 'default';

describe('Workloads, on a real API server', () => {
  let client: KubeClient;

  useApiServer((_server, itsClient) => {
    client = itsClient;
  });

  it('misses workloads of names that no object can have, as it does those that are not there', async () => {
    const refs = ['.', '..', 'a/b', 'a%2fb', 'not-there'].map((name) => {
      return { kind: 'Deployment', name } as const;
    });
    const views = await new Workloads(client).look(namespace, refs, signal);
    assert.deepEqual(
      views.map(({ state }) => state.kind),
      refs.map(() => 'missing'),
    );
  });

  it('scales no workload that somebody has scaled, or made again, since it was looked at', async () => {
    const ref = { kind: 'Deployment', name: 'web' } as const;
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments`;
    const labels = { app: 'web' };
    const make = async (): Promise<void> => {
      const template = {
        metadata: { labels },
        spec: { containers: [{ name: 'web', image: 'example.dev/web' }] },
      };
      const spec = { replicas: 1, selector: { matchLabels: labels }, template };
      const body = { metadata: { name: ref.name }, spec };
      await client.raw({ method: 'POST', path, body, signal });
    };
    const workloads = new Workloads(client);
    const look = async (): Promise<Extract<WorkloadState, { kind: 'found' }>> => {
      const [view] = await workloads.look(namespace, [ref], signal);
      assert.ok(view?.state.kind === 'found');
      return view.state;
    };
    const scale = async (seen: SeenWorkload, replicas: number): Promise<void> => {
      const scalings = [{ ...ref, seen, replicas }];
      await workloads.scale(namespace, { scalings, isTriedFirst: replicas === 0 }, signal);
    };
    await make();
    const { seen } = await look();
    await scale(seen, 5);
    assert.equal((await look()).replicas, 5, 'as nobody has changed it');
    await scale(seen, 0);
    assert.equal((await look()).replicas, 5);
    const { seen: former } = await look();
    await client.raw({ method: 'DELETE', path: `${path}/${ref.name}`, signal });
    await until('it is gone', async () => {
      return (await workloads.look(namespace, [ref], signal))[0]?.state.kind === 'missing';
    });
    await make();
    await scale(former, 0);
    assert.equal((await look()).replicas, 1);
    await scale((await look()).seen, 0);
    assert.equal((await look()).replicas, 0, 'a trial has not changed its version');
  });
});
