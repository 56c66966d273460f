import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { pods, statefulSets } from '../../operator/kube/builtin-resources.ts';
import { KubeClient } from '../../operator/kube/client.ts';
import { KubeError } from '../../operator/kube/kube-error.ts';
import { KubeMetrics } from '../../operator/kube/metrics.ts';
import { resourcePath, type KubeObject } from '../../operator/kube/resource.ts';
import { managedLabels, ownerAnnotation } from '../../operator/operand/names.ts';
import { until } from '../ground/until.ts';
import { changed, container, made } from '../integration/chart/forbidden-pods.ts';
import { helm, chartFolder, releaseName, releaseNamespace } from '../integration/chart/helm.ts';
import { accountConfig, operatorConfig } from '../integration/chart/operator-account.ts';
import { useApiServer } from '../integration/kube/use-api-server.ts';
import { installDefinitions } from '../integration/operator/custom-resources.ts';

const signal = new AbortController().signal;
const tenantAccount = { namespace: 'shop', name: 'tenant' };
const controllerAccount = { namespace: 'kube-system', name: 'statefulset-controller' };
const refusal = /trusts what they report/;

/** What an administrator of a namespace may do there, as the role `admin` of Kubernetes has it, and more: all with what is of apps. */
const tenantRights = {
  kind: 'List',
  apiVersion: 'v1',
  items: [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: tenantAccount },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { namespace: 'shop', name: 'tenant' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'all-of-shop' },
      subjects: [{ kind: 'ServiceAccount', ...tenantAccount }],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'all-of-shop' },
      rules: [
        { apiGroups: [''], resources: ['pods', 'pods/ephemeralcontainers'], verbs: ['*'] },
        {
          apiGroups: ['apps'],
          resources: ['statefulsets', 'statefulsets/scale', 'controllerrevisions'],
          verbs: ['*'],
        },
        { apiGroups: ['clustersync.dev'], resources: ['clustersyncs'], verbs: ['*'] },
      ],
    },
  ],
};

/** A pod as the operator takes it for one of a ClusterSync, with a program of the tenant's. */
const impostor = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    namespace: 'shop',
    name: 'orders-syncer-0',
    labels: made.statefulSet.spec?.template?.metadata?.labels ?? {},
    annotations: { [ownerAnnotation]: 'ClusterSync/orders' },
  },
  spec: { containers: [{ name: 'syncer', image: 'evil.example/liar', args: ['syncer'] }] },
};

