import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import {
  configMaps,
  leases,
  namespaces,
  secrets,
  statefulSets,
} from '../../../operator/kube/builtin-resources.ts';
import { KubeClient } from '../../../operator/kube/client.ts';
import { findCondition, setCondition, type Condition } from '../../../operator/kube/conditions.ts';
import {
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  KubeError,
} from '../../../operator/kube/kube-error.ts';
import { KubeMetrics } from '../../../operator/kube/metrics.ts';
import { microTime } from '../../../operator/kube/micro-time.ts';
import { controllerReference, isControlledBy } from '../../../operator/kube/owner.ts';
import type { KubeObject, Resource } from '../../../operator/kube/resource.ts';
import { forEachConcurrently } from '../../../service/concurrency.ts';
import type { ApiServer } from '../../ground/kubernetes/api-server.ts';
import { untilServed } from './until-served.ts';
import { useApiServer } from './use-api-server.ts';

interface Widget extends KubeObject {
  readonly spec?: { readonly size?: number };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly size?: number;
    readonly note?: string;
  };
}

const widgets: Resource<Widget> = {
  group: 'example.dev',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
};

const statusSchema = {
  type: 'object',
  properties: {
    size: { type: 'integer' },
    note: { type: 'string' },
    conditions: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
      items: {
        type: 'object',
        required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
        properties: {
          type: { type: 'string' },
          status: { type: 'string' },
          reason: { type: 'string' },
          message: { type: 'string' },
          lastTransitionTime: { type: 'string', format: 'date-time' },
          observedGeneration: { type: 'integer' },
        },
      },
    },
  },
};

const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.dev' },
  spec: {
    group: 'example.dev',
    names: { kind: 'Widget', plural: 'widgets' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer', maximum: 9 } } },
              status: statusSchema,
            },
          },
        },
      },
    ],
  },
};

