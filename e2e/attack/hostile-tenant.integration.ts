import assert from 'node:assert/strict';
import { clusterSyncs } from '../../operator/api/clustersync.ts';
import {
  events,
  leases,
  networkPolicies,
  secrets,
  services,
  statefulSets,
} from '../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../operator/kube/conditions.ts';
import { KubeError } from '../../operator/kube/kube-error.ts';
import { controllerReference, isControlledBy } from '../../operator/kube/owner.ts';
import type { KubeObject, Resource } from '../../operator/kube/resource.ts';
import { ownershipLeaseName } from '../../operator/leases/owned-namespaces.ts';
import { OperatorProcess } from '../ground/operator-process.ts';
import { peakResidentBytes } from '../ground/peak-memory.ts';
import { until } from '../ground/until.ts';
import { smallestSpec } from '../integration/operator/custom-resources.ts';
import {
  definitionOf,
  putDefinition,
  withoutNewRules,
} from '../integration/operator/former-definitions.ts';
import { OperatorGround, readiness } from '../integration/operator/operator-ground.ts';
import {
  hostileMetadata,
  hostileNames,
  hostileSpecs,
  hostileStatuses,
  hostileUris,
  tenantPassword,
} from './hostile-resources.ts';

const { signal } = new AbortController();

/** The text around a password that appears in an output. */
function around(text: string): string {
  const at = text.indexOf(tenantPassword);
  return text.slice(Math.max(0, at - 300), at + 100);
}

/** An operator without any resources needs 140 MiB. */
const maxPeakMebibytes = 350;

