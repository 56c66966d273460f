import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import {
  events,
  pods,
  secrets,
  statefulSets,
  type StatefulSet,
} from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { OperandStore } from '../../../operator/operand/operand-store.ts';
import type { SecretsRecord } from '../../../operator/operand/operand-secrets.ts';
import { recordedChange } from '../../../operator/operand/secrets-record.ts';
import { TokenKey } from '../../../operator/operand/token-key.ts';
import { operandObjects, type OperandObjects } from '../../../operator/operand/workload.ts';
import { createLogger } from '../../../service/logger.ts';
import { until } from '../../ground/until.ts';
import { uriData } from './custom-resources.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { applying, StandIn } from './stand-in.ts';

const { signal } = new AbortController();
const namespace = 'default';
const name = 'orders-syncer';
const owner: KubeObject = {
  apiVersion: 'clustersync.dev/v1alpha1',
  kind: 'ClusterSync',
  metadata: { namespace, name: 'orders', uid: '3f8f6c1e-1111-4222-8333-444455556666' },
};

function objectsWith(secretsRecord: SecretsRecord): OperandObjects {
  return operandObjects(
    {
      ...{ owner, name, kind: 'syncer', replicas: 1, port: 27182, args: [], token: 'token' },
      ...{ secrets: [], options: { resources: {}, logLevel: 'info' }, secretsRecord },
    },
    {
      ...{ image: 'example.dev/clustersync:1', imagePullPolicy: 'Always' },
      ...{ images: [], podFields: [] },
    },
  );
}

