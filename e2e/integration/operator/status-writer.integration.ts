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

  it('knows what it has written last, however many writes the watch lags behind', async () => {
    const metadata = { namespace: 'default', name: 'lagging' };
    const object = { metadata, spec: smallestSpec };
    const sync = (await client.create<KubeObject>(clusterSyncs, object, { signal })) as ClusterSync;
    const writer = new StatusWriter<NonNullable<ClusterSync['status']>, ClusterSync>(
      client,
      clusterSyncs,
      () => true,
      new FakeClock(),
    );
    let cached = sync;
    const write = async (startedAt: string): Promise<ClusterSync> => {
      const result = await writer.write(writer.current(cached), { startedAt }, signal);
      assert.equal(result.kind, 'written', startedAt);
      return await client.get(clusterSyncs, metadata, { signal });
    };
    const times = Array.from({ length: 18 }, (_, hour) => {
      return `2026-01-01T${String(hour).padStart(2, '0')}:00:00Z`;
    });
    const versions: ClusterSync[] = [];
    for (const time of times.slice(0, 15)) {
      versions.push(await write(time));
      assert.equal(writer.current(cached).status?.startedAt, time);
    }
    // The watch delivers some of them, and then the rest.
    for (const [index, delivered] of [versions[9], versions.at(-1)].entries()) {
      assert.ok(delivered);
      cached = delivered;
      assert.equal(writer.current(cached).status?.startedAt, times[14 + index]);
      await write(times[15 + index] ?? '');
    }
    // What others change is not taken for what was written.
    const spec = { state: 'Paused' };
    cached = await client.patch(clusterSyncs, metadata, { spec }, { signal });
    assert.equal(writer.current(cached), cached);
  });
});
