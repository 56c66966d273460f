import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { apiVersionOf, type KubeObject, type Resource } from '../../../operator/kube/resource.ts';
import { useApiServer } from '../kube/use-api-server.ts';

const chart = new URL('../../../charts/clustersync', import.meta.url).pathname;
const releaseNamespace = 'clustersync';
const signal = new AbortController().signal;

describe('the chart, on a real API server', function () {
  this.timeout(60_000);
  let client: KubeClient;

  useApiServer(async (_server, itsClient) => {
    client = itsClient;
    for (const name of [releaseNamespace, 'one', 'two']) {
      await client.apply(resourceOf('v1', 'Namespace'), { metadata: { name } }, { signal });
    }
  });

  async function install(...values: string[]): Promise<KubeObject[]> {
    const objects = await render(...values);
    for (const object of objects) {
      const { apiVersion, kind } = object;
      await client.apply(resourceOf(apiVersion, kind), object, { signal });
    }
    return objects;
  }

  async function mayI(verb: string, resource: string, namespace: string): Promise<boolean> {
    const [name = '', group = ''] = resource.split(/\.(.*)/s);
    const [plural = '', subresource] = name.split('/');
    const answer = await client.raw({
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      body: {
        spec: {
          user: `system:serviceaccount:${releaseNamespace}:${account}`,
          groups: ['system:serviceaccounts'],
          resourceAttributes: { verb, group, resource: plural, subresource, namespace },
        },
      },
      signal,
    });
    return (answer as { status: { allowed: boolean } }).status.allowed;
  }

  let account = '';

  it('is what the API server takes, with every value set', async () => {
    const objects = await install(
      'image.tag=test',
      'replicas=2',
      'podDisruptionBudget.enabled=true',
      'podLabels.team=data',
      'podAnnotations.note=x',
      'extraEnv[0].name=NODE_OPTIONS',
      'extraEnv[0].value=--max-old-space-size=256',
      'nodeSelector.disk=fast',
      'tolerations[0].key=spot',
      'topologySpreadConstraints[0].maxSkew=1',
      'topologySpreadConstraints[0].topologyKey=kubernetes.io/hostname',
      'topologySpreadConstraints[0].whenUnsatisfiable=ScheduleAnyway',
      'priorityClassName=system-cluster-critical',
      'imagePullSecrets[0].name=registry',
    );
    const kinds = objects.map(({ kind }) => kind);
    for (const kind of ['CustomResourceDefinition', 'Deployment', 'PodDisruptionBudget']) {
      assert.ok(kinds.includes(kind), kind);
    }
  });

  it('keeps the definitions when it is uninstalled, unless told otherwise', async () => {
    const policies = async (...values: string[]): Promise<unknown[]> =>
      (await render(...values))
        .filter(({ kind }) => kind === 'CustomResourceDefinition')
        .map(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy']);
    assert.deepEqual(await policies(), ['keep', 'keep']);
    assert.deepEqual(await policies('crds.keep=false'), [undefined, undefined]);
    assert.deepEqual(await policies('crds.enabled=false'), []);
  });

  it('takes an image by its digest', async () => {
    const digest = `sha256:${'0'.repeat(64)}`;
    const text = JSON.stringify(
      await render('image.repository=example.dev/c', `image.digest=${digest}`),
    );
    assert.ok(text.includes(`example.dev/c@${digest}`));
    assert.ok(text.includes(`--operandImage=example.dev/c@${digest}`));
  });

  it('refuses values that it does not know', async () => {
    for (const value of ['imagee.tag=x', 'replicas=many', 'image.digest=latest', 'logLevel=loud']) {
      await assert.rejects(render(value), /values don't meet the specifications/, value);
    }
  });

  it('lets the operator do what it needs, and no more', async () => {
    const objects = await install();
    account = objects.find(({ kind }) => kind === 'ServiceAccount')?.metadata.name ?? '';
    const anywhere = 'one';
    for (const [verb, resource] of [
      ['watch', 'clustersyncs.clustersync.dev'],
      ['patch', 'clustersyncs/status.clustersync.dev'],
      ['patch', 'syncverifications/status.clustersync.dev'],
      ['delete', 'syncverifications.clustersync.dev'],
      ['create', 'statefulsets.apps'],
      ['delete', 'statefulsets.apps'],
      ['patch', 'networkpolicies.networking.k8s.io'],
      ['get', 'secrets'],
      ['create', 'secrets'],
      ['create', 'events.events.k8s.io'],
    ] as const) {
      assert.equal(await mayI(verb, resource, anywhere), true, `${verb} ${resource}`);
    }
    assert.equal(await mayI('update', 'leases.coordination.k8s.io', anywhere), false);
    for (const [verb, resource] of [
      ['patch', 'clustersyncs.clustersync.dev'],
      ['delete', 'clustersyncs.clustersync.dev'],
      ['patch', 'syncverifications.clustersync.dev'],
      ['list', 'secrets'],
      ['watch', 'secrets'],
      ['patch', 'secrets'],
      ['delete', 'secrets'],
      ['create', 'pods'],
      ['create', 'pods/exec'],
      ['delete', 'services'],
      ['list', 'configmaps'],
      ['create', 'rolebindings.rbac.authorization.k8s.io'],
    ] as const) {
      assert.equal(await mayI(verb, resource, anywhere), false, `${verb} ${resource}`);
    }
  });

  it('lets it do so in the watched namespaces alone, where there are such', async () => {
    await install('watchNamespaces={one}', 'serviceAccount.name=narrow');
    account = 'narrow';
    assert.equal(await mayI('get', 'secrets', 'one'), true);
    assert.equal(await mayI('get', 'secrets', 'two'), false);
    assert.equal(await mayI('list', 'clustersyncs.clustersync.dev', 'two'), false);
    assert.equal(await mayI('get', 'secrets', releaseNamespace), false);
  });
});

/** The objects that the chart makes of these values. */
async function render(...values: string[]): Promise<KubeObject[]> {
  const { stdout } = await promisify(execFile)(helmBinary(), [
    ...['template', 'clustersync', chart, '--namespace', releaseNamespace],
    ...['--kube-version', '1.34.0'],
    ...values.flatMap((value) => ['--set', value]),
  ]);
  const documents = parseAllDocuments(stdout);
  assert.ok(Array.isArray(documents));
  return documents
    .map((document) => document.toJS() as KubeObject | null)
    .filter((each) => each !== null);
}

function helmBinary(): string {
  const cache = process.env['CLUSTERSYNC_TOOLS'] ?? join(homedir(), '.cache', 'clustersync-tools');
  const [found] = globSync(join(cache, 'helm-*', 'helm'));
  if (found === undefined) throw new Error(`no helm in ${cache}: run "make tools" first`);
  return found;
}

function resourceOf(apiVersion: string, kind: string): Resource<KubeObject> {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  const isOfCluster = [
    'Namespace',
    'ClusterRole',
    'ClusterRoleBinding',
    'CustomResourceDefinition',
  ];
  const plural = kind.toLowerCase().replace(/y$/, 'ie');
  const resource = {
    group,
    version,
    kind,
    plural: `${plural}s`,
    namespaced: !isOfCluster.includes(kind),
  };
  assert.equal(apiVersionOf(resource), apiVersion);
  return resource;
}
