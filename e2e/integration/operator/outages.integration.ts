import assert from 'node:assert/strict';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { leases, statefulSets } from '../../../operator/kube/builtin-resources.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { OperatorProcess } from '../../ground/operator-process.ts';
import { SyncTools } from '../../ground/sync-tool/sync-tools.ts';
import { TcpProxy } from '../../ground/tcp-proxy.ts';
import { until } from '../../ground/until.ts';
import { smallestSpec } from './custom-resources.ts';
import { OperatorGround, readiness } from './operator-ground.ts';

const { signal } = new AbortController();
const leaseName = 'outages';
const count = 4;
const manyCount = 24;
/** Where a lease is to run out: no longer than needed, but longer than a busy machine lets a process wait. */
const leaseDurationSeconds = 20;

describe('operators in processes of their own, on a real API server', () => {
  let ground: OperatorGround;
  let tools: SyncTools;
  const namespaces: string[] = [];
  const stack = new AsyncDisposableStack();

  before(async () => {
    ground = stack.use(await OperatorGround.start());
    const addresses: string[] = [];
    for (let index = 0; index < count; index++) {
      const { namespace, address } = await ground.newPlace();
      namespaces.push(namespace);
      addresses.push(address);
    }
    const times = { copyMs: 100, turnMs: 100 };
    tools = stack.use(
      await SyncTools.start({ dialect: 'contract', addresses, port: 27182, ...times }),
    );
    await using first = await start('first');
    await Promise.all(
      namespaces.map(async (namespace, index) => {
        await ground.createSync(namespace);
        const set = await ground.untilMade(namespace, 'orders-syncer');
        await ground.runPod(set, addresses[index] ?? '');
      }),
    );
    await untilAll('True InSync');
    first.kill();
    await first.ended();
  });

  after(async () => {
    await stack.disposeAsync();
  });

  async function start(
    user: 'first' | 'second',
    { leaseDurationSeconds = 15, port = ground.server.port } = {},
  ): Promise<OperatorProcess> {
    const kubeconfig = ground.server.config(port, user).exportConfig();
    return await OperatorProcess.start({
      kubeconfig,
      options: { leaseName, leaseDurationSeconds },
    });
  }

  async function holder(): Promise<string> {
    const lease = await ground.get(leases, 'default', leaseName);
    return lease?.spec?.holderIdentity ?? '';
  }

  /** @param formerHolder - one that is gone, and whose time may not be over yet. */
  async function untilLed(what: string, formerHolder: string): Promise<string> {
    let found = '';
    await until(what, async () => {
      found = await holder();
      return found !== '' && found !== formerHolder;
    });
    return found;
  }

  async function ask(state: 'Paused' | 'Running'): Promise<void> {
    await Promise.all(
      namespaces.map(async (namespace) => {
        await ground.patchSync(namespace, { state });
      }),
    );
  }

  async function untilAll(expected: string): Promise<void> {
    await Promise.all(
      namespaces.map(async (namespace) => {
        await ground.untilSync(namespace, expected, (status) => readiness(status) === expected);
      }),
    );
  }

  /** Every tool was sent these, once each, and refused none. */
  function assertCommands(from: number, names: readonly string[]): void {
    const sent = tools.commands.slice(from);
    const byTool = Map.groupBy(sent, ({ address }) => address);
    assert.equal(byTool.size, count);
    for (const commands of byTool.values()) {
      assert.deepEqual(
        commands.map(({ name, isTaken }) => [name, isTaken]),
        names.map((name) => [name, true]),
      );
    }
  }

  it('continues after broken connections and an outage of the API server, and releases the lease at its end', async () => {
    await using proxy = await TcpProxy.start(ground.server.port);
    // It is to keep its lease until the API server is there again, however long that takes to start.
    await using operator = await start('first', { port: proxy.port, leaseDurationSeconds: 90 });
    const before = await untilLed('it leads', '');
    const from = tools.commands.length;
    proxy.cut();
    await ask('Paused');
    await untilAll('True Paused');
    await ground.server.stopApi();
    await ground.server.startApi();
    await ask('Running');
    await untilAll('True InSync');
    assertCommands(from, ['pause', 'resume']);
    assert.equal(await holder(), before, 'it is the same process that leads');

    // The connections that it has are dead, and nobody says so: it leads on by new ones.
    proxy.strand();
    const accepted = proxy.accepted;
    await until('there are new connections', () => proxy.accepted > accepted);
    const renewed = async () => (await ground.get(leases, 'default', leaseName))?.spec?.renewTime;
    const renewedBefore = await renewed();
    await until('the lease is renewed', async () => (await renewed()) !== renewedBefore);
    assert.equal(await holder(), before);

    operator.kill();
    assert.equal(await operator.ended(), 0);
    assert.equal(await holder(), '');
  });

  it('takes over from one that is killed in the middle of its work, and nothing is sent twice', async () => {
    const gone = await holder();
    await using first = await start('first', { leaseDurationSeconds });
    const before = await untilLed('the first leads', gone);
    await using second = await start('second', { leaseDurationSeconds });
    await second.untilReady();
    const from = tools.commands.length;
    await ask('Paused');
    await until('the work has begun', () => tools.commands.length > from);
    first.kill('SIGKILL');
    assert.equal(await first.ended(), null, 'it has not ended by itself');
    assert.equal(await holder(), before);
    await untilLed('the second leads', before);
    await untilAll('True Paused');
    assertCommands(from, ['pause']);
    await ask('Running');
    await untilAll('True InSync');
    assertCommands(from, ['pause', 'resume']);
  });

  it('is alive, but not ready, while it is on standby and cut off from the API server', async () => {
    const gone = await holder();
    await using leader = await start('first', { leaseDurationSeconds });
    await untilLed('the other leads', gone);
    await using proxy = await TcpProxy.start(ground.server.port);
    await using operator = await start('second', { leaseDurationSeconds, port: proxy.port });
    await operator.untilReady();
    // Nobody says anything: only what is asked and not answered tells.
    proxy.freeze();
    await until('it is not ready', async () => !(await operator.isGood('readyz')));
    assert.ok(await operator.isGood('healthz'));
    await until('the other is ready', async () => await leader.isGood('readyz'));
    proxy.heal();
    await operator.untilReady();
  });

  it('writes nothing any more when it was frozen in the middle of its work, and another one leads', async () => {
    const gone = await holder();
    await using proxy = await TcpProxy.start(ground.server.port);
    await using first = await start('first', { leaseDurationSeconds, port: proxy.port });
    const before = await untilLed('the first leads', gone);
    await using second = await start('second', { leaseDurationSeconds });
    await second.untilReady();
    const from = tools.commands.length;
    // All workers are busy with new ones, each of which takes several writes: they continue with the next when it wakes up.
    // Each answer comes late, so that the work cannot be over before it is frozen, however the machine divides its cores.
    const { namespace } = await ground.newPlace();
    const made = async (): Promise<number> =>
      (await ground.client.list(statefulSets, { namespace, signal })).items.length;
    const all = await Promise.all(
      Array.from({ length: manyCount }, async (_, index) => {
        const name = `many-${index}`;
        const spec = { ...smallestSpec, ...(await ground.newDestination(namespace, name)) };
        return { metadata: { namespace, name }, spec };
      }),
    );
    proxy.slow(1_000);
    await Promise.all(
      all.map((object) => ground.client.create<KubeObject>(clusterSyncs, object, { signal })),
    );
    await until('it is busy', async () => (await made()) > 2);
    first.kill('SIGSTOP');
    const frozenMs = Date.now();
    assert.equal(first.hasEnded, false);
    assert.equal(await holder(), before);
    assert.ok((await made()) < manyCount - 8);
    await ask('Paused');
    await untilLed('the second leads', before);
    await untilAll('True Paused');
    await until('the second has made the rest', async () => (await made()) === manyCount);
    const takenOver = (await ground.server.auditedWrites()).find(
      ({ user, resource, receivedMs }) =>
        user === 'second' && resource === 'leases' && receivedMs > frozenMs,
    );
    assert.ok(takenOver);
    await ask('Running');
    first.kill('SIGCONT');
    assert.equal(await first.ended(), 1);
    await untilAll('True InSync');
    const late = (await ground.server.auditedWrites()).filter(
      ({ user, receivedMs }) => user === 'first' && receivedMs > takenOver.receivedMs,
    );
    assert.deepEqual(late, []);
    assertCommands(from, ['pause', 'resume']);
  });
});
