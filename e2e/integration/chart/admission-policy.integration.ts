import assert from 'node:assert/strict';
import { Registry } from 'prom-client';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import {
  networkPolicies,
  services,
  statefulSets,
} from '../../../operator/kube/builtin-resources.ts';
import { KubeClient } from '../../../operator/kube/client.ts';
import { KubeError } from '../../../operator/kube/kube-error.ts';
import { KubeMetrics } from '../../../operator/kube/metrics.ts';
import { resourcePath, type KubeObject, type Resource } from '../../../operator/kube/resource.ts';
import { operandObjects } from '../../../operator/operand/workload.ts';
import { until } from '../../ground/until.ts';
import { useApiServer } from '../kube/use-api-server.ts';
import { installDefinitions, smallestSpec } from '../operator/custom-resources.ts';
import { helm, chartFolder, releaseName, releaseNamespace } from './helm.ts';
import { operatorConfig } from './operator-account.ts';

const signal = new AbortController().signal;
const image = 'example.dev/clustersync:test';
const owner = {
  apiVersion: 'clustersync.dev/v1alpha1',
  kind: 'ClusterSync',
  metadata: { namespace: 'shop', name: 'orders', uid: 'a-uid' },
};

/** What the operator makes for a ClusterSync. */
const made = operandObjects(
  {
    ...{ owner, name: 'orders-syncer', kind: 'syncer', replicas: 1, port: 27182 },
    args: ['--id=old'],
    token: 'token',
    podIndexVariable: 'CLUSTERSYNC_INSTANCE',
    secrets: [{ folder: 'source', secretName: 'old-uri', key: 'uri' }],
    options: { resources: {}, logLevel: 'info', tls: { secretName: 'orders-tls' } },
    secretsHash: 'hash',
  },
  {
    image,
    imagePullPolicy: 'IfNotPresent',
    images: [],
    egress: [{ namespaceSelector: {} }],
    operatorNamespace: releaseNamespace,
  },
);

/** An object with another value at a place. */
function changed(object: object, place: string, value: unknown): object {
  const copy = structuredClone(object);
  const parts = place.split('.');
  const last = parts.pop() ?? '';
  const at = parts.reduce<object>((each, part) => Reflect.get(each, part) as object, copy);
  if (value === undefined) Reflect.deleteProperty(at, last);
  else Reflect.set(at, last, value);
  return copy;
}

const pod = 'spec.template.spec';
const container = `${pod}.containers.0`;
const security = `${container}.securityContext`;
const sidecar = { name: 'other', image };
const stranger = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x', controller: true }];

