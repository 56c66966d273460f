import assert from 'node:assert/strict';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { forward, namespacesOf } from './cluster-pair.ts';
import { startInstances, type Instances } from './instances.ts';
import { useShardedPair } from './sharded-pair.ts';

describe('reset of several instances', () => {
  const pair = useShardedPair(2, 2);
  const [first, second] = ['from-0', 'from-1'];

  beforeEach(async () => {
    await pair.reset();
    const { client } = pair.source;
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'shop', primaryShard: first });
    await admin.command({ shardCollection: 'shop.items', key: { _id: 'hashed' } });
    const rows = Array.from({ length: 500 }, (_, number) => ({ number, text: 'x'.repeat(100) }));
    await client.db('shop').collection('items').insertMany(rows);
    await client.db('shop').collection('plain').insertMany(rows.slice(0, 50));
  });

  async function startAfresh(instances: Instances): Promise<void> {
    await instances.start();
    const progresses = await instances.waitFor(({ canCommit }) => canCommit);
    const copied = progresses.map(
      ({ collectionCopy }) => collectionCopy?.estimatedCopiedBytes ?? 0,
    );
    const total = progresses[0]?.collectionCopy?.estimatedTotalBytes ?? 0;
    assert.ok(total > 0 && copied.reduce((sum, bytes) => sum + bytes, 0) >= total, copied.join());
    await instances.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  }

  const says = async (syncer: SyncerProcess, text: string): Promise<void> => {
    await syncer.waitFor(({ warnings }) => (warnings ?? []).some((one) => one.includes(text)));
  };

  it('waits for the one that was not given it, says so, and is done by all that were, also when killed', async () => {
    await using instances = await startInstances(pair);
    const [one, other] = instances.all;
    assert.ok(one && other);
    await instances.start();
    await instances.waitFor(({ canCommit }) => canCommit);
    await pair.destination.client.db('mine').collection('notes').insertOne({ by: 'user' });

    assert.equal((await one.post('reset', { destination: 'Clean' })).status, 200);
    await says(one, `${second} has not received reset`);
    await says(other, `${second} has not received reset`);
    assert.equal((await one.progress()).state, 'PAUSED');
    await other.waitFor(({ canCommit, state }) => !canCommit && state === 'RUNNING');
    const refused = await other.post('commit', {});
    assert.deepEqual([refused.status, refused.body['error']], [409, 'ResetUnderWay']);
    assert.ok((await namespacesOf(pair.destination)).includes('shop.items'));

    for (const syncer of instances.all) {
      await syncer.kill();
      await syncer.restart();
    }
    assert.equal((await one.progress()).state, 'PAUSED');
    assert.equal((await other.post('reset', { destination: 'Clean' })).status, 200);
    await other.kill();
    await other.restart();
    await instances.waitFor(({ state }) => state === 'IDLE');
    assert.deepEqual(await namespacesOf(pair.destination), ['mine.notes']);
    await pair.destination.client.db('mine').dropDatabase();
    await startAfresh(instances);
  });

  it('ends a start that one of them was not given', async () => {
    await using instances = await startInstances(pair);
    const [one, other] = instances.all;
    assert.ok(one && other);
    await one.start(forward);
    assert.equal((await one.post('reset', { destination: 'Clean' })).status, 200);
    const refused = await other.post('start', forward);
    assert.deepEqual([refused.status, refused.body['error']], [409, 'ResetUnderWay']);
    await says(one, `${second} has not received reset`);
    await instances.send('reset', { destination: 'Clean' });
    await instances.waitFor(({ state }) => state === 'IDLE');
    assert.deepEqual(await namespacesOf(pair.destination), []);
    await startAfresh(instances);
  });

  it('is shown until it is done by one that was not given the start, too', async () => {
    await using instances = await startInstances(pair);
    const [one, other] = instances.all;
    assert.ok(one && other);
    await one.start(forward);
    assert.equal((await other.progress()).state, 'IDLE');
    assert.equal((await other.post('reset', { destination: 'Clean' })).status, 200);
    await says(other, `${first} has not received reset`);
    const { state, info, canCommit } = await other.progress();
    assert.deepEqual([state, info, canCommit], ['PAUSED', null, false]);
    const refused = await other.post('start', forward);
    assert.deepEqual([refused.status, refused.body['error']], [409, 'ResetUnderWay']);
    await other.kill();
    await other.restart();
    assert.equal((await other.progress()).state, 'PAUSED');
    assert.equal((await one.post('reset', { destination: 'Clean' })).status, 200);
    await instances.waitFor(({ state }) => state === 'IDLE');
    await startAfresh(instances);
  });
});