describe('a hostile tenant, on a real API server', () => {
  const stack = new AsyncDisposableStack();
  let ground: OperatorGround;
  let operator: OperatorProcess;
  let tenant: string;

  before(async () => {
    ground = stack.use(await OperatorGround.start());
    ({ namespace: tenant } = await ground.newPlace());
    // As objects may be that are older than these rules.
    const former = withoutNewRules(await definitionOf(clusterSyncs));
    await putDefinition(ground.client, former, signal);
    const odd = { destination: { name: 'new', uriSecretRef: { name: '..' } } };
    await until('the former rules hold', async () => await make('older', odd));
    operator = stack.use(
      await OperatorProcess.start({
        kubeconfig: ground.server.config(undefined, 'second').exportConfig(),
        options: { leaseNamespace: 'default', leaseName: 'attacked' },
      }),
    );
    await operator.untilReady();
  });

  after(async () => {
    await stack.disposeAsync();
  });

  /** What the API server refuses does not reach the operator. */
  async function tried(attempt: Promise<unknown>): Promise<boolean> {
    try {
      await attempt;
      return true;
    } catch (error) {
      if (error instanceof KubeError) return false;
      throw error;
    }
  }

  async function make(name: string, spec: object = {}, metadata: object = {}): Promise<boolean> {
    const object = {
      metadata: { ...metadata, namespace: tenant, name },
      spec: { ...smallestSpec, ...(await ground.newDestination(tenant, `to-${made++}`)), ...spec },
    };
    return await tried(ground.client.create<KubeObject>(clusterSyncs, object, { signal }));
  }

  let made = 0;

  async function all<T extends KubeObject>(resource: Resource<T>): Promise<readonly T[]> {
    return (await ground.client.list(resource, { signal })).items;
  }

  /** The operator has reconciled every ClusterSync of the tenant and still runs, and another tenant is served. */
  async function assertOthersAreServed(): Promise<void> {
    const { namespace } = await ground.newPlace();
    await ground.createSync(namespace);
    const set = await ground.untilMade(namespace, 'orders-syncer');
    assert.equal(set.spec?.template.spec?.automountServiceAccountToken, false);
    await ground.untilSync(namespace, 'its pod is missed', (status) => {
      return readiness(status) === 'False PodPending';
    });
    await until('all are looked at', async () => {
      const syncs = (await all(clusterSyncs)).filter(
        ({ metadata }) => metadata.namespace === tenant,
      );
      return syncs.every(({ status }) => {
        const ready = findCondition(status?.conditions, 'Ready');
        return ready !== undefined && ready.reason !== 'Mine';
      });
    });
    assert.ok(!operator.hasEnded);
    assert.ok(await operator.isGood('healthz'));
    assert.ok(await operator.isGood('readyz'));
    const mebibytes = (await peakResidentBytes(operator.pid)) / 1024 / 1024;
    assert.ok(mebibytes < maxPeakMebibytes, `${mebibytes} MiB`);
  }

  it('has connection strings of every bad kind named, told to nobody, and others served', async () => {
    for (const [name, uri] of Object.entries(hostileUris)) {
      for (const side of ['source', 'destination'] as const) {
        const secret = `${name}-${side}`;
        const data = { uri: Buffer.from(uri).toString('base64') };
        await ground.client.create(
          secrets,
          { metadata: { namespace: tenant, name: secret }, data },
          { signal },
        );
        const part = { name: side === 'source' ? 'old' : 'new', uriSecretRef: { name: secret } };
        assert.ok(await make(secret, { [side]: part }), secret);
      }
    }
    await assertOthersAreServed();
    const told = JSON.stringify([
      await all(clusterSyncs),
      await all(events),
      await all(leases),
      await all(statefulSets),
    ]);
    for (const text of [told, await operator.log(), await operator.metrics()])
      assert.ok(!text.includes(tenantPassword), around(text));
    assert.ok(told.length < 2_000_000, `${told.length} characters`);
  });

  it('has specs, metadata and names of every bad kind refused or named, and others served', async () => {
    let taken = 0;
    for (const [name, spec] of Object.entries(hostileSpecs))
      taken += Number(await make(name, spec));
    for (const [name, metadata] of Object.entries(hostileMetadata))
      taken += Number(await make(`with-${name}`, {}, metadata));
    for (const name of hostileNames) taken += Number(await make(name));
    assert.ok(taken > 10, `${taken} are taken`);
    await assertOthersAreServed();
    for (const { metadata, spec } of await all(statefulSets)) {
      const pod = spec?.template.spec;
      const images = [...(pod?.containers ?? []), ...(pod?.initContainers ?? [])];
      for (const { image } of images)
        assert.equal(image, 'example.dev/clustersync:test', metadata.name);
      assert.equal(pod?.automountServiceAccountToken, false);
      for (const volume of pod.volumes ?? []) assert.ok(!volume.hostPath, metadata.name);
    }
  });

  it('has no Secret of another namespace read, however it writes its name', async () => {
    const victim = (await ground.newPlace()).namespace;
    const names = [
      `${victim}/new-uri`,
      `${victim}:new-uri`,
      `../${victim}/new-uri`,
      `../../${victim}/secrets/new-uri`,
      `..%2f..%2f${victim}%2fsecrets%2fnew-uri`,
      `x?fieldSelector=metadata.name=new-uri`,
      '..',
    ];
    for (const [index, name] of names.entries()) {
      const destination = { name: 'new', uriSecretRef: { name } };
      assert.ok(await make(`foreign-secret-${index}`, { destination }), name);
    }
    await assertOthersAreServed();
    for (const index of names.keys()) {
      const name = `foreign-secret-${index}`;
      const { status } = await ground.client.get(
        clusterSyncs,
        { namespace: tenant, name },
        { signal },
      );
      assert.equal(readiness(status), 'False SecretNotFound', names[index]);
      assert.equal(await ground.get(statefulSets, tenant, `${name}-syncer`), undefined);
    }
    const told = JSON.stringify([await all(clusterSyncs), await all(leases)]);
    assert.ok(!told.includes(`${victim}.new-uri`), 'a host of the victim is told');
  });

  it('has objects of the names that the operator would take left alone', async () => {
    const victim = (await ground.newPlace()).namespace;
    // Of the same name as one below, which tells them apart by nothing but their uids.
    const other = await ground.createSync(victim, {}, 'taken-1');
    await ground.untilMade(victim, 'taken-1-syncer');
    const spec = { ports: [{ port: 80 }] };
    const foreign: [Resource<KubeObject>, KubeObject][] = [];
    // Nobody's, and those that say that they belong to a ClusterSync of another namespace.
    for (const ownerReferences of [[], [controllerReference(other)]]) {
      const name = `taken-${ownerReferences.length}`;
      const metadata = { namespace: tenant, name: `${name}-syncer`, ownerReferences };
      const drafts: readonly (readonly [Resource<KubeObject>, object])[] = [
        [services, { spec }],
        [secrets, { data: { token: Buffer.from('a\r\nb').toString('base64') } }],
        [networkPolicies, { spec: { podSelector: {} } }],
        [
          statefulSets,
          {
            spec: {
              serviceName: 'x',
              selector: { matchLabels: { a: 'b' } },
              template: {
                metadata: { labels: { a: 'b' } },
                spec: { containers: [{ name: 'syncer', image: 'evil.example/thief' }] },
              },
            },
          },
        ],
      ];
      for (const [resource, draft] of drafts)
        foreign.push([
          resource,
          await ground.client.create<KubeObject>(
            resource,
            { metadata, ...draft },
            {
              signal,
            },
          ),
        ]);
      assert.ok(await make(name));
    }
    await assertOthersAreServed();
    for (const [resource, { metadata }] of foreign) {
      const now = await ground.get(resource, tenant, metadata.name);
      assert.equal(now?.metadata.resourceVersion, metadata.resourceVersion, metadata.name);
    }
    const own = await ground.get(statefulSets, victim, 'taken-1-syncer');
    assert.ok(own && isControlledBy(own, other));
  });

  it('has what it writes to a status bounded by the schema, and makes no argument of a pod by it', async () => {
    for (const [name, status] of Object.entries(hostileStatuses)) {
      assert.ok(await make(`status-${name}`));
      const ref = { namespace: tenant, name: `status-${name}` };
      await tried(
        ground.client.patch(clusterSyncs, ref, { status }, { signal, subresource: 'status' }),
      );
    }
    await assertOthersAreServed();
    const sets = (await all(statefulSets)).map(({ metadata: { name }, spec }) => {
      const [container] = spec?.template.spec?.containers ?? [];
      return { name, replicas: spec?.replicas ?? 1, args: container?.args ?? [] };
    });
    for (const { name, replicas, args } of sets) {
      assert.ok(replicas <= 256, `${name}: ${replicas}`);
      for (const arg of args.filter((each) => each.startsWith('--cluster')))
        assert.match(arg, /^--cluster[01]File=\/etc\/clustersync\//, name);
    }
    const made = sets.filter(({ name }) => name.startsWith('status-'));
    assert.ok(made.length > 1);
    assert.ok(sets.length > made.length);
    for (const { name, args } of made) {
      assert.deepEqual(
        args.map((arg) => arg.replace(/^--ids?=.*/s, '--id').replace(/Hash=.*/, 'Hash')),
        [
          ...['syncer', '--id', '--cluster0File=/etc/clustersync/source/uri'],
          ...['--cluster1File=/etc/clustersync/destination/uri', '--port=27182', '--host=::'],
          ...['--apiTokenHash', '--logLevel=info'],
        ],
        name,
      );
    }
  });

  it('has nothing written by the operator but what is its own to write', async () => {
    const writes = (await ground.server.auditedWrites()).filter(({ user }) => user === 'second');
    assert.ok(writes.length > 50);
    const kinds = new Set(
      writes.map(({ resource, subresource }) => `${resource} ${subresource}`.trim()),
    );
    const expected = ['clustersyncs status', 'events', 'leases', 'networkpolicies', 'secrets'];
    for (const kind of kinds)
      assert.ok([...expected, 'services', 'statefulsets'].includes(kind), kind);
    for (const { resource, namespace, name } of writes)
      if (['leases', 'secrets'].includes(resource) && name !== ownershipLeaseName)
        assert.equal(namespace, 'default', name);
  });
});
