import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { OperandOptions } from '../api/clustersync.ts';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import {
  operandObjects,
  unlessUnstartable,
  type OperandPlan,
  type OperandSettings,
} from './workload.ts';

const owner = {
  apiVersion: 'clustersync.dev/v1alpha1',
  kind: 'ClusterSync',
  metadata: { name: 'orders', namespace: 'shop', uid: 'uid' },
};
const settings: OperandSettings = {
  image: 'example.dev/clustersync:1',
  imagePullPolicy: 'IfNotPresent',
  images: [],
  podFields: [],
  operatorNamespace: 'operators',
};
const options: OperandOptions = { resources: {}, logLevel: 'info' };
const plan: OperandPlan = {
  owner,
  name: 'orders-syncer',
  kind: 'syncer',
  replicas: 1,
  port: 27182,
  args: ['--id=old'],
  secrets: [
    {
      ...{ folder: 'source', kind: 'Secret', name: 'old-uri' },
      items: [{ key: 'connection', path: 'uri' }],
    },
  ],
  options,
  secretsRecord: { hash: 'hash', changedAt: undefined, replaces: undefined },
  token: 'token',
};

function podSpecWith(changes: Partial<OperandOptions> = {}) {
  const { statefulSet } = operandObjects(
    { ...plan, options: { ...options, ...changes } },
    settings,
  );
  const spec = statefulSet.spec?.template?.spec;
  const [container] = spec?.containers ?? [];
  assert.ok(spec && container);
  return { spec, container };
}

describe('unlessUnstartable', () => {
  const missing = {
    reason: 'SecretNotFound',
    message: 'there is no Secret other',
    level: 'warning',
  } as const;
  const objects = operandObjects(plan, settings);
  const made: StatefulSet = {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'orders-syncer' },
  };

  it('keeps the pods that are there while a Secret is missing', () => {
    assert.deepEqual(unlessUnstartable(objects, made, missing), { ...objects, arePodsKept: true });
    assert.equal(unlessUnstartable(objects, made, undefined), objects);
    assert.equal(unlessUnstartable(objects, undefined, missing), objects);
  });

  it('ends them all the same', () => {
    const none = operandObjects({ ...plan, replicas: 0 }, settings);
    assert.equal(unlessUnstartable(none, made, missing), none);
  });
});

