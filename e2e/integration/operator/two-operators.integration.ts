import assert from 'node:assert/strict';
import {
  events,
  leases,
  namespaces,
  statefulSets,
} from '../../../operator/kube/builtin-resources.ts';
import { ownershipLeaseName } from '../../../operator/leases/owned-namespaces.ts';
import { OperatorProcess } from '../../ground/operator-process.ts';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround } from './operator-ground.ts';

const { signal } = new AbortController();
/** The Lease of a namespace lasts four times as long. */
const leaseDurationSeconds = 3;

/** Each with an image of its own, so that what it makes can be told apart. */
const images = {
  first: 'example.dev/clustersync:first',
  second: 'example.dev/clustersync:second',
} as const;
type Name = keyof typeof images;

describe('two operators that watch the same namespaces, on a real API server', () => {
  let ground: OperatorGround;
  const stack = new AsyncDisposableStack();

  before(async () => {
    ground = stack.use(await OperatorGround.start());
  });

  after(async () => {
    await stack.disposeAsync();
  });

  async function start(
    name: Name,
    options: object = {},
    port = ground.server.port,
  ): Promise<OperatorProcess> {
    const operator = await OperatorProcess.start({
      kubeconfig: ground.server.config(port, name).exportConfig(),
      options: {
        ...{ leaseDurationSeconds, leaseName: name, operandImage: images[name], logLevel: 'info' },
        // A leader has two thirds of the duration to renew, or ends: too little of so short a one on a busy machine.
        leaderElect: 'false',
        ...options,
      },
    });
    await operator.untilReady();
    return operator;
  }

  async function untilOwned(
    operator: OperatorProcess,
    namespace: string,
    expected: '0' | '1',
  ): Promise<void> {
    const series = `clustersync_operator_namespace_owned{namespace="${namespace}"} ${expected}`;
    try {
      await until(series, async () => (await operator.metrics()).split('\n').includes(series));
    } catch (error) {
      throw new Error(`${String(error)}: ${await operator.log()}`, { cause: error });
    }
  }

  async function holder(namespace: string): Promise<string | undefined> {
    const lease = await ground.get(leases, namespace, ownershipLeaseName);
    return lease?.spec?.holderIdentity ?? undefined;
  }

  async function imageOf(namespace: string): Promise<string | undefined> {
    const { spec } = await ground.untilMade(namespace, 'orders-syncer');
    return spec?.template.spec?.containers[0]?.image;
  }

  /** What an operator has written in a namespace, other than its Lease and events. */
  async function writesOf(name: Name, namespace: string, sinceMs = 0): Promise<string[]> {
    const writes = await ground.server.auditedWrites();
    return writes.flatMap((write) =>
      write.user === name &&
      write.namespace === namespace &&
      write.receivedMs > sinceMs &&
      !['leases', 'events'].includes(write.resource)
        ? [`${write.resource} ${write.name}`]
        : [],
    );
  }

  it('do not fight: one works there, the other says so; it takes over from one that is gone, and keeps what it has', async () => {
    const { namespace } = await ground.newPlace();
    await using second = await start('second');
    {
      await using first = await start('first');
      // Either may be the first to see it: the second is to be the one that keeps away.
      second.kill('SIGSTOP');
      await ground.createSync(namespace);
      await untilOwned(first, namespace, '1');
      assert.equal(await imageOf(namespace), images.first);
      second.kill('SIGCONT');
      await untilOwned(second, namespace, '0');
      assert.equal(await holder(namespace), 'default/first');
      await until('the other one says so', async () => {
        const { items } = await ground.client.list(events, { namespace, signal });
        return items.some(
          ({ reason, note, regarding }) =>
            reason === 'OtherOperator' &&
            regarding?.name === 'orders' &&
            note?.includes('default/first works here') === true,
        );
      });
      const { metadata } = await ground.untilMade(namespace, 'orders-syncer');
      await ground.patchSync(namespace, { suspend: true });
      await ground.untilSync(namespace, 'it is suspended', ({ observedGeneration }) => {
        return observedGeneration === 2;
      });
      await ground.createSync(namespace, await ground.newDestination(namespace, 'more'), 'more');
      await ground.untilMade(namespace, 'more-syncer');
      assert.deepEqual(await writesOf('second', namespace), []);
      const after = await ground.untilMade(namespace, 'orders-syncer');
      assert.equal(after.metadata.uid, metadata.uid);
      first.kill('SIGKILL');
      await first.ended();
    }
    await untilOwned(second, namespace, '1');
    assert.equal(await holder(namespace), 'default/second');
    await ground.patchSync(namespace, { suspend: false });
    await until('the other one works there', async () => {
      return (await imageOf(namespace)) === images.second;
    });
    const fromMs = Date.now();
    await using first = await start('first');
    await untilOwned(first, namespace, '0');
    assert.deepEqual(await writesOf('first', namespace, fromMs), []);
  });

  it('write nothing any more in a namespace that was lost while they were frozen', async () => {
    const { namespace } = await ground.newPlace();
    // It ends when it wakes up as the leader that it no longer is.
    const options = { leaderElect: 'true', leaseDurationSeconds: 12 };
    await using first = await start('first', options);
    await ground.createSync(namespace);
    await untilOwned(first, namespace, '1');
    await ground.untilMade(namespace, 'orders-syncer');
    await using second = await start('second');
    await untilOwned(second, namespace, '0');
    first.kill('SIGSTOP');
    await untilOwned(second, namespace, '1');
    await ground.createSync(namespace, await ground.newDestination(namespace, 'more'), 'more');
    await ground.untilMade(namespace, 'more-syncer');
    const wokenMs = Date.now();
    first.kill('SIGCONT');
    await first.ended();
    await using next = await start('first', options);
    await untilOwned(next, namespace, '0');
    assert.deepEqual(await writesOf('first', namespace, wokenMs), []);
    assert.equal(await holder(namespace), 'default/second');
  });

  it('are replaced by the next process of the same installation at once', async () => {
    const { namespace } = await ground.newPlace();
    const options = { leaderElect: 'true', leaseDurationSeconds: 60, leaseName: 'kept' };
    {
      await using first = await start('first', options);
      await ground.createSync(namespace);
      await untilOwned(first, namespace, '1');
      first.kill();
      assert.equal(await first.ended(), 0);
    }
    assert.equal(await holder(namespace), 'default/kept', 'it is not released');
    await using next = await start('first', options);
    await untilOwned(next, namespace, '1');
  });

  it('work in a namespace that is being deleted, where nobody can get a Lease', async () => {
    const { namespace } = await ground.newPlace();
    const options = { leaseName: 'terminating' };
    {
      await using first = await start('first', options);
      await ground.createSync(namespace);
      await untilOwned(first, namespace, '1');
      await ground.untilMade(namespace, 'orders-syncer');
      first.kill();
      await first.ended();
    }
    await ground.client.delete(namespaces, { name: namespace }, { signal });
    await ground.client.delete(leases, { namespace, name: ownershipLeaseName }, { signal });
    await using next = await start('first', options);
    await untilOwned(next, namespace, '1');
    assert.equal(await holder(namespace), undefined);
  });

  it('work in such a namespace also after another one has ended, which had the Lease', async () => {
    const { namespace } = await ground.newPlace();
    const ref = { namespace, name: ownershipLeaseName };
    const spec = { holderIdentity: 'another', leaseDurationSeconds: 3_600 };
    await ground.client.create(leases, { metadata: ref, spec }, { signal });
    await using operator = await start('first', { leaseName: 'survivor' });
    await ground.createSync(namespace);
    await untilOwned(operator, namespace, '0');
    await ground.client.delete(namespaces, { name: namespace }, { signal });
    await ground.client.delete(leases, ref, { signal });
    await untilOwned(operator, namespace, '1');
    assert.equal(await holder(namespace), undefined);
  });

  it('continue when they come too late to renew a Lease that nobody else has taken', async () => {
    const { namespace } = await ground.newPlace();
    await using proxy = await TcpProxy.start(ground.server.port);
    // With a leader, a process that comes so late ends.
    const options = { leaseName: 'late', leaderElect: 'false' };
    await using operator = await start('first', options, proxy.port);
    await ground.createSync(namespace);
    await untilOwned(operator, namespace, '1');
    await ground.untilMade(namespace, 'orders-syncer');
    operator.kill('SIGSTOP');
    await until('its Lease has lapsed', async () => {
      const lease = await ground.get(leases, namespace, ownershipLeaseName);
      const renewedMs = Date.parse(lease?.spec?.renewTime ?? '');
      return Date.now() - renewedMs > (4 * leaseDurationSeconds + 1) * 1_000;
    });
    // What is answered in no time needs no time to be asked.
    proxy.slow(200);
    operator.kill('SIGCONT');
    await ground.patchSync(namespace, { suspend: true });
    await ground.untilSync(namespace, 'it continues', ({ observedGeneration }) => {
      return observedGeneration === 2;
    });
    await untilOwned(operator, namespace, '1');
  });

  it('keep away from a namespace whose Lease a tenant writes, and from no other', async () => {
    const [theirs, other] = [await ground.newPlace(), await ground.newPlace()];
    const ref = { namespace: theirs.namespace, name: ownershipLeaseName };
    const spec = { holderIdentity: 'a tenant', leaseDurationSeconds: 3_600 };
    await ground.client.create(leases, { metadata: ref, spec }, { signal });
    await using operator = await start('first', { leaseName: 'of-tenants' });
    await ground.createSync(theirs.namespace);
    await ground.createSync(other.namespace);
    await untilOwned(operator, theirs.namespace, '0');
    await untilOwned(operator, other.namespace, '1');
    await ground.untilMade(other.namespace, 'orders-syncer');
    assert.equal(await ground.get(statefulSets, theirs.namespace, 'orders-syncer'), undefined);
    await operator.untilReady();
    await ground.client.delete(leases, ref, { signal });
    await untilOwned(operator, theirs.namespace, '1');
    await ground.untilMade(theirs.namespace, 'orders-syncer');
  });
});