describe('who may make a pod that the operator would take for its own', () => {
  const clients = new DisposableStack();
  let admin: KubeClient;
  let tenant: KubeClient;
  let controller: KubeClient;
  let operator: KubeClient;

  useApiServer(async (server, itsClient) => {
    admin = itsClient;
    await installDefinitions(admin);
    for (const name of [releaseNamespace, 'shop', 'kube-system']) {
      const body = { metadata: { name } };
      await tried(admin.raw({ method: 'POST', path: '/api/v1/namespaces', body, signal }));
    }
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: controllerAccount };
    const objects = { ...tenantRights, items: [...tenantRights.items, account] };
    await server.kubectl(['apply', '--filename', '-'], { input: JSON.stringify(objects) });
    await helm(
      [...['install', releaseName, chartFolder, '--namespace', releaseNamespace, '--values', '-']],
      {
        input: JSON.stringify({
          crds: { enabled: false },
          image: { repository: 'example.dev/clustersync', tag: 'test' },
        }),
        env: { KUBECONFIG: await server.writeKubeConfig() },
      },
    );
    const clientOf = (config: ConstructorParameters<typeof KubeClient>[0]): KubeClient =>
      clients.use(new KubeClient(config, new KubeMetrics(new Registry())));
    tenant = clientOf(await accountConfig(server, admin, tenantAccount));
    controller = clientOf(await accountConfig(server, admin, controllerAccount));
    operator = clientOf(await operatorConfig(server, admin));
    await until('the policies hold', async () => {
      const answers = [await ask(tenant, impostor), await ask(tenant, setOf('example.dev/any'))];
      return answers.every((answer) => answer.includes('trusts what they report'));
    });
  });

  after(() => {
    clients.dispose();
  });

  async function tried(attempt: Promise<unknown>): Promise<string> {
    try {
      await attempt;
      return 'taken';
    } catch (error) {
      if (error instanceof KubeError) return error.message;
      throw error;
    }
  }

  function setOf(image: string): object {
    // Who may not delete the owner may not say that it waits for this.
    const [reference] = made.statefulSet.metadata.ownerReferences ?? [];
    const owners = [{ ...reference, blockOwnerDeletion: false }];
    const set = changed(
      changed(made.statefulSet, `${container}.image`, image),
      'metadata.ownerReferences',
      owners,
    );
    return { ...set, apiVersion: 'apps/v1', kind: 'StatefulSet' };
  }

  function pathOf(object: object, name?: string): string {
    const resource = Reflect.get(object, 'kind') === 'Pod' ? pods : statefulSets;
    return resourcePath(resource, { namespace: 'shop', ...(name !== undefined && { name }) });
  }

  /** Asks for an object to be made, without its being made. @returns why it is refused. */
  async function ask(asker: KubeClient, body: object): Promise<string> {
    const query = { dryRun: 'All' };
    return await tried(asker.raw({ method: 'POST', path: pathOf(body), query, body, signal }));
  }

  async function askFor(asker: KubeClient, path: string, body: object): Promise<string> {
    const request = { method: 'PATCH', path, query: { dryRun: 'All' }, body, signal } as const;
    return await tried(asker.raw({ ...request, contentType: 'application/merge-patch+json' }));
  }

  it('is the controller of StatefulSets, and no tenant, who may make all others', async () => {
    assert.match(await ask(tenant, impostor), refusal);
    const keeper = changed(impostor, 'metadata.labels', managedLabels);
    assert.match(await ask(tenant, keeper), refusal);
    const plain = changed(impostor, 'metadata.labels', { app: 'shop' });
    assert.equal(await ask(tenant, plain), 'taken');
    assert.equal(await ask(controller, impostor), 'taken');
  });

  it('is nobody by way of a StatefulSet but the operator', async () => {
    const set = setOf('example.dev/clustersync:test');
    assert.match(await ask(tenant, set), refusal);
    assert.equal(await ask(operator, set), 'taken');
    const labels = { app: 'shop' };
    const plain = changed(
      changed(set, 'spec.selector.matchLabels', labels),
      'spec.template.metadata.labels',
      labels,
    );
    assert.equal(await ask(tenant, plain), 'taken');
  });

  it('is nobody by a change of what the operator has made, which may be restarted', async () => {
    await operator.create<KubeObject>(statefulSets, made.statefulSet, { signal });
    const path = pathOf(setOf(''), 'orders-syncer');
    const template = made.statefulSet.spec?.template;
    const [first] = template?.spec?.containers ?? [];
    const containers = [{ ...first, image: 'evil.example/liar' }];
    for (const spec of [
      { containers },
      { hostAliases: [{ ip: '192.0.2.1', hostnames: ['db.other'] }] },
    ])
      assert.match(await askFor(tenant, path, { spec: { template: { spec } } }), refusal);
    const annotations = { 'kubectl.kubernetes.io/restartedAt': '2026-01-01T00:00:00Z' };
    const restart = { spec: { template: { metadata: { annotations } } } };
    assert.equal(await askFor(tenant, path, restart), 'taken');
    assert.equal(await askFor(tenant, path, { spec: { replicas: 0 } }), 'taken');
  });

  it('is nobody by another number of pods, of which everybody may have fewer', async () => {
    const path = pathOf(setOf(''), 'counted-syncer');
    const set = changed(made.statefulSet, 'metadata.name', 'counted-syncer');
    const labels = {
      ...made.statefulSet.spec?.selector?.matchLabels,
      'app.kubernetes.io/instance': 'counted-syncer',
    };
    const counted = changed(
      changed(set, 'spec.selector.matchLabels', labels),
      'spec.template.metadata.labels',
      { ...made.statefulSet.spec?.template?.metadata?.labels, ...labels },
    );
    await operator.create<KubeObject>(statefulSets, counted as never, { signal });
    for (const place of [path, `${path}/scale`]) {
      assert.match(await askFor(tenant, place, { spec: { replicas: 2 } }), refusal, place);
      assert.equal(await askFor(tenant, place, { spec: { replicas: 0 } }), 'taken', place);
    }
    assert.equal(await askFor(operator, path, { spec: { replicas: 2 } }), 'taken');
    const app = { app: 'shop' };
    const plain = changed(
      changed(
        changed(setOf('example.dev/any'), 'spec.selector.matchLabels', app),
        'spec.template.metadata.labels',
        app,
      ),
      'metadata.name',
      'plain',
    );
    await tenant.create<KubeObject>(statefulSets, plain as never, { signal });
    const scale = `${pathOf(setOf(''), 'plain')}/scale`;
    assert.equal(await askFor(tenant, scale, { spec: { replicas: 2 } }), 'taken');
  });

  it('is nobody by a revision of what the operator has made, by which the controller makes pods', async () => {
    const path = '/apis/apps/v1/namespaces/shop/controllerrevisions';
    const { matchLabels = {} } = made.statefulSet.spec?.selector ?? {};
    const spec = { template: { spec: { containers: impostor.spec.containers } } };
    const revision = {
      ...{ apiVersion: 'apps/v1', kind: 'ControllerRevision', revision: 1, data: { spec } },
      metadata: { namespace: 'shop', name: 'orders-syncer-1', labels: matchLabels },
    };
    const make = async (asker: KubeClient, body: object): Promise<string> => {
      const query = { dryRun: 'All' };
      return await tried(asker.raw({ method: 'POST', path, query, body, signal }));
    };
    assert.match(await make(tenant, revision), refusal);
    assert.equal(await make(controller, revision), 'taken');
    const plain = changed(
      changed(revision, 'metadata.labels', { app: 'shop' }),
      'metadata.name',
      'plain-1',
    );
    assert.equal(await make(tenant, plain), 'taken');
    for (const body of [revision, plain]) await admin.raw({ method: 'POST', path, body, signal });
    const relabel = { metadata: { labels: matchLabels } };
    assert.match(await askFor(tenant, `${path}/plain-1`, relabel), refusal);
    // As the garbage collector does where its owner is gone, and it is to stay.
    const note = { metadata: { annotations: { note: 'mine' } } };
    assert.equal(await askFor(tenant, `${path}/orders-syncer-1`, note), 'taken');
  });

  it('is nobody by a change of a pod that is there', async () => {
    await controller.create<KubeObject>(pods, impostor as never, { signal });
    const path = pathOf(impostor, 'orders-syncer-0');
    const image = {
      spec: { containers: [{ ...impostor.spec.containers[0], image: 'evil.example/other' }] },
    };
    assert.match(await askFor(tenant, path, image), refusal);
    const debug = [{ name: 'debug', image: 'evil.example/liar' }];
    const ephemeral = { spec: { ephemeralContainers: debug } };
    assert.match(await askFor(tenant, `${path}/ephemeralcontainers`, ephemeral), refusal);
    assert.equal(
      await askFor(tenant, path, { metadata: { annotations: { note: 'mine' } } }),
      'taken',
    );
    const plain = changed(
      changed(impostor, 'metadata.labels', { app: 'shop' }),
      'metadata.name',
      'plain',
    );
    await tenant.create<KubeObject>(pods, plain as never, { signal });
    const relabel = { metadata: { labels: managedLabels } };
    assert.match(await askFor(tenant, pathOf(impostor, 'plain'), relabel), refusal);
  });
});
