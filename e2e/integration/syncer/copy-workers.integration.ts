import assert from 'node:assert/strict';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { fittingCopyWorkers } from '../../../syncer/destination/destination.ts';
import { useClusterPair } from './cluster-pair.ts';
import { withUser } from './source-user.ts';

describe('how many partitions and collections are copied side by side', () => {
  const pair = useClusterPair();

  it('goes by the cores of the destination', async () => {
    const { system } = await pair.destination.client.db('admin').command({ hostInfo: 1 });
    const cores = Number((system as { readonly numCores: unknown }).numCores);
    assert.equal(
      await workersFor(pair.destination.set.uri('syncer')),
      Math.min(4, Math.max(2, cores)),
    );
  });

  it('is four where the user may not ask for them', async () => {
    await using user = await withUser(pair.destination, []);
    assert.equal(await workersFor(user.uri), 4);
  });
});

async function workersFor(uri: string): Promise<number> {
  await using cluster = createClusterClient({
    uri,
    option: 'cluster1',
    appName: 'clustersync syncer syncer',
  });
  return await fittingCopyWorkers(cluster, AbortSignal.timeout(60_000));
}
