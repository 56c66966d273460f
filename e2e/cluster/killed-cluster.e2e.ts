import assert from 'node:assert/strict';
import { assertProven } from '../ground/assert-proven.ts';
import { issueCertificate } from '../ground/certificates.ts';
import { clusterDeadlineMs } from '../ground/default-deadline.ts';
import type { Component } from '../ground/kubernetes/cluster.ts';
import { whileSlow } from '../ground/mongod/slow-command.ts';
import { startShopWriter } from '../ground/shop/shop-writer.ts';
import { until } from '../ground/until.ts';
import { example, hasCaughtUp, syncName, withMigration, type Migration } from './migration.ts';
import { commit, heldCopy, incarnationOf, isCopying, killSyncer, phaseOf } from './syncer-pods.ts';

describe('a sync in a cluster whose parts are killed', () => {
  it('ends equal, as its verification says, after etcd, the kubelet and the API server were killed, and serves HTTPS', async () => {
    await withMigration('cluster-killed', { scale: 0.3 }, async (migration) => {
      const { namespace, source, destination } = migration;
      const { signal } = new AbortController();
      await namespace.apply(await certificateSecret(namespace.name));
      const writer = startShopWriter(source.uri('app'), { writesPerSecond: 200, signal });
      try {
        // For longer than two parts of the cluster need to be there again.
        await whileSlow(destination.uri('admin'), heldCopy(60_000), async () => {
          await namespace.apply(await example('clustersync-tls.yaml'));
          await until(
            'documents are being copied',
            async () => await isCopying(destination),
            clusterDeadlineMs,
          );
          const process = await incarnationOf(destination, 0);
          await killPart(migration, 'etcd');
          await killPart(migration, 'kubelet');
          assert.equal(await phaseOf(destination), 'copy');
          assert.equal(
            await incarnationOf(destination, 0),
            process,
            'the syncer was not disturbed',
          );
          // Nobody but the kubelet that was started again starts it again.
          assert.equal(await killSyncer(migration, 'container'), 'copy');
        });
        const synced = await namespace.untilSync(syncName, 'it has caught up', hasCaughtUp);
        const process = await incarnationOf(destination, 0);
        for (const component of ['etcd', 'kubelet', 'kube-apiserver'] as const) {
          await killPart(migration, component);
          const { writes } = writer;
          await until('the application has written more', () => writer.writes > writes + 200);
        }
        const again = await namespace.untilSync(syncName, 'it has caught up again', hasCaughtUp);
        assert.equal(again.status?.startedAt, synced.status?.startedAt);
        assert.equal(await incarnationOf(destination, 0), process);
      } finally {
        await writer.stop();
      }
      await commit(migration);
      const { status } = await namespace.untilVerified(syncName);
      assert.equal(status?.verdict, 'Equal');
      const { proof } = { ...status.verifier?.progress };
      await assertProven(proof, source.uri('admin'), destination.uri('admin'));
    });
  });
});

/** Kills a part of the cluster, and waits until what is written goes through it again. */
async function killPart({ cluster, namespace }: Migration, part: Component): Promise<void> {
  await cluster.kill(part);
  const isWritten = async (): Promise<boolean> => {
    const mark = `--overwrite=true killed=${part}`.split(' ');
    const written = namespace.kubectl(['annotate', 'clustersync', syncName, ...mark]);
    return await written.then(
      () => true,
      () => false,
    );
  };
  await until('the API server writes to etcd', isWritten, clusterDeadlineMs);
}

/** For the syncer and the verifier. */
async function certificateSecret(namespace: string): Promise<object> {
  const names = ['syncer', 'verifier'].map((kind) => `${syncName}-${kind}.${namespace}.svc`);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'kubernetes.io/tls',
    metadata: { name: `${syncName}-tls` },
    stringData: await issueCertificate(...names),
  };
}