/** What the operator's rights would let it make: a place of its StatefulSet, and what is there. */
const forbidden: readonly (readonly [string, string, unknown])[] = [
  ['no owner', 'metadata.ownerReferences', undefined],
  ['another owner', 'metadata.ownerReferences', stranger],
  ['a token of its account', `${pod}.automountServiceAccountToken`, true],
  ['no word about a token', `${pod}.automountServiceAccountToken`, undefined],
  ['another account', `${pod}.serviceAccountName`, 'builder'],
  ['the network of its node', `${pod}.hostNetwork`, true],
  ['the processes of its node', `${pod}.hostPID`, true],
  ['the IPC of its node', `${pod}.hostIPC`, true],
  [
    'a port of its node',
    `${container}.ports`,
    [{ name: 'api', containerPort: 80, hostPort: 80, protocol: 'TCP' }],
  ],
  [
    'a folder of its node',
    `${pod}.volumes`,
    [{ name: 'tmp', hostPath: { path: '/' } }, ...volumesOf(['source', 'tls'])],
  ],
  [
    'a token as a volume',
    `${pod}.volumes`,
    [
      { name: 'tmp', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
      ...volumesOf(['source', 'tls']),
    ],
  ],
  ['root', `${pod}.securityContext.runAsUser`, 0],
  ['perhaps root', `${pod}.securityContext.runAsNonRoot`, undefined],
  ['root in its container', `${security}.runAsUser`, 0],
  ['perhaps root in its container', `${security}.runAsNonRoot`, false],
  ['no seccomp profile', `${pod}.securityContext.seccompProfile`, undefined],
  ['another seccomp profile', `${security}.seccompProfile`, { type: 'Unconfined' }],
  ['another capability', `${security}.capabilities`, { drop: ['ALL'], add: ['NET_ADMIN'] }],
  ['the usual capabilities', `${security}.capabilities`, undefined],
  ['more privileges later', `${security}.allowPrivilegeEscalation`, undefined],
  ['a file system to write to', `${security}.readOnlyRootFilesystem`, false],
  [
    'privileges',
    security,
    { privileged: true, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
  ],
  ['a second container', `${pod}.containers.1`, sidecar],
  ['a container before it', `${pod}.initContainers`, [sidecar]],
  ['another command', `${container}.command`, ['sh']],
  ['a Secret in its environment', `${container}.envFrom`, [{ secretRef: { name: 'another' } }]],
  ['an image that nobody has allowed', `${container}.image`, 'evil.dev/tool:1'],
  ['an image of a name that begins alike', `${container}.image`, 'example.dev/tools-evil:1'],
];

function volumesOf(names: readonly string[]): object[] {
  return names.map((name) => ({ name, secret: { secretName: name } }));
}

describe("what the API server lets the operator's account make", () => {
  let client: KubeClient;
  let operator: KubeClient;

  useApiServer(async (server, itsClient) => {
    client = itsClient;
    await installDefinitions(client);
    for (const name of [releaseNamespace, 'shop']) {
      const body = { metadata: { name } };
      await client.raw({ method: 'POST', path: '/api/v1/namespaces', body, signal });
    }
    await helm(
      [...['install', releaseName, chartFolder, '--namespace', releaseNamespace, '--values', '-']],
      {
        input: JSON.stringify({
          crds: { enabled: false },
          image: { repository: 'example.dev/clustersync', tag: 'test' },
          operandImages: ['example.dev/tools'],
        }),
        env: { KUBECONFIG: await server.writeKubeConfig() },
      },
    );
    operator = new KubeClient(
      await operatorConfig(server, client),
      new KubeMetrics(new Registry()),
    );
    // The API server hears of a policy a moment after it was made.
    await until('the policies hold', async () => {
      const asked: readonly (readonly [Resource<KubeObject>, object])[] = [
        [statefulSets, made.statefulSet],
        [services, made.service],
        [networkPolicies, made.networkPolicy],
      ];
      const answers = await Promise.all(
        asked.map(async ([resource, object]) => {
          const nobodys = changed(object, 'metadata.ownerReferences', undefined);
          return await ask(operator, resource, nobodys);
        }),
      );
      return answers.every((answer) => answer !== 'taken');
    });
  });

  after(() => {
    operator[Symbol.dispose]();
  });

  /** Asks for an object to be made, without its being made. @returns why it is refused. */
  async function ask(
    asker: KubeClient,
    resource: Resource<KubeObject>,
    object: object,
  ): Promise<string> {
    const { group, version, kind } = resource;
    const apiVersion = group === '' ? version : `${group}/${version}`;
    const path = resourcePath(resource, { namespace: 'shop' });
    const body = { ...object, apiVersion, kind };
    try {
      await asker.raw({ method: 'POST', path, query: { dryRun: 'All' }, body, signal });
      return 'taken';
    } catch (error) {
      if (error instanceof KubeError) return error.message;
      throw error;
    }
  }

  it('is what it makes, also with an image that is allowed', async () => {
    assert.equal(await ask(operator, statefulSets, made.statefulSet), 'taken');
    assert.equal(await ask(operator, services, made.service), 'taken');
    assert.equal(await ask(operator, networkPolicies, made.networkPolicy), 'taken');
    for (const allowed of [
      'example.dev/tools/mongosync:1',
      'example.dev/tools@sha256:0',
      'example.dev/tools',
    ]) {
      const set = changed(made.statefulSet, `${container}.image`, allowed);
      assert.equal(await ask(operator, statefulSets, set), 'taken', allowed);
    }
  });

  it('has whatever image it had before, where it is to have no pods', async () => {
    const former = changed(
      made.statefulSet,
      `${container}.image`,
      'example.dev/clustersync:former',
    );
    assert.match(await ask(operator, statefulSets, former), /ValidatingAdmissionPolicy .* denied/);
    assert.equal(await ask(operator, statefulSets, changed(former, 'spec.replicas', 0)), 'taken');
  });

  for (const [what, place, value] of forbidden) {
    it(`is no pod with ${what}, which others may make`, async () => {
      const set = changed(made.statefulSet, place, value);
      assert.match(await ask(operator, statefulSets, set), /ValidatingAdmissionPolicy .* denied/);
      assert.equal(await ask(client, statefulSets, set), 'taken');
    });
  }

  for (const [what, place, value] of [
    ['an address of its own', 'spec.clusterIP', undefined],
    ['a port of every node', 'spec', { type: 'NodePort', ports: [{ port: 80 }] }],
    ['another name', 'spec', { type: 'ExternalName', externalName: 'example.dev' }],
    ['a foreign address', 'spec.externalIPs', ['192.0.2.1']],
  ] as const) {
    it(`is no Service with ${what}, which others may make`, async () => {
      const service = changed(made.service, place, value);
      assert.match(await ask(operator, services, service), /ValidatingAdmissionPolicy .* denied/);
      assert.equal(await ask(client, services, service), 'taken');
    });
  }

  it('is no NetworkPolicy for the pods of others', async () => {
    for (const selector of [{}, { matchLabels: { app: 'shop' } }]) {
      const policy = changed(made.networkPolicy, 'spec.podSelector', selector);
      assert.match(
        await ask(operator, networkPolicies, policy),
        /ValidatingAdmissionPolicy .* denied/,
      );
      assert.equal(await ask(client, networkPolicies, policy), 'taken');
    }
  });

  it('is no change of a spec, but of finalizers', async () => {
    const metadata = { namespace: 'shop', name: 'orders' };
    await client.create<KubeObject>(clusterSyncs, { metadata, spec: smallestSpec } as never, {
      signal,
    });
    await until('the policy holds', async () => {
      return await operator
        .patch(clusterSyncs, metadata, { spec: { suspend: true } }, { signal })
        .then(
          () => false,
          (error: unknown) => String(error).includes('the operator writes no spec'),
        );
    });
    const finalizers = ['clustersync.dev/reset'];
    await operator.patch(clusterSyncs, metadata, { metadata: { finalizers } }, { signal });
  });
});
