import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { syncVerifications } from '../../../operator/api/sync-verification.ts';
import {
  networkPolicies,
  services,
  statefulSets,
} from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { KubeError } from '../../../operator/kube/kube-error.ts';
import { resourcePath, type KubeObject, type Resource } from '../../../operator/kube/resource.ts';
import { overlayFields, type PodOverlay } from '../../../operator/operand/pod-template.ts';
import { until } from '../../ground/until.ts';
import { useApiServer } from '../kube/use-api-server.ts';
import { smallestSpec } from '../operator/custom-resources.ts';
import {
  changed,
  container,
  forbidden,
  made,
  operandMade,
  parts,
  placeIn,
  pod,
  podFieldExamples,
  sidecar,
  unnamed,
} from './forbidden-pods.ts';
import { releaseName, releaseNamespace } from './helm.ts';
import { installRelease, type PolicyGround } from './policy-ground.ts';

const signal = new AbortController().signal;
const denied = /ValidatingAdmissionPolicy .* denied/;
describe("what the API server lets the operator's account make", () => {
  let client: KubeClient;
  let operator: KubeClient;
  let putRelease: PolicyGround['putRelease'];

  useApiServer(async (server, itsClient) => {
    client = itsClient;
    ({ operator, putRelease } = await installRelease(server, client, valuesWith([])));
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

  function valuesWith(operandPodFields: readonly string[]): object {
    return {
      image: { repository: 'example.dev/clustersync', tag: 'test' },
      operandImages: ['example.dev/tools'],
      operandPodFields,
    };
  }

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

  /** Asks for a change, without its being made. @returns why it is refused. */
  async function askFor(
    asker: KubeClient,
    method: 'PATCH' | 'DELETE',
    path: string,
    body: object,
  ): Promise<string> {
    const contentType = method === 'PATCH' ? 'application/merge-patch+json' : undefined;
    try {
      const request = { method, path, query: { dryRun: 'All' }, body, signal } as const;
      await asker.raw({ ...request, ...(contentType && { contentType }) });
      return 'taken';
    } catch (error) {
      if (error instanceof KubeError) return error.message;
      throw error;
    }
  }

  const setsPath = resourcePath(statefulSets, { namespace: 'shop' });

  it('is the end of its pods, whatever image they have, or somebody has made of them', async () => {
    const former = changed(
      made.statefulSet,
      `${container}.image`,
      'example.dev/clustersync:former',
    );
    assert.match(await ask(operator, statefulSets, former), denied);
    assert.match(
      await ask(operator, statefulSets, changed(former, 'spec.replicas', 0)),
      denied,
      'it could be given pods by its scale',
    );
    const other = changed(
      changed(former, `${pod}.containers.1`, sidecar),
      'metadata.name',
      'former',
    );
    await client.create<KubeObject>(statefulSets, other as never, { signal });
    const path = `${setsPath}/former`;
    assert.equal(await askFor(operator, 'PATCH', path, { spec: { replicas: 0 } }), 'taken');
    assert.match(await askFor(operator, 'PATCH', path, { spec: { replicas: 2 } }), denied);
    const labels = { evil: 'yes' };
    const more = { spec: { replicas: 0, template: { metadata: { labels } } } };
    assert.match(await askFor(operator, 'PATCH', path, more), denied);
  });

  it('is no change and no deletion of what others have made', async () => {
    const foreign = changed(
      changed(
        changed(made.statefulSet, 'metadata.ownerReferences', undefined),
        'metadata.name',
        'postgres',
      ),
      'spec.selector.matchLabels',
      { ...made.statefulSet.spec?.selector?.matchLabels, 'app.kubernetes.io/instance': 'postgres' },
    );
    const labels = {
      ...made.statefulSet.spec?.template?.metadata?.labels,
      'app.kubernetes.io/instance': 'postgres',
    };
    const theirs = changed(foreign, 'spec.template.metadata.labels', labels);
    await client.create<KubeObject>(statefulSets, theirs as never, { signal });
    const path = `${setsPath}/postgres`;
    const { ownerReferences } = made.statefulSet.metadata;
    // As it would be its own by then, it may not take it.
    for (const patch of [{ spec: { replicas: 0 } }, { metadata: { ownerReferences } }])
      assert.match(await askFor(operator, 'PATCH', path, patch), denied);
    assert.match(await askFor(operator, 'DELETE', path, { kind: 'DeleteOptions' }), denied);
    assert.equal(await askFor(client, 'DELETE', path, { kind: 'DeleteOptions' }), 'taken');
    const own = changed(made.statefulSet, 'metadata.name', 'own');
    await client.create<KubeObject>(statefulSets, own as never, { signal });
    // It goes with its ClusterSync.
    const end = { kind: 'DeleteOptions' };
    assert.match(await askFor(operator, 'DELETE', `${setsPath}/own`, end), denied);
    const [owner] = made.statefulSet.metadata.ownerReferences ?? [];
    const check = changed(
      changed(made.statefulSet, 'metadata.name', 'check'),
      'metadata.ownerReferences',
      [{ ...owner, kind: 'SyncVerification' }],
    );
    await client.create<KubeObject>(statefulSets, check as never, { signal });
    assert.equal(await askFor(operator, 'DELETE', `${setsPath}/check`, end), 'taken');
  });

  it('is no deletion of a SyncVerification that nobody has asked to be deleted', async () => {
    const path = resourcePath(syncVerifications, { namespace: 'shop' });
    for (const [name, more, isTaken] of [
      ['kept', {}, false],
      ['passing', { ttlSecondsAfterFinished: 0 }, true],
    ] as const) {
      const spec = { clusterSyncRef: { name: 'orders' }, ...more };
      const metadata = { namespace: 'shop', name };
      await client.create<KubeObject>(syncVerifications, { metadata, spec } as never, { signal });
      const answer = await askFor(operator, 'DELETE', `${path}/${name}`, { kind: 'DeleteOptions' });
      assert.equal(answer === 'taken', isTaken, answer);
    }
  });

  it('is, of all fields that a pod has, those that it has a use for: another one is to be thought of', async () => {
    const document = (await client.raw({
      method: 'GET',
      path: '/openapi/v3/apis/apps/v1',
      signal,
    })) as {
      readonly components: { readonly schemas: Readonly<Record<string, { properties: object }>> };
    };
    for (const [kind, place] of Object.entries(parts)) {
      const known = document.components.schemas[`io.k8s.api.core.v1.${kind}`];
      const refused = forbidden.flatMap(([, each]) =>
        each.startsWith(`${place}.`) ? each.slice(place.length + 1) : [],
      );
      const named = [
        ...refused,
        ...Object.keys(placeIn(made.statefulSet, place)),
        ...(unnamed[kind] ?? []),
      ];
      // What pods of every user may have: operator/operand/workload.ts takes it from the resource.
      const asked = ['imagePullSecrets', 'nodeSelector', 'tolerations', 'affinity'];
      const missing = Object.keys(known?.properties ?? {}).filter(
        (field) => ![...named, ...(kind === 'PodSpec' ? asked : [])].includes(field),
      );
      assert.ok(Object.keys(known?.properties ?? {}).length > 5, kind);
      assert.deepEqual(missing, [], kind);
    }
  });

  for (const [what, place, value] of forbidden) {
    it(`is no pod with ${what}, which others may make`, async () => {
      const set = changed(made.statefulSet, place, value);
      assert.match(await ask(operator, statefulSets, set), denied);
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
      assert.match(await ask(operator, services, service), denied);
      assert.equal(await ask(client, services, service), 'taken');
    });
  }

  it('is no NetworkPolicy for the pods of others', async () => {
    const instance = { 'app.kubernetes.io/instance': 'shop' };
    const selectors = [{}, { matchLabels: { app: 'shop' } }, { matchLabels: instance }];
    for (const selector of selectors) {
      const policy = changed(made.networkPolicy, 'spec.podSelector', selector);
      assert.match(await ask(operator, networkPolicies, policy), denied);
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

  /** Gives the operator's account a right that the chart does not give it. */
  async function letDelete(): Promise<void> {
    const metadata = { name: 'delete-clustersyncs', namespace: 'shop' };
    const rules = [
      { apiGroups: ['clustersync.dev'], resources: ['clustersyncs'], verbs: ['delete'] },
    ];
    const path = '/apis/rbac.authorization.k8s.io/v1/namespaces/shop';
    const body = { metadata, rules };
    await client.raw({ method: 'POST', path: `${path}/roles`, body, signal });
    const binding = {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', namespace: releaseNamespace, name: releaseName }],
    };
    await client.raw({ method: 'POST', path: `${path}/rolebindings`, body: binding, signal });
  }

  it('is no change of what else others have written about a ClusterSync', async () => {
    const finalizers = ['example.dev/theirs'];
    const theirs = { labels: { app: 'shop' }, annotations: { note: 'theirs' }, finalizers };
    const metadata = { namespace: 'shop', name: 'theirs', ...theirs };
    await client.create<KubeObject>(clusterSyncs, { metadata, spec: smallestSpec } as never, {
      signal,
    });
    const path = resourcePath(clusterSyncs, { namespace: 'shop', name: 'theirs' });
    for (const change of [
      { labels: { app: 'other' } },
      { labels: null },
      { annotations: { note: null } },
      { annotations: { 'argocd.argoproj.io/tracking-id': 'other' } },
      { finalizers: null },
      { finalizers: ['clustersync.dev/reset'] },
      { finalizers: ['example.dev/theirs', 'example.dev/other'] },
    ]) {
      const answer = await askFor(operator, 'PATCH', path, { metadata: change });
      assert.match(answer, denied, `${JSON.stringify(change)}: ${answer}`);
      assert.equal(await askFor(client, 'PATCH', path, { metadata: change }), 'taken');
    }
    // The garbage collector deletes what nobody owns that is there. This API server asks for the right to delete it, too; not all do.
    await letDelete();
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'none', uid: 'of-nobody' };
    const owned = { metadata: { ownerReferences: [owner] } };
    await until('the right counts', async () => {
      return !(await askFor(operator, 'PATCH', path, owned)).includes('cannot set an ownerRef');
    });
    assert.match(await askFor(operator, 'PATCH', path, owned), denied);
    assert.equal(await askFor(client, 'PATCH', path, owned), 'taken');
    const both = { finalizers: ['example.dev/theirs', 'clustersync.dev/reset'] };
    assert.equal(await askFor(operator, 'PATCH', path, { metadata: both }), 'taken');
    await client.patch(clusterSyncs, metadata, { metadata: both }, { signal });
    assert.equal(await askFor(operator, 'PATCH', path, { metadata: { finalizers } }), 'taken');
  });

  it('is a pod with what operandPodFields allows, and no other', async () => {
    const fields = Object.entries(podFieldExamples);
    const set = (podTemplate: PodOverlay) => operandMade({ podTemplate }).statefulSet;
    // Each of them once among those that are allowed, and once among the others.
    for (const isAllowed of [
      (index: number) => index % 2 === 0,
      (index: number) => index % 2 === 1,
    ]) {
      const allowed = fields.filter((_, index) => isAllowed(index));
      await putRelease(valuesWith(allowed.map(([name]) => `spec.${name}`)));
      const [first] = allowed;
      assert.ok(first);
      await until('the policy is as the chart has it', async () => {
        const [name, value] = first;
        return (await ask(operator, statefulSets, set({ spec: { [name]: value } }))) === 'taken';
      });
      for (const [index, [name, value]] of fields.entries()) {
        const answer = await ask(operator, statefulSets, set({ spec: { [name]: value } }));
        if (isAllowed(index)) assert.equal(answer, 'taken', name);
        else assert.match(answer, denied, name);
      }
    }
    const all = overlayFields.filter((path) => path !== 'spec.priorityClassName');
    const classes = ['low', 'lower'].map((name) => `spec.priorityClassName=${name}`);
    await putRelease(valuesWith([...all, ...classes]));
    await until('all of them are allowed', async () => {
      const answer = await ask(operator, statefulSets, set({ spec: podFieldExamples }));
      return answer === 'taken';
    });
    const lower = set({ spec: { ...podFieldExamples, priorityClassName: 'lower' } });
    assert.equal(await ask(operator, statefulSets, lower), 'taken');
    const high = { ...podFieldExamples, priorityClassName: 'high' };
    assert.match(await ask(operator, statefulSets, set({ spec: high })), denied);
    for (const [place, value] of [
      [`${pod}.hostNetwork`, true],
      [`${container}.image`, 'evil.dev/a:1'],
      [`${container}.command`, ['sh']],
      ['metadata.ownerReferences', undefined],
    ] as const) {
      const other = changed(set({ spec: podFieldExamples }), place, value);
      assert.match(await ask(operator, statefulSets, other), denied, place);
    }
  });
});
