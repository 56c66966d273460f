import assert from 'node:assert/strict';
import type { ClusterSyncStatus } from '../../../operator/api/clustersync.ts';
import { statefulSets, type StatefulSet } from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';

/** Of all fields of a template, what the operator of these tests does not let a resource set. */
const notAllowed = 'spec.runtimeClassName';

describe('the pods of a resource with a template, on a real API server', () => {
  let ground: OperatorGround;
  let operator: RunningOperator;

  before(async () => {
    ground = await OperatorGround.start();
    operator = await RunningOperator.start(ground.kubeconfig, { withoutPodFields: [notAllowed] });
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    await ground[Symbol.asyncDispose]();
  });

  const patch = async (namespace: string, podTemplate: object | null): Promise<void> => {
    await ground.patchSync(namespace, { syncer: { podTemplate } });
  };

  const untilRefused = async (
    namespace: string,
    reason: string,
    message: RegExp,
  ): Promise<void> => {
    const isRefused = (status: ClusterSyncStatus): boolean =>
      readiness(status) === `False ${reason}` &&
      message.test(findCondition(status.conditions, 'Ready')?.message ?? '');
    const { phase } = await ground.untilSync(namespace, `${reason} ${String(message)}`, isRefused);
    assert.equal(phase, 'Stalled');
  };

  const templateOf = async (namespace: string): Promise<StatefulSet['spec']> =>
    (await ground.get(statefulSets, namespace, 'orders-syncer'))?.spec;

  it('are not made with a field that nobody has allowed', async () => {
    const { namespace } = await ground.newPlace();
    const podTemplate = { spec: { runtimeClassName: 'other' } };
    await ground.createSync(namespace, { syncer: { podTemplate } });
    const message = /^spec\.syncer\.podTemplate\.spec\.runtimeClassName is not allowed/;
    await untilRefused(namespace, 'PodFieldNotAllowed', message);
    assert.equal(await templateOf(namespace), undefined);
    await patch(namespace, null);
    await ground.untilMade(namespace, 'orders-syncer');
  });

  it('have each field that can be set, lose those that are removed, and stay as they are when one is refused', async () => {
    const { namespace } = await ground.newPlace();
    const spread = {
      ...{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' },
      labelSelector: { matchLabels: { team: 'shop' } },
    };
    const set = {
      ...{ dnsPolicy: 'None', dnsConfig: { nameservers: ['192.0.2.1'] } },
      ...{ preemptionPolicy: 'Never', priorityClassName: 'low', schedulerName: 'other' },
      ...{ serviceAccountName: 'sync', automountServiceAccountToken: true },
      hostAliases: [{ ip: '192.0.2.2', hostnames: ['old'] }],
      topologySpreadConstraints: [spread],
    };
    const before = { name: 'before', image: 'example.dev/before:1' };
    const beside = { name: 'beside', image: 'example.dev/beside:1', command: ['proxy'] };
    const own = {
      name: 'syncer',
      env: [{ name: 'TZ', value: 'UTC' }],
      volumeMounts: [{ name: 'more', mountPath: '/more' }],
      securityContext: { runAsUser: 1234 },
    };
    const added = {
      volumes: [{ name: 'more', emptyDir: {} }],
      initContainers: [before],
      containers: [own, beside],
    };
    const metadata = { labels: { team: 'shop' }, annotations: { 'example.dev/note': 'a' } };
    const spec = { ...set, ...added, securityContext: { fsGroup: 1234 } };
    await ground.createSync(namespace, { syncer: { podTemplate: { metadata, spec } } });
    const made = await ground.untilMade(namespace, 'orders-syncer');
    const { template } = made.spec ?? {};
    const pod = template?.spec;
    assert.equal(template?.metadata?.labels?.['team'], 'shop');
    assert.equal(template.metadata.annotations?.['example.dev/note'], 'a');
    for (const [name, value] of Object.entries(set)) {
      assert.deepEqual(Reflect.get(pod ?? {}, name), value, name);
    }
    assert.equal(pod?.securityContext?.fsGroup, 1234);
    assert.equal(pod.securityContext.runAsNonRoot, true);
    assert.deepEqual(
      pod.volumes?.map(({ name }) => name),
      ['tmp', 'source', 'destination', 'more'],
    );
    assert.deepEqual(
      pod.initContainers?.map(({ name }) => name),
      ['before'],
    );
    const [program, other] = pod.containers;
    assert.equal(program?.securityContext?.runAsUser, 1234);
    assert.equal(program.securityContext.readOnlyRootFilesystem, true);
    assert.deepEqual(program.env?.at(-1), { name: 'TZ', value: 'UTC' });
    assert.deepEqual(program.volumeMounts?.at(-1), { name: 'more', mountPath: '/more' });
    assert.deepEqual([other?.name, other?.command], ['beside', ['proxy']]);

    const { resourceVersion } = made.metadata;
    for (const [podTemplate, message] of [
      [{ spec: { hostNetwork: true } }, /podTemplate\.spec\.hostNetwork cannot be set/],
      [{ spec: { volumes: [{ name: 'tmp', emptyDir: {} }] } }, /duplicate entries|Duplicate value/],
      [{ spec: { priorityClassName: 7 } }, /priorityClassName/],
      [{ spec: { topologySpreadConstraints: [{ maxSkew: 0 }] } }, /topologySpreadConstraints/],
      [{ spec: { containers: [{ name: 'beside' }] } }, /image: Required value/],
      [
        { spec: { containers: [{ ...beside, resources: { limits: { cpu: 'much' } } }] } },
        /failed to convert new object/,
      ],
    ] as const) {
      await patch(namespace, { spec: { ...unset(spec), hostNetwork: null, ...podTemplate.spec } });
      await untilRefused(namespace, 'InvalidPodTemplate', message);
      const kept = await ground.get(statefulSets, namespace, 'orders-syncer');
      assert.equal(kept?.metadata.resourceVersion, resourceVersion);
    }

    await patch(namespace, null);
    await until('the template is gone', async () => {
      return (await templateOf(namespace))?.template.spec?.containers.length === 1;
    });
    const plain = (await templateOf(namespace))?.template;
    assert.equal(plain?.metadata?.labels?.['team'], undefined);
    for (const name of [
      'serviceAccountName',
      'serviceAccount',
      'hostAliases',
      'priorityClassName',
      'topologySpreadConstraints',
      'initContainers',
    ]) {
      assert.equal(Reflect.get(plain?.spec ?? {}, name), undefined, name);
    }
    assert.equal(plain?.spec?.automountServiceAccountToken, false);
    assert.equal(plain.spec.dnsPolicy, 'ClusterFirst');
    assert.equal(plain.spec.securityContext?.fsGroup, undefined);
    assert.equal(plain.spec.volumes?.length, 3);
  });
});

/** In a merge patch: no field of the former value. */
function unset(former: object): object {
  return Object.fromEntries(Object.keys(former).map((name) => [name, null]));
}
