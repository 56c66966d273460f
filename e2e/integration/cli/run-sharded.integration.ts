import assert from 'node:assert/strict';
import { CliProcess, type CliOptions } from '../../ground/cli-process.ts';
import { until } from '../../ground/until.ts';
import { useMergedPair } from '../syncer/merged-pair.ts';
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

describe('clustersync run from a sharded cluster to a replica set', () => {
  const pair = useMergedPair(2);

  it('names what is left out, finds documents of one _id, and moves the rest with an equal verdict', async () => {
    const files: CliOptions['files'] = {
      source: pair.source.uri('syncer'),
      destination: pair.destination.set.uri('syncer'),
    };
    const sides = ['--source-file', '{source}', '--destination-file', '{destination}'];
    const start = async (command: string, ...args: readonly string[]): Promise<CliProcess> =>
      await CliProcess.start([command, ...sides, ...args], { files });
    await pair.halves('shop.orders', 100);
    const orders = pair.source.client.db('shop').collection<{ _id: number; k: number }>('orders');
    await orders.insertMany(Array.from({ length: 200 }, (_, k) => ({ _id: k, k })));
    const second = { _id: 7, k: 150 };
    await orders.insertOne(second);
    {
      await using checked = await start('check', '--detect-duplicate-ids');
      assert.equal((await checked.end()).exitCode, 0, await checked.errors());
      const text = (await checked.output()).replaceAll(/\s+/g, ' ');
      assert.match(text, /these are not sharded: shop\.orders/);
      assert.match(text, /shop\.orders has several documents with the _id 7, on different shards/);
    }
    await orders.deleteOne(second);
    await using run = await start('run', '--detect-duplicate-ids', '--commit-when-caught-up');
    assert.equal((await run.end()).exitCode, 0, await run.errors());
    assert.match(await run.output(), /equal/i);
    await pair.assertEqual();
    const copies = pair.destination.client.db('shop').collection('orders');
    assert.equal(await copies.countDocuments(), 200);
  });
});
