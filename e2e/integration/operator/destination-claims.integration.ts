import assert from 'node:assert/strict';
import {
  events,
  leases,
  pods,
  secrets,
  statefulSets,
} from '../../../operator/kube/builtin-resources.ts';
import type { ClusterSync } from '../../../operator/api/clustersync.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';
import { skipBecause } from '../../runner/skip.ts';
import { uriData } from './custom-resources.ts';
import { OperatorGround, readiness, RunningOperator, type Place } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';

const signal = new AbortController().signal;
const operand = 'orders-syncer';

describe('who has a destination, on a real API server, with real databases', () => {
  const running = new AsyncDisposableStack();
  let ground: OperatorGround;
  let destination: ReplicaSet;
  let operator: RunningOperator;

  before(async () => {
    ground = running.use(await OperatorGround.start());
    operator = await RunningOperator.start(ground.kubeconfig);
    running.defer(async () => {
      await operator[Symbol.asyncDispose]();
    });
    destination = await startReplicaSet({ members: 1, syncerRoles: 'destination' });
    running.defer(async () => {
      await destination.stop();
    });
  });

  after(async () => {
    await running.disposeAsync();
  });

  async function restartOperator(): Promise<void> {
    await operator[Symbol.asyncDispose]();
    operator = await RunningOperator.start(ground.kubeconfig);
  }

  async function setDestination({ namespace }: Place, uri: string): Promise<void> {
    const ref = { namespace, name: 'new-uri' };
    await ground.client.patch(secrets, ref, { data: uriData(uri) }, { signal });
  }

  /** A ClusterSync with this destination. */
  async function newSync(uri: string): Promise<Place> {
    const place = await ground.newPlace();
    await setDestination(place, uri);
    await ground.createSync(place.namespace);
    return place;
  }

  /** Runs the syncer when its pod is to be there. */
  async function runSyncer(
    { namespace, address }: Place,
    names?: Readonly<Record<string, string>>,
  ): Promise<PodProcess> {
    await until('there is to be a pod', async () => (await sizeOf(namespace)) === 1);
    const set = await ground.untilMade(namespace, operand);
    const syncer = await PodProcess.start(ground.client, set, address, names);
    await ground.runPod(set, address);
    return syncer;
  }

  /** Ends it when its pod is to be there no more. */
  async function endSyncer({ namespace }: Place, syncer: PodProcess): Promise<void> {
    await until('there is to be no pod', async () => (await sizeOf(namespace)) === 0);
    await syncer.end();
    const pod = { namespace, name: `${operand}-0` };
    await ground.client.delete(pods, pod, { signal, gracePeriodSeconds: 0 });
  }

  async function sizeOf(namespace: string): Promise<number | undefined> {
    return (await ground.get(statefulSets, namespace, operand))?.spec?.replicas;
  }

  async function untilReadiness({ namespace }: Place, expected: string): Promise<string> {
    const is = (status: ClusterSync['status']): boolean => readiness(status) === expected;
    return JSON.stringify(await ground.untilSync(namespace, expected, is));
  }

  async function claims(): Promise<{ holder: string | undefined; name: string }[]> {
    const { items } = await ground.client.list(leases, { namespace: 'default', signal });
    return items
      .filter(({ metadata }) => metadata.name.startsWith('clustersync-destination-'))
      .map(({ metadata, spec }) => ({ holder: spec?.holderIdentity, name: metadata.name }));
  }

  async function untilEvent({ namespace }: Place, expected: string): Promise<void> {
    await until(`the event ${expected}`, async () => {
      const { items } = await ground.client.list(events, { namespace, signal });
      return items.some(({ type, reason }) => `${type ?? ''} ${reason ?? ''}` === expected);
    });
  }

  it('is who has logged in there: one that names it without the password keeps nobody waiting', async () => {
    const right = destination.uri('syncer');
    const wrong = new URL(right);
    wrong.password = 'not-the-password';
    const attacker = await newSync(wrong.href);
    await using refused = await runSyncer(attacker);
    await untilReadiness(attacker, 'False AuthenticationFailed');
    assert.deepEqual(await claims(), []);

    const owner = await newSync(right);
    await using syncer = await runSyncer(owner);
    await untilReadiness(owner, 'True InSync');
    const held = await claims();
    assert.deepEqual(
      held.map(({ holder }) => holder),
      [`${owner.namespace}/orders`],
    );
    await endSyncer(attacker, refused);
    const told = await untilReadiness(attacker, 'False DestinationInUse');
    assert.doesNotMatch(told, new RegExp(owner.namespace));

    // An administrator breaks the claim: nobody has the destination before the pods of the former holder are gone.
    await setDestination(attacker, right);
    const mark = `clustersync.dev/break-claim-of=${owner.namespace}/orders`;
    await ground.kubectl('annotate', 'lease', held[0]?.name ?? '', '--namespace', 'default', mark);
    await untilReadiness(owner, 'False DestinationClaimBroken');
    await untilEvent(owner, 'Warning DestinationClaimBroken');
    await restartOperator();
    await untilReadiness(owner, 'False DestinationClaimBroken');
    await untilReadiness(attacker, 'False DestinationInUse');
    assert.equal(await sizeOf(attacker.namespace), 0);
    assert.deepEqual(await claims(), held);
    // Someone who may change the pod keeps it in the API: that it has ended is what counts.
    const pod = { namespace: owner.namespace, name: `${operand}-0` };
    const finalizers = ['example.dev/kept'];
    await ground.client.patch(pods, pod, { metadata: { finalizers } }, { signal });
    await endSyncer(owner, syncer);
    const status = { phase: 'Succeeded' };
    await ground.client.patch(pods, pod, { status }, { signal, subresource: 'status' });

    // The one that has logged in gets it, and continues with what exists.
    await using other = await runSyncer(attacker);
    await untilReadiness(attacker, 'True InSync');
    await untilEvent(attacker, 'Normal DestinationTakenOver');
    await untilEvent(owner, 'Warning DestinationTakenOver');
    await untilReadiness(owner, 'False DestinationInUse');
    assert.deepEqual(
      (await claims()).map(({ holder }) => holder),
      [`${attacker.namespace}/orders`],
    );
    assert.equal(await sizeOf(owner.namespace), 0);
    await other.end();
  });

  it('is not taken by one that is suspended, which loses its pods when another one has it', async () => {
    await using set = await startReplicaSet({ members: 1, syncerRoles: 'destination' });
    const right = set.uri('syncer');
    const wrong = new URL(right);
    wrong.password = 'not-the-password';
    const suspended = await newSync(wrong.href);
    await using refused = await runSyncer(suspended);
    await untilReadiness(suspended, 'False AuthenticationFailed');
    await ground.patchSync(suspended.namespace, { suspend: true });
    await setDestination(suspended, right);
    await operator.passes(2);
    assert.equal(await sizeOf(suspended.namespace), 1);

    const owner = await newSync(right);
    await using syncer = await runSyncer(owner);
    await untilReadiness(owner, 'True InSync');
    await endSyncer(suspended, refused);
    await untilReadiness(suspended, 'False DestinationInUse');
    await untilReadiness(owner, 'True InSync');
    await syncer.end();
  });

  /** A deployment of its own, and the address at whose usual port it is found. */
  async function newDeployment(
    stack: AsyncDisposableStack,
  ): Promise<{ readonly set: ReplicaSet; readonly address: string }> {
    const set = stack.use(await startReplicaSet({ members: 1, syncerRoles: 'destination' }));
    const address = await ground.reserveAddress();
    stack.use(await TcpProxy.startAt(address, 27_017, set.members[0]?.port ?? 0));
    return { set, address };
  }

  function named(set: ReplicaSet, name: string): string {
    const uri = new URL(set.uri('syncer'));
    uri.host = `${name}:27017`;
    return uri.href;
  }

  for (const name of ['db.shop', 'mongo-0.mongo']) {
    it(`is to what ${name} leads a pod to, and keeps nobody from what it leads others to`, async function () {
      if (process.getuid?.() !== 0) skipBecause(this, 'only root may give a process other names');
      await using stack = new AsyncDisposableStack();
      const [shadow, real] = [await newDeployment(stack), await newDeployment(stack)];
      const neighbour = await newSync(named(shadow.set, name));
      stack.use(await runSyncer(neighbour, { [name]: shadow.address }));
      await untilReadiness(neighbour, 'True InSync');
      const owner = await newSync(named(real.set, name));
      stack.use(await runSyncer(owner, { [name]: real.address }));
      await untilReadiness(owner, 'True InSync');
      await untilReadiness(neighbour, 'True InSync');
    });
  }

  it('is that of one of two whose db.shop is one deployment, and is not begun again and again', async function () {
    if (process.getuid?.() !== 0) skipBecause(this, 'only root may give a process other names');
    await using stack = new AsyncDisposableStack();
    const { set, address } = await newDeployment(stack);
    const owner = await newSync(named(set, 'db.shop'));
    stack.use(await runSyncer(owner, { 'db.shop': address }));
    await untilReadiness(owner, 'True InSync');
    for (const name of ['db.shop', 'db.shop.svc']) {
      const second = await newSync(named(set, name));
      await using syncer = await runSyncer(second, { [name]: address });
      await endSyncer(second, syncer);
      await untilReadiness(second, 'False DestinationInUse');
      const ended = await ground.get(statefulSets, second.namespace, operand);
      await operator.passes(2);
      const now = await ground.get(statefulSets, second.namespace, operand);
      assert.equal(now?.metadata.generation, ended?.metadata.generation);
      const { namespace } = owner;
      const held = (await claims()).filter(({ holder }) => holder === `${namespace}/orders`);
      assert.equal(held.length, 1);
      await untilReadiness(owner, 'True InSync');
    }
  });

  it('never shows a piece of a password that was not escaped', async () => {
    const uris = [
      'mongodb://user:x@not-the-password/word@host/',
      'mongodb://user:x@not-the-password?word=1@host/',
      'mongodb://user:x@not-the-password#word/x@host/',
      'mongodb://user:x:not-the-password@host/',
      'mongodb://user:not-the-password',
    ];
    await Promise.all(
      uris.map(async (uri) => {
        const place = await newSync(uri);
        const status = await untilReadiness(place, 'False InvalidConfiguration');
        await untilEvent(place, 'Warning InvalidConfiguration');
        assert.equal(await sizeOf(place.namespace), undefined);
        const { namespace } = place;
        const said = [
          status,
          await ground.client.list(events, { namespace, signal }),
          await ground.client.list(leases, { namespace: 'default', signal }),
        ];
        assert.doesNotMatch(JSON.stringify(said), /not-the-password/);
      }),
    );
  });
});
