import assert from 'node:assert/strict';
import { CliProcess, type CliOptions } from '../../ground/cli-process.ts';
import { until } from '../../ground/until.ts';
import { useShardedPair } from '../syncer/sharded-pair.ts';

describe('clustersync run from a sharded cluster', () => {
  const pair = useShardedPair(1, 2);

  async function run(args: readonly string[]): Promise<CliProcess> {
    const files: CliOptions['files'] = {
      source: pair.source.uri('syncer'),
      destination: pair.destination.cluster.uri('syncer'),
    };
    const given = ['run', '--source-file', '{source}', '--destination-file', '{destination}'];
    return await CliProcess.start([...given, ...args], { files });
  }

  it('has a syncer for each shard, continues after all of them were killed, and pauses each', async () => {
    const { client } = pair.source;
    await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
    const orders = Array.from({ length: 400 }, (_, n) => ({ n, text: 'x'.repeat(500) }));
    await client.db('shop').collection('orders').insertMany(orders);
    {
      await using tried = await run(['--dry-run', '--output', 'yaml']);
      assert.equal((await tried.end()).exitCode, 0, await tried.errors());
      assert.match(await tried.output(), /^syncers: 2$/m);
    }
    const internal = pair.destination.client.db('clustersync_internal');
    const stored = async () => await internal.collection<{ _id: string }>('sync').findOne();
    {
      await using killed = await run(['--commit-when-caught-up']);
      await until('the sync is recorded', async () => (await stored()) !== null);
      await killed.kill('SIGKILL');
    }
    {
      await using paused = await run(['--no-verify']);
      assert.equal((await paused.end()).exitCode, 3, await paused.errors());
      const { instances, paused: ids } = (await stored()) as unknown as {
        readonly instances: readonly string[];
        readonly paused: readonly string[];
      };
      assert.equal(instances.length, 2);
      assert.deepEqual([...ids].sort(), [...instances].sort());
    }
    // What the verifier says of shards, its own tests hold; here it would take half of the time.
    await using last = await run(['--commit-when-caught-up', '--no-verify']);
    assert.equal((await last.end()).exitCode, 0, await last.errors());
    assert.match(await last.output(), /^Committed\. Nothing was compared\.\n/);
    await pair.assertEqual();
  });
});
