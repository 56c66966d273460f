import assert from 'node:assert/strict';
import { until } from '../../ground/until.ts';
import { useClusterPair } from './cluster-pair.ts';
import { startProxied } from './proxied-instances.ts';

describe('a reset that another instance takes over', () => {
  const pair = useClusterPair();

  it('waits for what the one before has sent, which would remove the next sync', async () => {
    const items = pair.source.client.db('shop').collection<{ _id: number }>('items');
    await items.insertMany(Array.from({ length: 100 }, (_, _id) => ({ _id })));
    await using proxied = await startProxied(pair);
    const { instances } = proxied;
    await instances.start();
    const { coordinator, proxy, other } = await proxied.roles();
    proxy.strandAt((bytes) => bytes.includes('\u0002drop\0'));
    await instances.send('reset', { destination: 'Clean' });
    await until('a drop is held', () => proxy.stranded > 0);
    await coordinator.kill('SIGSTOP');

    const { warnings } = await other.waitFor(
      ({ state, warnings: told }) =>
        state === 'IDLE' || (told ?? []).some((one) => one.includes('earlier connections')),
    );
    assert.match(String(warnings), /a server has not completed [1-9][0-9]* earlier connections/);
    proxy.release();
    await coordinator.kill();
    await other.waitFor(({ state }) => state === 'IDLE');
    await coordinator.restart();
    await instances.start();
    await instances.waitFor(({ canCommit }) => canCommit);
    await instances.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  });
});
