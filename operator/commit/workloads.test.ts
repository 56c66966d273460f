import assert from 'node:assert/strict';
import type { Pod } from '../kube/builtin-resources.ts';
import type { KubeClient, Selection } from '../kube/client.ts';
import { errorOfStatus } from '../kube/kube-error.ts';
import { Workloads } from './workloads.ts';

const { signal } = new AbortController();
const labelSelector = 'app=web';

/** A pod of which the API server has been told to delete it. */
function deletedPod(name: string, phase: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', deletionTimestamp: '2026-01-01T00:00:00Z' },
    spec: { containers: [], nodeName: 'node-1' },
    status: { phase },
  };
}

/** The API server of a Deployment that is scaled to zero and counts no pods. */
function clientWith(items: readonly Pod[]): KubeClient {
  const scale = {
    metadata: { name: 'web', namespace: 'shop', uid: 'web-uid', resourceVersion: '7' },
    spec: { replicas: 0 },
    status: { replicas: 0, selector: labelSelector },
  };
  const isOfIt = (selection: Selection): boolean =>
    selection.namespace === 'shop' && selection.labelSelector === labelSelector;
  return {
    raw: ({ path }: { readonly path: string }) => {
      assert.equal(path, '/apis/apps/v1/namespaces/shop/deployments/web/scale');
      return Promise.resolve(scale);
    },
    list: (_: unknown, selection: Selection) =>
      Promise.resolve({ items: isOfIt(selection) ? items : [] }),
  } as unknown as KubeClient;
}

/** An API server that refuses every request with this status. */
function refusingClient(statusCode: number, reason: string): KubeClient {
  return {
    raw: () => Promise.reject(errorOfStatus('GET /', statusCode, { reason, message: 'no' })),
  } as unknown as KubeClient;
}

const web = { kind: 'Deployment', name: 'web' } as const;

describe('a workload that cannot be read', () => {
  const look = async (statusCode: number, reason: string) =>
    await new Workloads(refusingClient(statusCode, reason)).look('shop', [web], signal);

  it('is refused where the operator has no right to it', async () => {
    const description = 'GET /: 403 Forbidden: no';
    assert.deepEqual(await look(403, 'Forbidden'), [
      { ...web, state: { kind: 'refused', description } },
    ]);
  });

  it('is missing where the API server has none', async () => {
    assert.deepEqual(await look(404, 'NotFound'), [{ ...web, state: { kind: 'missing' } }]);
  });

  it('is unknown where the API server has failed', async () => {
    await assert.rejects(look(500, 'InternalError'), { name: 'KubeError', statusCode: 500 });
  });
});

describe('a workload at zero', () => {
  it('has the pods that are being terminated, until they have ended: they write', async () => {
    const client = clientWith([deletedPod('web-1', 'Running'), deletedPod('web-2', 'Succeeded')]);
    assert.deepEqual(await new Workloads(client).look('shop', [web], signal), [
      {
        ...web,
        state: {
          kind: 'found',
          seen: { uid: 'web-uid', resourceVersion: '7' },
          replicas: 0,
          pods: 1,
        },
      },
    ]);
  });
});

describe('workloads to be scaled', () => {
  const seen = { uid: 'uid', resourceVersion: '7' };
  const refused = errorOfStatus('PUT /', 403, { reason: 'Forbidden', message: 'no' });
  const changed = errorOfStatus('PUT /', 409, { reason: 'Conflict', message: 'changed' });
  const untried = errorOfStatus('PUT /', 400, {
    ...{ reason: 'BadRequest', message: 'admission webhook "a" does not support dry run' },
  });

  /** The requests in their order, a question mark for each that only tries. @param answers - errors, by the request. */
  async function scaled(isTriedFirst: boolean, answers: Readonly<Record<string, Error>>) {
    const asked: string[] = [];
    const client = {
      raw: async ({ path, query }: { readonly path: string; readonly query?: unknown }) => {
        const request = `${path.split('/').at(-2) ?? ''}${query === undefined ? '' : '?'}`;
        asked.push(request);
        const error = answers[request];
        if (error) throw error;
        return await Promise.resolve({});
      },
    } as unknown as KubeClient;
    const scalings = ['web', 'queue'].map((name) => {
      return { ...({ kind: 'Deployment', name } as const), seen, replicas: 0 };
    });
    const scaling = new Workloads(client).scale('shop', { scalings, isTriedFirst }, signal);
    const failure: unknown = await scaling.then(
      () => undefined,
      (error: unknown) => error,
    );
    return { asked, failure };
  }

  it('show why the API server refused it, until one of the same uid is scaled', async () => {
    const answers: Error[] = [refused];
    const read = {
      metadata: { ...seen, name: 'web' },
      ...{ spec: { replicas: 2 }, status: { replicas: 2, selector: labelSelector } },
    };
    let uid = seen.uid;
    const client = {
      raw: async ({ method }: { readonly method: string }) => {
        if (method === 'GET')
          return await Promise.resolve({ ...read, metadata: { ...read.metadata, uid } });
        const error = answers.shift();
        if (error) throw error;
        return {};
      },
    } as unknown as KubeClient;
    const workloads = new Workloads(client);
    const scale = async (): Promise<unknown> => {
      const scalings = [{ ...web, seen, replicas: 0 }];
      const step = { scalings, isTriedFirst: false };
      return await workloads.scale('shop', step, signal).catch((error: unknown) => error);
    };
    const refusal = async (): Promise<string | undefined> => {
      const [view] = await workloads.look('shop', [web], signal);
      return view?.state.kind === 'found' ? view.state.refusal : view?.state.kind;
    };
    assert.equal(await refusal(), undefined);
    assert.equal(await scale(), refused);
    assert.equal(await refusal(), refused.message);
    uid = 'of a namesake';
    assert.equal(await refusal(), undefined);
    uid = seen.uid;
    answers.push(changed);
    await scale();
    assert.equal(await refusal(), refused.message);
    await scale();
    assert.equal(await refusal(), undefined);
  });

  for (const [what, isTriedFirst, answers, asked, failure] of [
    ['are all scaled', false, {}, ['web', 'queue'], undefined],
    [
      'are all scaled but for one that is refused',
      false,
      { web: refused },
      ['web', 'queue'],
      refused,
    ],
    ['are tried, then scaled', true, {}, ['web?', 'queue?', 'web', 'queue'], undefined],
    ['are left where one is refused', true, { 'queue?': refused }, ['web?', 'queue?'], refused],
    ['are left where one has changed', true, { 'web?': changed }, ['web?'], undefined],
    [
      'are left after one that is refused though its trial was not',
      true,
      { web: refused },
      ['web?', 'queue?', 'web'],
      refused,
    ],
    [
      'are scaled where they cannot be tried',
      true,
      { 'web?': untried },
      ['web?', 'queue?', 'web', 'queue'],
      undefined,
    ],
  ] as const)
    it(what, async () => {
      assert.deepEqual(await scaled(isTriedFirst, answers), { asked, failure });
    });
});
