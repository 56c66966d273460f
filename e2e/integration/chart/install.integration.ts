import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import type { ApiServer } from '../../ground/kubernetes/api-server.ts';
import { useApiServer } from '../kube/use-api-server.ts';
import { smallestSpec } from '../operator/custom-resources.ts';
import { chartFolder, helm, releaseName, releaseNamespace, render } from './helm.ts';

const signal = new AbortController().signal;
const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

describe('the chart, on a real API server', () => {
  let server: ApiServer;
  let client: KubeClient;
  let kubeconfig = '';

  useApiServer(async (itsServer, itsClient) => {
    server = itsServer;
    client = itsClient;
    kubeconfig = await server.writeKubeConfig();
    for (const name of [releaseNamespace, 'one', 'two']) {
      await client.raw({
        method: 'POST',
        path: '/api/v1/namespaces',
        body: {
          metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
        },
        signal,
      });
    }
  });

  /** Installs or upgrades a release, and returns what helm says; nobody runs the pods. */
  async function install(values: object, { chart = chartFolder, release = releaseName } = {}) {
    const args = ['upgrade', '--install', release, chart, '--namespace', releaseNamespace];
    return await helm([...args, '--values', '-'], {
      input: JSON.stringify(values),
      env: { KUBECONFIG: kubeconfig },
    });
  }

  async function uninstall(release = releaseName): Promise<void> {
    const env = { KUBECONFIG: kubeconfig };
    await helm(['uninstall', release, '--namespace', releaseNamespace], { env });
  }

  async function kubectl(args: readonly string[], input?: string): Promise<string> {
    return await server.kubectl(args, input === undefined ? {} : { input });
  }

  async function mayI(
    verb: string,
    resource: string,
    namespace: string,
    account = releaseName,
  ): Promise<boolean> {
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

  it('upgrades the definitions, and leaves them and their resources when it is uninstalled', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clustersync-chart-'));
    try {
      await cp(chartFolder, folder, { recursive: true });
      const file = join(folder, 'templates/crds/clustersyncs.yaml');
      const text = await readFile(file, 'utf8');
      assert.ok(text.includes('  - csync\n'));
      await writeFile(file, text.replace('      - csync\n', '      - former\n'));
      await install({}, { chart: folder });
    } finally {
      await rm(folder, { recursive: true });
    }
    assert.deepEqual(await shortNames(), ['former']);
    await install({});
    assert.deepEqual(await shortNames(), ['csync']);

    const metadata = { namespace: 'one', name: 'kept' };
    await client.create<KubeObject>(clusterSyncs, { metadata, spec: smallestSpec } as never, {
      signal,
    });
    await uninstall();
    assert.ok(await client.find(clusterSyncs, metadata, { signal }));
    // They belong to the release still, which may come back.
    await install({});
  });

  it('takes over the definitions of a release of another name by the documented command', async () => {
    await install({});
    await uninstall();
    const release = 'sync';
    await assert.rejects(install({}, { release }), /invalid ownership metadata/);
    const page = await readFile(new URL('../../../docs/install.md', import.meta.url), 'utf8');
    const [, documented = ''] = /^kubectl (annotate crd [^`]*?)\n```$/m.exec(page) ?? [];
    const args = documented.split(/[\s\\]+/);
    const handOverTo = async (name: string): Promise<void> => {
      const given = new Map([
        ['meta.helm.sh/release-name=sync', `meta.helm.sh/release-name=${name}`],
        [
          'meta.helm.sh/release-namespace=sync-system',
          `meta.helm.sh/release-namespace=${releaseNamespace}`,
        ],
      ]);
      for (const written of given.keys()) assert.ok(args.includes(written), documented);
      await kubectl(args.map((arg) => given.get(arg) ?? arg));
    };
    await handOverTo(release);
    try {
      await install({}, { release });
      assert.deepEqual(await shortNames(), ['csync']);
    } finally {
      await uninstall(release);
      await handOverTo(releaseName);
      await install({});
    }
  });

  async function shortNames(): Promise<unknown> {
    const path = `${definitionsPath}/clustersyncs.clustersync.dev`;
    const definition = await client.raw({ method: 'GET', path, signal });
    return (definition as { spec: { names: { shortNames: unknown } } }).spec.names.shortNames;
  }

  it('says what comes next, in commands that hold', async () => {
    const notes = await install({ watchNamespaces: ['one', 'two'] });
    assert.match(notes, /watches the namespaces one, two\./);
    assert.match(notes, /^ {4}helm test clustersync --namespace clustersync$/m);
    const command =
      /^ {4}kubectl (apply --namespace one --filename -) <<'EOF'\n(.*?)^ {4}EOF$/ms.exec(notes);
    assert.ok(command?.[1] && command[2], notes);
    const printed = await kubectl([...command[1].split(' '), '--dry-run=server'], command[2]);
    assert.match(printed, /shop created/);
  });

  it('is what the API server takes, with every value set', async () => {
    await install({
      image: { tag: 'test', digest: `sha256:${'0'.repeat(64)}` },
      imagePullSecrets: [{ name: 'registry' }],
      replicas: 2,
      podDisruptionBudget: { enabled: true },
      metrics: { dashboards: { enabled: true, annotations: { folder: 'clustersync' } } },
      networkPolicy: { metricsFrom: [{ ipBlock: { cidr: '10.0.0.0/8' } }] },
      serviceAccount: { annotations: { note: 'x' } },
      podLabels: { team: 'data' },
      podAnnotations: { note: 'x' },
      extraArgs: ['--leaderElect'],
      extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=256' }],
      nodeSelector: { disk: 'fast' },
      tolerations: [{ key: 'spot', operator: 'Exists', effect: 'NoSchedule' }],
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            {
              weight: 1,
              podAffinityTerm: {
                topologyKey: 'kubernetes.io/hostname',
                labelSelector: { matchLabels: { team: 'data' } },
              },
            },
          ],
        },
      },
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'kubernetes.io/hostname',
          whenUnsatisfiable: 'ScheduleAnyway',
          matchLabelKeys: ['pod-template-hash'],
        },
      ],
      priorityClassName: 'system-cluster-critical',
    });
    for (const name of ['deployment/clustersync', 'poddisruptionbudget/clustersync']) {
      await kubectl(['get', name, `--namespace=${releaseNamespace}`]);
    }
  });

  for (const [way, release, ...flags] of [
    ['on the server', releaseName, '--server-side', '--force-conflicts', '--field-manager=argocd'],
    ['by the client', 'applied'],
  ] as const) {
    it(`is taken without warnings where it is applied ${way}, and then is no different`, async () => {
      const items = await render({ crds: { enabled: release === releaseName } }, release);
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
      const options = [`--namespace=${releaseNamespace}`, '--filename=-', ...flags];
      const printed = await kubectl(['apply', '--warnings-as-errors', ...options], list);
      // The namespace is a restricted one.
      assert.match(printed, /^pod\/\S+-test (created|serverside-applied)$/m);
      // It ends with status 1 where anything is different.
      assert.equal(await kubectl(['diff', ...options], list), '');
    });
  }

  it('lets the operator do what it needs, and no more', async () => {
    await install({ watchNamespaces: [] });
    const anywhere = 'one';
    for (const [verb, resource] of [
      ['watch', 'clustersyncs.clustersync.dev'],
      ['patch', 'clustersyncs.clustersync.dev'],
      ['patch', 'clustersyncs/status.clustersync.dev'],
      ['patch', 'syncverifications/status.clustersync.dev'],
      ['delete', 'syncverifications.clustersync.dev'],
      ['create', 'statefulsets.apps'],
      ['delete', 'statefulsets.apps'],
      ['patch', 'networkpolicies.networking.k8s.io'],
      ['get', 'secrets'],
      ['get', 'configmaps'],
      ['create', 'events.events.k8s.io'],
      ['list', 'events.events.k8s.io'],
      ['update', 'deployments/scale.apps'],
      ['update', 'statefulsets/scale.apps'],
    ] as const) {
      assert.equal(await mayI(verb, resource, anywhere), true, `${verb} ${resource}`);
    }
    for (const verb of ['get', 'list', 'watch', 'create', 'update', 'delete']) {
      const leases = 'leases.coordination.k8s.io';
      assert.equal(await mayI(verb, leases, anywhere), false, verb);
      assert.equal(await mayI(verb, leases, releaseNamespace), true, verb);
    }
    for (const [verb, resource] of [
      ['update', 'clustersyncs.clustersync.dev'],
      ['delete', 'clustersyncs.clustersync.dev'],
      ['patch', 'syncverifications.clustersync.dev'],
      ['list', 'secrets'],
      ['watch', 'secrets'],
      ['create', 'secrets'],
      ['update', 'secrets'],
      ['patch', 'secrets'],
      ['delete', 'secrets'],
      ['create', 'pods'],
      ['create', 'pods/exec'],
      ['delete', 'services'],
      ['list', 'configmaps'],
      ['watch', 'configmaps'],
      ['create', 'configmaps'],
      ['patch', 'configmaps'],
      ['get', 'deployments.apps'],
      ['patch', 'deployments.apps'],
      ['update', 'deployments.apps'],
      ['update', 'statefulsets.apps'],
      ['create', 'rolebindings.rbac.authorization.k8s.io'],
    ] as const) {
      assert.equal(await mayI(verb, resource, anywhere), false, `${verb} ${resource}`);
    }
  });

  it('gives people no rights unless told to; then who may edit a namespace makes ClusterSyncs there, and who may view it looks', async () => {
    const resource = 'clustersyncs.clustersync.dev';
    const aggregated = [`--selector=app.kubernetes.io/instance=${releaseName}`, '--output=name'];
    const clusterRoles = async () => await kubectl(['get', 'clusterroles', ...aggregated]);
    await install({ watchNamespaces: [] });
    assert.doesNotMatch(await clusterRoles(), /-(view|edit)$/m);
    await install({ watchNamespaces: [], rbac: { aggregateRoles: true } });
    assert.match(await clusterRoles(), /-view$/m);
    for (const [role, mayCreate] of [
      ['view', false],
      ['edit', true],
      ['admin', true],
    ] as const) {
      // Kubernetes' controller manager would add these to the role.
      const label = `--selector=rbac.authorization.k8s.io/aggregate-to-${role}=true,app.kubernetes.io/instance=${releaseName}`;
      const names = (await kubectl(['get', 'clusterroles', label, '--output=name'])).trim();
      for (const name of names.split('\n')) {
        const [, clusterRole = ''] = name.split('/');
        const account = `--serviceaccount=${releaseNamespace}:${role}`;
        const binding = [`${role}-${clusterRole}`, `--clusterrole=${clusterRole}`, account];
        await kubectl(['create', 'rolebinding', ...binding, '--namespace=one']);
      }
      assert.equal(await mayI('list', resource, 'one', role), true, role);
      assert.equal(await mayI('create', resource, 'one', role), mayCreate, role);
      assert.equal(await mayI('create', resource, 'two', role), false, role);
    }
  });

  it('lets it do so in the watched namespaces alone, where there are such', async () => {
    const watchNamespaces = ['one'];
    await install({ watchNamespaces, crds: { enabled: false } }, { release: 'narrow' });
    const account = 'narrow-clustersync';
    for (const resource of ['secrets', 'configmaps']) {
      assert.equal(await mayI('get', resource, 'one', account), true);
      assert.equal(await mayI('get', resource, 'two', account), false);
    }
    assert.equal(await mayI('list', 'clustersyncs.clustersync.dev', 'two', account), false);
    assert.equal(await mayI('get', 'secrets', releaseNamespace, account), false);
    assert.equal(
      await mayI('delete', 'leases.coordination.k8s.io', releaseNamespace, account),
      true,
    );
    assert.equal(await mayI('get', 'leases.coordination.k8s.io', 'one', account), false);
  });
});