describe('operandObjects', () => {
  const objects = operandObjects(plan, settings);

  it('are owned, labelled, and called by one name', () => {
    for (const { metadata } of [objects.service, objects.networkPolicy, objects.statefulSet]) {
      assert.equal(metadata.name, 'orders-syncer');
      assert.equal(metadata.namespace, 'shop');
      assert.equal(metadata.ownerReferences?.[0]?.uid, 'uid');
      assert.equal(metadata.labels?.['app.kubernetes.io/managed-by'], 'clustersync-operator');
    }
  });

  it('run under the rules of Pod Security "restricted"', () => {
    const { spec, container } = podSpecWith();
    assert.equal(spec.automountServiceAccountToken, false);
    assert.deepEqual(spec.securityContext, {
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('have what their template adds', () => {
    const podTemplate = {
      metadata: { labels: { team: 'shop' } },
      spec: { priorityClassName: 'low' },
    };
    const { statefulSet } = operandObjects(
      { ...plan, options: { ...options, podTemplate } },
      settings,
    );
    const { metadata, spec } = statefulSet.spec?.template ?? {};
    assert.equal(metadata?.labels?.['team'], 'shop');
    assert.equal(metadata.labels['app.kubernetes.io/instance'], 'orders-syncer');
    assert.equal(spec?.priorityClassName, 'low');
    assert.equal(statefulSet.spec?.selector?.matchLabels?.['team'], undefined);
  });

  it('serve HTTPS with the certificate of the Secret, and without its authority', () => {
    const { spec, container } = podSpecWith({ tls: { secretName: 'orders-tls' } });
    assert.deepEqual(spec.volumes?.at(-1), {
      name: 'tls',
      secret: {
        secretName: 'orders-tls',
        items: [
          { key: 'tls.crt', path: 'tls.crt' },
          { key: 'tls.key', path: 'tls.key' },
        ],
      },
    });
    assert.deepEqual(container.volumeMounts?.at(-1), {
      name: 'tls',
      mountPath: '/etc/clustersync/tls',
      readOnly: true,
    });
    assert.deepEqual(container.args?.slice(-3), [
      '--tlsCertificateFile=/etc/clustersync/tls/tls.crt',
      '--tlsKeyFile=/etc/clustersync/tls/tls.key',
      '--logLevel=info',
    ]);
    for (const probe of [container.livenessProbe, container.readinessProbe])
      assert.equal(probe?.httpGet?.scheme, 'HTTPS');
    assert.equal(podSpecWith().container.livenessProbe?.httpGet?.scheme, undefined);
  });

  it('read secrets from files alone', () => {
    const { spec, container } = podSpecWith();
    assert.deepEqual(container.args, [
      'syncer',
      '--id=old',
      '--port=27182',
      '--host=::',
      `--apiTokenHash=${createHash('sha256').update('token').digest('hex')}`,
      '--logLevel=info',
    ]);
    assert.deepEqual(container.env, [{ name: 'CLUSTERSYNC_CONNECTION_FILES', value: 'refuse' }]);
    assert.deepEqual(spec.volumes?.at(-1), {
      name: 'source',
      secret: { secretName: 'old-uri', items: [{ key: 'connection', path: 'uri' }] },
    });
    assert.deepEqual(container.volumeMounts?.at(-1), {
      name: 'source',
      mountPath: '/etc/clustersync/source',
      readOnly: true,
    });
  });

  it('take what the resource says of its pods', () => {
    const { spec, container } = podSpecWith({
      image: 'example.dev/other:2',
      imagePullSecrets: [{ name: 'registry' }],
      resources: { limits: { cpu: 2 } },
      nodeSelector: { disk: 'fast' },
      tolerations: [{ key: 'spot' }],
      affinity: { podAffinity: {} },
    });
    assert.equal(container.image, 'example.dev/other:2');
    assert.equal(container.imagePullPolicy, undefined, 'the policy is that of the default image');
    assert.deepEqual(container.resources, { limits: { cpu: '2' } });
    assert.deepEqual(spec.imagePullSecrets, [{ name: 'registry' }]);
    assert.deepEqual(spec.nodeSelector, { disk: 'fast' });
    assert.deepEqual(spec.tolerations, [{ key: 'spot' }]);
    assert.deepEqual(spec.affinity, { podAffinity: {} });
  });

  it('are asked for their health, but for an image that may be another tool', () => {
    const { container: own } = podSpecWith();
    assert.deepEqual(own.livenessProbe?.httpGet, { path: '/healthz', port: 'api' });
    assert.deepEqual(own.readinessProbe?.httpGet, { path: '/readyz', port: 'api' });
    const { container } = podSpecWith({ image: 'example.dev/other:2' });
    assert.deepEqual(container.livenessProbe?.tcpSocket, { port: 'api' });
    assert.equal(container.readinessProbe?.httpGet, undefined);
  });

  it('take the default image with its policy', () => {
    const { container } = podSpecWith();
    assert.equal(container.image, 'example.dev/clustersync:1');
    assert.equal(container.imagePullPolicy, 'IfNotPresent');
  });

  it('let the operator in, and nobody else unasked', () => {
    const ofOperator = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'operators' } },
      podSelector: {
        matchLabels: {
          'app.kubernetes.io/name': 'clustersync',
          'app.kubernetes.io/component': 'operator',
        },
      },
    };
    const ofMetrics = { namespaceSelector: { matchLabels: { metrics: 'enabled' } } };
    assert.deepEqual(objects.networkPolicy.spec, {
      podSelector: objects.statefulSet.spec?.selector,
      policyTypes: ['Ingress'],
      ingress: [{ ports: [{ port: 27182, protocol: 'TCP' }], from: [ofOperator, ofMetrics] }],
    });
  });

  it('reach nobody but name servers and whom the operator allows, where it says so', () => {
    const peers = [{ ipBlock: { cidr: '0.0.0.0/0', except: ['169.254.169.254/32'] } }];
    const { networkPolicy } = operandObjects(plan, { ...settings, egress: peers });
    assert.deepEqual(networkPolicy.spec?.policyTypes, ['Ingress', 'Egress']);
    assert.deepEqual(networkPolicy.spec.egress, [
      {
        ports: [
          { port: 53, protocol: 'UDP' },
          { port: 53, protocol: 'TCP' },
        ],
      },
      { to: peers },
    ]);
    assert.deepEqual(objects.networkPolicy.spec?.policyTypes, ['Ingress']);
  });

  it('leave the port open where the operator is no pod', () => {
    const { networkPolicy } = operandObjects(plan, { ...settings, operatorNamespace: undefined });
    assert.equal(networkPolicy.spec?.ingress?.[0]?.from, undefined);
  });

  it('have a hash that changes with what is wanted, and not otherwise', () => {
    const hashOf = (changes: Partial<OperandPlan>): unknown =>
      operandObjects({ ...plan, ...changes }, settings).statefulSet.metadata.annotations;
    assert.deepEqual(hashOf({}), hashOf({}));
    assert.notDeepEqual(hashOf({}), hashOf({ args: ['--id=other'] }));
  });
});
