import assert from 'node:assert/strict';
import { clusterSyncs, type ClusterSync } from '../../../operator/api/clustersync.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { FakeClock } from '../../../operator/kube/testing/fake-clock.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { StatusWriter } from '../../../operator/operand/status-writer.ts';
import { useApiServer } from '../kube/use-api-server.ts';
import { installDefinitions, smallestSpec } from './custom-resources.ts';

const { signal } = new AbortController();

describe('StatusWriter, on a real API server', () => {
  let client: KubeClient;

  useApiServer(async (_server, itsClient) => {
    client = itsClient;
    await installDefinitions(client);
  });

  it('writes 20 changes at once, and those that come without end as seldom as figures', async () => {
    const metadata = { namespace: 'default', name: 'flapping' };
    const object = { metadata, spec: smallestSpec };
    const sync = (await client.create<KubeObject>(clusterSyncs, object, { signal })) as ClusterSync;
    const clock = new FakeClock();
    const writer = new StatusWriter<NonNullable<ClusterSync['status']>, ClusterSync>(
      client,
      clusterSyncs,
      () => true,
      clock,
    );
    let changes = 0;
    const change = async (): Promise<string> => {
      const phase = changes++ % 2 === 0 ? 'Pending' : 'Starting';
      // The cache is as far as the last write: the API server is asked.
      const now = writer.current(await client.get(clusterSyncs, metadata, { signal }));
      return (await writer.write(now, { ...sync.status, phase } as never, signal)).kind;
    };
    const kinds: string[] = [];
    for (let count = 0; count < 40; count++) kinds.push(await change());
    assert.equal(kinds.filter((kind) => kind === 'written').length, 20);
    assert.equal(kinds.indexOf('deferred'), 20);
    await clock.advance(2_000);
    assert.equal(await change(), 'written');
  });
});
