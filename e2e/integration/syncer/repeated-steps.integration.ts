import assert from 'node:assert/strict';
import { mock } from 'node:test';
import { MongoClient, MongoNetworkError } from 'mongodb';
import { createClusterClient, type ClusterClient } from '../../../mongo/cluster-client.ts';
import { deploymentOf } from '../../../mongo/deployment.ts';
import { runCommand } from '../../../mongo/run-command.ts';
import { createLogger } from '../../../service/logger.ts';
import { Destination } from '../../../syncer/destination/destination.ts';
import { SyncMonitor } from '../../../syncer/monitor/monitor.ts';
import { parseStartBody } from '../../../syncer/options/command-bodies.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { forward } from './cluster-pair.ts';

describe('a step that writes to the destination, and has failed', () => {
  let proxied: ProxiedReplicaSet;
  before(async () => {
    proxied = await startProxiedReplicaSet({ members: 1 });
  });
  after(async () => {
    await proxied[Symbol.asyncDispose]();
  });

  const insertLate = { insert: 'items', documents: [{ _id: 1, text: 'late' }] };
  const buildLate = { createIndexes: 'items', indexes: [{ key: { text: 1 }, name: 'late' }] };
  for (const kind of ['step', 'transfer'] as const) {
    for (const write of [insertLate, buildLate]) {
      const [command = ''] = Object.keys(write);
      it(`is repeated when the server has ended what it had sent before: ${kind}, ${command}`, async () => {
        await using admin = new MongoClient(proxied.set.uri('admin'));
        await admin.db('shop').dropDatabase();
        await using client = createClusterClient({
          uri: proxied.set.uri('syncer'),
          option: 'cluster1',
          appName: 'clustersync syncer syncer',
        });
        const logged: string[] = [];
        const signal = AbortSignal.timeout(240_000);
        const destination = destinationOf(client, signal, (line) => logged.push(line));
        const shop = client.decoded.db('shop');
        await runCommand(shop, { create: 'items' }, { signal });
        for (const proxy of proxied.proxies) proxy.strandAt((bytes) => bytes.includes('late'));

        const items = admin.db('shop').collection('items');
        const seen: (readonly [documents: number, indexes: number])[] = [];
        const givenUp = new AbortController();
        const repeated = destination[kind]('test', async (attempt) => {
          if (attempt === 0) {
            await assert.rejects(runCommand(shop, write, { signal: givenUp.signal }));
            throw new MongoNetworkError('the connection was lost');
          }
          seen.push([await items.countDocuments(), (await items.indexes()).length]);
        });
        try {
          await until('it is held', () => proxied.proxies.some(({ stranded }) => stranded > 0));
          givenUp.abort();
          await until(
            'it says that it waits, or is repeated',
            () =>
              seen.length > 0 || logged.some((line) => line.includes('waiting for earlier writes')),
          );
          assert.deepEqual(seen, []);
        } finally {
          for (const proxy of proxied.proxies) proxy.release();
        }
        await repeated;
        assert.deepEqual(seen, [command === 'insert' ? [1, 1] : [0, 2]]);
      });
    }
  }
});

describe('what was done under a primary that is gone', () => {
  let set: ReplicaSet;
  before(async () => {
    set = await startReplicaSet({ members: 3 });
  });
  after(async () => {
    await set.stop();
  });

  function connect(): ClusterClient {
    return createClusterClient({
      uri: set.uri('syncer'),
      option: 'cluster1',
      appName: 'clustersync syncer syncer',
    });
  }

  /** Makes another member primary; the client knows it then, so that no error of its next command tells it. */
  async function changePrimary(client: ClusterClient): Promise<void> {
    const primary = async (): Promise<unknown> => {
      const { me, isWritablePrimary } = await client.decoded.db('admin').command({ hello: 1 });
      return isWritablePrimary === true ? me : undefined;
    };
    const former = await primary();
    await set.stepDown();
    await until('the client knows the new primary', async () => {
      const now = await primary().catch(() => undefined);
      return now !== undefined && now !== former;
    });
  }

  it('is done again, where a step was repeated', async () => {
    await using client = connect();
    const destination = destinationOf(client, AbortSignal.timeout(240_000), () => undefined);
    const attempts: number[] = [];
    await destination.step('test', async (attempt) => {
      attempts.push(attempt);
      if (attempt === 0) throw new MongoNetworkError('the connection was lost');
      if (attempt === 1) await changePrimary(client);
    });
    assert.deepEqual(attempts.slice(0, 2), [0, 1]);
    assert.ok(attempts.length > 2, attempts.join());
  });

  it('is not relied on, where earlier writes are waited for', async () => {
    await using client = connect();
    const destination = destinationOf(client, AbortSignal.timeout(240_000), () => undefined);
    const waits = mock.method(destination, 'awaitEarlierWrites', async () => {
      await changePrimary(client);
    });
    await assert.rejects(destination.settleEarlierWrites(), { name: 'ClusterUnreachable' });
    waits.mock.restore();
    await destination.settleEarlierWrites();
  });
});

function destinationOf(
  client: ClusterClient,
  signal: AbortSignal,
  log: (line: string) => void,
): Destination {
  return new Destination({
    deployment: deploymentOf(client, { kind: 'replicaSet', shards: [] }),
    options: parseStartBody(forward),
    monitor: new SyncMonitor(),
    logger: createLogger('syncer', 'info', log),
    requireLease: () => undefined,
    warn: () => Promise.resolve(),
    // Nothing here leaves any.
    leftIndexes: undefined as never,
    signal,
  });
}