describe('changed Secrets, on a real API server', () => {
  let ground: OperatorGround;
  let client: KubeClient;
  let operator: RunningOperator;

  before(async () => {
    ground = await OperatorGround.start();
    ({ client } = ground);
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    await ground[Symbol.asyncDispose]();
  });

  it('are told with the time at which the pods were given them, once; another operator tells the same', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    await ground.createSync(namespace);
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await ground.runPod(set, address);
    const untilInSync = async () =>
      await ground.untilSync(namespace, 'in sync', (now) => readiness(now) === 'True InSync');
    assert.equal((await untilInSync()).secretsChangedAt, undefined);
    const told = async (): Promise<unknown[]> => {
      const { items } = await client.list(events, { namespace, signal });
      const all = items.filter(({ reason }) => reason === 'SecretsChanged');
      return all.map(({ type, series }) => [type, series]);
    };
    const generation = async () => {
      const made = await ground.get(statefulSets, namespace, 'orders-syncer');
      return made?.metadata.generation;
    };
    assert.equal(await generation(), 1);

    const data = uriData('mongodb://user:rotated@old/');
    const beforeMs = Math.floor(Date.now() / 1000) * 1000;
    await client.patch(secrets, { namespace, name: 'old-uri' }, { data }, { signal });
    const untilChanged = async (what: string) =>
      await ground.untilSync(namespace, what, (now) => now.secretsChangedAt !== undefined);
    const { secretsChangedAt = '' } = await untilChanged('the pods are given it');
    const changedMs = Date.parse(secretsChangedAt);
    assert.ok(changedMs >= beforeMs && changedMs <= Date.now(), secretsChangedAt);
    await until('there is an event', async () => (await told()).length > 0);
    await ground.runPod(set, address, { containerID: 'test://2' });
    await untilInSync();

    const restart = async (meanwhile?: () => Promise<unknown>): Promise<void> => {
      await operator[Symbol.asyncDispose]();
      await meanwhile?.();
      operator = await RunningOperator.start(ground.kubeconfig);
      await operator.passes(2);
    };
    const timeNow = async () => (await untilChanged('the time is there')).secretsChangedAt;
    await restart();
    assert.equal(await timeNow(), secretsChangedAt);
    assert.deepEqual(await told(), [['Normal', undefined]], 'one event');
    // As if the status had never been written.
    await restart(async () => {
      const status = { secretsChangedAt: null };
      const options = { signal, subresource: 'status' } as const;
      await client.patch(clusterSyncs, { namespace, name: 'orders' }, { status }, options);
    });
    assert.equal(await timeNow(), secretsChangedAt);
    assert.equal(await generation(), 2, 'the pods are replaced once');
    assert.deepEqual(syncer.commandNames, []);
  });

  it('that are gone are named when a pod is lost, which nobody says to run then', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    await ground.createSync(namespace);
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await ground.runPod(set, address);
    await ground.untilSync(namespace, 'in sync', (now) => readiness(now) === 'True InSync');
    const secret = await ground.get(secrets, namespace, 'old-uri');
    assert.ok(secret);
    await client.delete(secrets, { namespace, name: 'old-uri' }, { signal });
    const untilSaid = async (ready: string, problem: RegExp) =>
      await ground.untilSync(namespace, `${ready}, ${String(problem)}`, (now) => {
        const said = findCondition(now.conditions, 'SecretProblem')?.message ?? '';
        return readiness(now) === ready && problem.test(said);
      });
    await untilSaid('True InSync', /^there is no Secret old-uri: running pods continue/);

    const cannotStart = 'cannot start until this is corrected';
    await client.delete(pods, { namespace, name: 'orders-syncer-0' }, { signal });
    const lost = await untilSaid(
      'False SecretNotFound',
      new RegExp(`^there is no Secret old-uri: pods ${cannotStart}$`),
    );
    assert.equal(
      findCondition(lost.conditions, 'Ready')?.message,
      `there is no Secret old-uri: the pod orders-syncer-0 ${cannotStart}`,
    );

    const { data = {} } = secret;
    await client.create(secrets, { metadata: { namespace, name: 'old-uri' }, data }, { signal });
    await ground.runPod(set, address, { containerID: 'test://2' });
    await untilSaid('True InSync', /^$/);
    assert.deepEqual(syncer.commandNames, []);
  });

  async function find(): Promise<StatefulSet | undefined> {
    return await client.find(statefulSets, { namespace, name }, { signal });
  }

  it('are recorded once, however far the caches of operators lag', async () => {
    let cached: StatefulSet | undefined;
    let corrected = 0;
    const none = { get: () => undefined, list: () => [] };
    const newStore = (): OperandStore =>
      new OperandStore(
        client,
        {
          statefulSets: { get: () => cached, list: () => (cached ? [cached] : []) },
          ...{ services: none, networkPolicies: none, pods: none },
        },
        new TokenKey(client, { namespace, name: 'key' }, createLogger('operator', 'fatal')),
        () => (corrected += 1),
      );
    const store = newStore();
    const apply = async (by: OperandStore, record: SecretsRecord): Promise<void> => {
      assert.equal(await by.apply(owner, objectsWith(record), signal), undefined);
    };
    const never = { changedAt: undefined, replaces: undefined };
    await apply(store, { ...never, hash: 'first' });
    cached = await find();
    const replaces = cached?.metadata.resourceVersion;
    assert.ok(replaces !== undefined);

    const changedAt = '2026-01-01T12:00:00Z';
    await apply(store, { hash: 'second', changedAt, replaces });
    const written = await find();
    assert.equal(recordedChange(written), changedAt);
    assert.equal(recordedChange(cached), undefined, 'the cache lags');
    assert.equal(recordedChange(store.statefulSet(owner, name)), changedAt);
    const kept = { hash: 'second', changedAt, replaces: undefined };
    await apply(store, kept);
    assert.deepEqual(await find(), written);

    // Another operator, which has not seen it, would record a later time.
    const later = { hash: 'second', changedAt: '2026-01-01T12:00:09Z', replaces };
    const other = newStore();
    await apply(other, later);
    assert.deepEqual(await find(), written);
    assert.equal(recordedChange(other.statefulSet(owner, name)), changedAt, 'it has been read');

    // The next change comes while the cache still lags.
    const next = '2026-01-01T12:00:30Z';
    const overWritten = written?.metadata.resourceVersion;
    await apply(other, { hash: 'third', changedAt: next, replaces: overWritten });
    assert.equal(recordedChange(await find()), next);
    assert.equal(recordedChange(other.statefulSet(owner, name)), next);
    // This one does not know of it, until it is refused.
    await apply(store, { hash: 'third', changedAt: later.changedAt, replaces: overWritten });
    assert.equal(recordedChange(await find()), next);
    assert.equal(recordedChange(store.statefulSet(owner, name)), next);

    cached = await find();
    const keptNext = { hash: 'third', changedAt: next, replaces: undefined };
    await apply(store, keptNext);
    await apply(newStore(), keptNext);
    assert.deepEqual(await find(), cached);
    assert.equal(corrected, 0);

    // What somebody else changes is still noticed as such.
    const spec = { replicas: 5 };
    cached = await client.patch(statefulSets, { namespace, name }, { spec }, { signal });
    assert.equal(other.statefulSet(owner, name), cached);
    await apply(other, keptNext);
    assert.equal((await find())?.spec?.replicas, 1);
    assert.equal(recordedChange(await find()), next);
    assert.equal(corrected, 1);

    // What the cache still has is gone: it is made anew, and no version keeps that from happening.
    cached = await find();
    const over = { ...keptNext, hash: 'fourth', replaces: cached?.metadata.resourceVersion };
    await client.delete(statefulSets, { namespace, name }, { signal });
    await apply(store, over);
    const anew = await find();
    assert.ok(anew && anew.metadata.uid !== cached?.metadata.uid);
    assert.equal(store.statefulSet(owner, name)?.metadata.uid, anew.metadata.uid);
  });
});
