import assert from 'node:assert/strict';
import { KubeConfig } from '@kubernetes/client-node';
import { namespaces } from '../../../operator/kube/builtin-resources.ts';
import type { KubeObject, Resource } from '../../../operator/kube/resource.ts';
import { OperatorProcess } from '../../ground/operator-process.ts';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';
import { accountConfig } from '../chart/operator-account.ts';
import { OperatorGround, type Place } from './operator-ground.ts';

const { signal } = new AbortController();
const account = { namespace: 'default', name: 'operator' };
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' } as const;
const clusterRoles: Resource<KubeObject> = {
  ...{ ...rbac, kind: 'ClusterRole', plural: 'clusterroles', namespaced: false },
};
const roleBindings: Resource<KubeObject> = {
  ...{ ...rbac, kind: 'RoleBinding', plural: 'rolebindings', namespaced: true },
};
const serviceAccounts: Resource<KubeObject> = {
  ...{ group: '', version: 'v1', kind: 'ServiceAccount' },
  ...{ plural: 'serviceaccounts', namespaced: true },
};

describe('an operator with rights in some namespaces, on a real API server', () => {
  let ground: OperatorGround;
  let token: string | undefined;
  const stack = new AsyncDisposableStack();

  before(async () => {
    ground = stack.use(await OperatorGround.start());
    const { client } = ground;
    await client.create(serviceAccounts, { metadata: account }, { signal });
    const everything = { apiGroups: ['*'], resources: ['*'], verbs: ['*'] };
    const role = { metadata: { name: account.name }, rules: [everything] };
    await client.create(clusterRoles, role, { signal });
    await grant('default');
    token = (await accountConfig(ground.server, client, account)).getCurrentUser()?.token;
  });

  after(async () => {
    await stack.disposeAsync();
  });

  /** What the chart makes for a namespace, and an administrator may remove. */
  async function grant(namespace: string): Promise<void> {
    const binding = {
      metadata: { namespace, name: account.name },
      roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: account.name },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    };
    await ground.client.create<KubeObject>(roleBindings, binding, { signal });
  }

  async function revoke(namespace: string): Promise<void> {
    await ground.client.delete(roleBindings, { namespace, name: account.name }, { signal });
  }

  async function newPlaceWithRights(): Promise<Place> {
    const place = await ground.newPlace();
    await grant(place.namespace);
    return place;
  }

  async function start(
    watchNamespaces: readonly string[],
    { port = ground.server.port, leaseDurationSeconds = 15 } = {},
  ): Promise<OperatorProcess> {
    const config = new KubeConfig();
    const cluster = ground.server.config(port).getCurrentCluster();
    assert.ok(cluster && token !== undefined);
    config.loadFromClusterAndUser(cluster, { name: account.name, token });
    const options = {
      watchNamespaces: watchNamespaces.join(','),
      // Each test has its own operator.
      leaseName: `of-${watchNamespaces.join('-')}`,
      leaseDurationSeconds,
    };
    return await OperatorProcess.start({ kubeconfig: config.exportConfig(), options });
  }

  async function watched(operator: OperatorProcess, namespace: string): Promise<string> {
    const series = `clustersync_operator_namespace_watched{namespace="${namespace}"} `;
    const lines = (await operator.metrics()).split('\n');
    return lines.find((line) => line.startsWith(series))?.slice(series.length) ?? 'no sample';
  }

  async function untilWatched(
    operator: OperatorProcess,
    namespace: string,
    expected: '0' | '1',
  ): Promise<void> {
    await until(`${namespace} is watched: ${expected}`, async () => {
      return (await watched(operator, namespace)) === expected;
    });
  }

  /** How many requests the API server has refused. */
  async function refused(operator: OperatorProcess): Promise<number> {
    const series = /^rest_client_requests_total\{code="403".*\} (\d+)$/gm;
    const found = [...(await operator.metrics()).matchAll(series)];
    return found.reduce((sum, [, each]) => sum + Number(each), 0);
  }

  async function warnings(operator: OperatorProcess): Promise<string[]> {
    const lines = (await operator.log()).split('\n').filter((line) => line !== '');
    return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  }

  /** Deletes a namespace with all that the operator could see, as the controller that is not there would. */
  async function removeNamespace(namespace: string): Promise<void> {
    for (const each of ['clustersyncs', 'statefulsets', 'services', 'networkpolicies', 'secrets'])
      await ground.kubectl('delete', each, '--all', '--namespace', namespace);
    await revoke(namespace);
    await ground.client.delete(namespaces, { name: namespace }, { signal });
    const path = `/api/v1/namespaces/${namespace}/finalize`;
    const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace }, spec: {} };
    await ground.client.raw({ method: 'PUT', path, body, signal });
    await until('it is gone', async () => {
      return (await ground.client.find(namespaces, { name: namespace }, { signal })) === undefined;
    });
  }

  it('works in one of them while the other does not exist, and takes that up when it does', async () => {
    const { namespace } = await newPlaceWithRights();
    const missing = `ground-${Number(namespace.replace('ground-', '')) + 1}`;
    await using operator = await start([namespace, missing]);
    await ground.createSync(namespace);
    await ground.untilMade(namespace, 'orders-syncer');
    await operator.untilReady();
    await until('it has tried again', async () => (await refused(operator)) > 18);
    await untilWatched(operator, missing, '0');
    assert.equal(await watched(operator, namespace), '1');
    assert.deepEqual(await warnings(operator), [
      `cannot watch the namespace ${missing}: nothing is done there until it can`,
    ]);

    assert.equal((await newPlaceWithRights()).namespace, missing);
    await ground.createSync(missing);
    await ground.untilMade(missing, 'orders-syncer');
    await untilWatched(operator, missing, '1');
    await operator.untilReady();
  });

  it('continues in one of them when it loses its rights in the other, and works there again when it has them', async () => {
    const [kept, lost] = [await newPlaceWithRights(), await newPlaceWithRights()];
    await using proxy = await TcpProxy.start(ground.server.port);
    await using operator = await start([kept.namespace, lost.namespace], { port: proxy.port });
    for (const { namespace } of [kept, lost]) {
      await ground.createSync(namespace);
      await ground.untilMade(namespace, 'orders-syncer');
    }
    await revoke(lost.namespace);
    // A watch that is open stays so for some minutes.
    proxy.cut();
    await untilWatched(operator, lost.namespace, '0');
    const destination = await ground.newDestination(kept.namespace, 'other');
    await ground.createSync(kept.namespace, destination, 'other');
    await ground.untilMade(kept.namespace, 'other-syncer');
    await operator.untilReady();
    // What was there is unknown by now: what it says of it would be old.
    assert.doesNotMatch(
      await operator.metrics(),
      new RegExp(`clustersync_condition.*namespace="${lost.namespace}"`),
    );
    await ground.createSync(
      lost.namespace,
      await ground.newDestination(lost.namespace, 'other'),
      'other',
    );

    await grant(lost.namespace);
    await ground.untilMade(lost.namespace, 'other-syncer');
    await untilWatched(operator, lost.namespace, '1');
    await until('what it knows is told again', async () =>
      (await operator.metrics()).includes(`namespace="${lost.namespace}",name="orders"`),
    );
    const told = (await warnings(operator)).filter((each) => each.includes('cannot watch'));
    assert.equal(told.length, 1);
  });

  it('continues when one of them is deleted, and starts over in a namesake', async () => {
    const [kept, deleted] = [await newPlaceWithRights(), await newPlaceWithRights()];
    await using proxy = await TcpProxy.start(ground.server.port);
    // It is to keep its lease while it is cut off, however long the deletion takes.
    const options = { port: proxy.port, leaseDurationSeconds: 90 };
    await using operator = await start([kept.namespace, deleted.namespace], options);
    await ground.createSync(deleted.namespace);
    await ground.untilMade(deleted.namespace, 'orders-syncer');
    // What it missed it must find by itself.
    proxy.refuse();
    await removeNamespace(deleted.namespace);
    proxy.heal();
    await untilWatched(operator, deleted.namespace, '0');
    await operator.untilReady();
    await ground.createSync(kept.namespace);
    await ground.untilMade(kept.namespace, 'orders-syncer');

    const namesake = { metadata: { name: deleted.namespace } };
    await ground.client.create(namespaces, namesake, { signal });
    await grant(deleted.namespace);
    await untilWatched(operator, deleted.namespace, '1');
    await ground.createSync(deleted.namespace);
    await ground.untilSync(deleted.namespace, 'its Secret is missing', ({ conditions }) =>
      JSON.stringify(conditions).includes('there is no Secret'),
    );
  });

  it('is not ready where it can watch none of them, and says why', async () => {
    await using operator = await start(['nowhere']);
    const why = 'not ready: no namespace can be watched: the namespace nowhere: 403 Forbidden';
    await until('it says why', async () => (await operator.readiness()) === `${why}\n`);
    assert.ok(await operator.isGood('healthz'));
    assert.equal((await warnings(operator)).filter((each) => each === why).length, 1);
  });
});