describe('KubeClient, on a real API server', () => {
  const namespace = 'default';
  const signal = new AbortController().signal;
  let server: ApiServer;
  let client: KubeClient;

  useApiServer(async (...made) => {
    [server, client] = made;
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    await client.raw({ method: 'POST', path: crds, body: widgetDefinition, signal });
    await untilServed('the new resources', async () => await client.list(widgets, { signal }));
  });

  it('creates, gets, replaces, patches and deletes', async () => {
    const name = 'crud';
    const created = await client.create(
      configMaps,
      { metadata: { namespace, name }, data: { a: '1' } },
      { signal },
    );
    assert.ok(created.metadata.uid);
    await assert.rejects(
      client.create(configMaps, { metadata: { namespace, name } }, { signal }),
      isAlreadyExists,
    );
    const read = await client.get(configMaps, { namespace, name }, { signal });
    assert.deepEqual(read.data, { a: '1' });
    await client.replace(configMaps, { ...read, data: { a: '2' } }, { signal });
    await assert.rejects(
      client.replace(configMaps, { ...read, data: { a: '3' } }, { signal }),
      isConflict,
      'the version that was read is an old one',
    );
    const patched = await client.patch(
      configMaps,
      { namespace, name },
      { data: { a: null, b: '4' } },
      { signal },
    );
    assert.deepEqual(patched.data, { b: '4' });
    await assert.rejects(
      client.delete(configMaps, { namespace, name }, { signal, preconditions: { uid: 'another' } }),
      isConflict,
    );
    assert.equal(await client.delete(configMaps, { namespace, name }, { signal }), true);
    assert.equal(await client.delete(configMaps, { namespace, name }, { signal }), false);
    assert.equal(await client.find(configMaps, { namespace, name }, { signal }), undefined);
    await assert.rejects(client.get(configMaps, { namespace, name }, { signal }), isNotFound);
  });

  it('finds nothing under a name that no object can have', async () => {
    for (const name of ['.', '..', 'a/b', 'a%2fb', 'A B'])
      assert.equal(await client.find(configMaps, { namespace, name }, { signal }), undefined, name);
  });

  it('lists all pages of a selection, or no more than it is asked for', async () => {
    const labels = { list: 'long' };
    // A page has 500.
    const names = Array.from({ length: 505 }, (_, n) => `long-${String(n).padStart(3, '0')}`);
    // Not all at once: each request has 10 seconds for its answer, however many wait beside it.
    await forEachConcurrently(names, 16, async (name) => {
      await client.create(configMaps, { metadata: { namespace, name, labels } }, { signal });
    });
    const listed = async (maxItems?: number): Promise<readonly unknown[]> => {
      const selection = { namespace, labelSelector: 'list=long', signal };
      const options = maxItems === undefined ? selection : { ...selection, maxItems };
      const { items, hasMore } = await client.list(configMaps, options);
      return [items.map(({ metadata }) => metadata.name), hasMore];
    };
    assert.deepEqual(await listed(), [names, false]);
    for (const count of [1, 500, 502, 504])
      assert.deepEqual(await listed(count), [names.slice(0, count), true], `${count} items`);
    assert.deepEqual(await listed(505), [names, false]);
  });

  it('answers plain text as text, and reads objects of the cluster', async () => {
    assert.equal(await client.raw({ method: 'GET', path: '/readyz', signal }), 'ok');
    const found = await client.get(namespaces, { name: 'default' }, { signal });
    assert.equal(found.kind, 'Namespace');
  });

  it('applies by server: owns its fields, removes what it no longer wants, leaves those of others', async () => {
    const metadata = { namespace, name: 'applied' };
    await client.apply(configMaps, { metadata, data: { mine: '1', gone: '1' } }, { signal });
    const other = new KubeClient(server.config(), new KubeMetrics(new Registry()), {
      fieldManager: 'somebody-else',
    });
    await other.apply(configMaps, { metadata, data: { theirs: '1', mine: '0' } }, { signal });
    const again = await client.apply(configMaps, { metadata, data: { mine: '2' } }, { signal });
    assert.deepEqual(again.data, { mine: '2', theirs: '1' });
    const same = await client.apply(configMaps, { metadata, data: { mine: '2' } }, { signal });
    assert.equal(same.metadata.resourceVersion, again.metadata.resourceVersion);
    other[Symbol.dispose]();
  });

  it('applies the status alone, condition by condition', async () => {
    const metadata = { namespace, name: 'status' };
    await client.apply(widgets, { metadata, spec: { size: 1 } }, { signal });
    const nowMs = Date.now();
    const ready = { type: 'Ready', status: 'False', reason: 'Starting', message: '' } as const;
    const busy = { type: 'Reconciling', status: 'True', reason: 'Starting', message: '' } as const;
    const both = setCondition(setCondition([], ready, nowMs), busy, nowMs);
    await client.applyStatus(
      widgets,
      { metadata, status: { conditions: both, note: 'x' } },
      { signal },
    );
    const one = setCondition([], { ...ready, status: 'True' }, nowMs + 60_000);
    const written = await client.applyStatus(
      widgets,
      { metadata, status: { conditions: one, size: 1 } },
      { signal },
    );
    assert.deepEqual(written.status, { conditions: one, size: 1 });
    assert.deepEqual(written.spec, { size: 1 });
    assert.equal(written.metadata.generation, 1);
    assert.equal(findCondition(written.status.conditions, 'Reconciling'), undefined);
  });

  it('says what the schema forbids', async () => {
    const metadata = { namespace, name: 'too-large' };
    await assert.rejects(
      client.apply(widgets, { metadata, spec: { size: 10 } }, { signal }),
      (error) => {
        assert.ok(isInvalid(error) && error instanceof KubeError);
        assert.equal(error.reason, 'Invalid');
        assert.match(error.message, /spec\.size/);
        return true;
      },
    );
  });

  it('makes owned objects of the built-in kinds', async () => {
    const owner = await client.create(
      widgets,
      { metadata: { namespace, name: 'own' } },
      { signal },
    );
    const labels = { app: 'own' };
    const set = await client.apply(
      statefulSets,
      {
        metadata: { namespace, name: 'own', ownerReferences: [controllerReference(owner)] },
        spec: {
          serviceName: 'own',
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: { containers: [{ name: 'main', image: 'example.dev/main:1' }] },
          },
        },
      },
      { signal },
    );
    assert.ok(isControlledBy(set, owner));
    assert.equal(typeof set.metadata.creationTimestamp, 'string');
  });

  it('keeps connection strings out of its errors', async () => {
    const data = { 'bad key': 'mongodb://user:secret@host/' };
    const metadata = { namespace, name: 'mongodb://user:secret@host/' };
    await assert.rejects(
      client.apply(secrets, { metadata, stringData: data }, { signal }),
      (error) => {
        assert.ok(error instanceof Error);
        assert.doesNotMatch(error.message, /user:secret/);
        return true;
      },
    );
  });

  it('writes MicroTime as the API server wants it, which refuses three digits', async () => {
    const lease = (name: string, renewTime: string): Promise<KubeObject> =>
      client.create(leases, { metadata: { namespace, name }, spec: { renewTime } }, { signal });
    await lease('six-digits', microTime(Date.now()));
    await assert.rejects(
      lease('three-digits', new Date().toISOString()),
      /cannot unmarshal|parsing time|400/,
    );
  });
});
