import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { sleep } from '../../../service/sleep.ts';
import { assertEqualClusters } from '../../ground/compare.ts';
import { roundTripsOf, type SideName } from '../../chaos/fault-schedule.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { startSyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { workloadDatabases } from '../../ground/workload/random-catalog-changes.ts';
import { RandomWorkload } from '../../ground/workload/random-workload.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { chosenSeeds, firstSeeds } from '../../ground/workload/chosen-seeds.ts';

/**
 * 8 has shown what a test of `catalog-reading` shows each time: a collection that was renamed over one made meanwhile, and back.
 */
const seeds = chosenSeeds(firstSeeds(8), { kept: [8], perDay: 2 });

/** How long writers continue while change events are applied. */
const workloadMs = 1_500;

const never = new AbortController().signal;

/**
 * The invariant: whatever is written to the source, and whenever the syncer is killed, after the commit both sides are
 * equal byte for byte. Odd seeds let the syncer live; even ones kill it during the copy, the changes and the commit.
 */
describe('a random workload during copy and change application', () => {
  let source: ProxiedReplicaSet;
  let destination: ProxiedReplicaSet;
  let clients: readonly MongoClient[];

  before(async () => {
    [source, destination] = await Promise.all([
      startProxiedReplicaSet({ members: 1, name: 'source' }),
      startProxiedReplicaSet({ members: 1, name: 'destination' }),
    ]);
    clients = [source, destination].map(({ set }) => new MongoClient(set.uri('admin')));
  });

  after(async () => {
    await Promise.all(
      clients.map(async (client) => {
        await client.close();
      }),
    );
    await Promise.all(
      [source, destination].map(async (side) => {
        await side[Symbol.asyncDispose]();
      }),
    );
  });

  beforeEach(async () => {
    for (const client of clients) {
      for (const db of [...workloadDatabases, 'clustersync_internal'])
        await client.db(db).dropDatabase();
    }
  });

  for (const seed of seeds) {
    it(`ends in equal clusters, seed ${seed}`, async () => {
      const [sourceClient] = clients;
      assert.ok(sourceClient);
      const chance = new SeededRandom(seed);
      const isKilled = seed % 2 === 0;
      const workload = new RandomWorkload(sourceClient, seed);
      await workload.prepare();
      const roundTripsMs = roundTripsOf(seed);
      for (const [name, { proxies }] of Object.entries({ source, destination }))
        for (const proxy of proxies) proxy.slow(roundTripsMs[name as SideName]);
      await using syncer = await startSyncerProcess({
        cluster0: source.set.uri('syncer'),
        cluster1: destination.set.uri('syncer'),
        // Small partitions, so that small collections are split too.
        options: { partitionMebibytes: 0.05 },
      });
      const writing = new AbortController();
      const written = workload.run(3, writing.signal);
      try {
        const buildIndexes = seed % 3 === 0 ? 'afterDataCopy' : 'beforeDataCopy';
        await syncer.start({ source: 'cluster0', destination: 'cluster1', buildIndexes });
        if (isKilled) {
          await sleep(chance.below(600), never);
          await syncer.kill('SIGKILL');
          await syncer.restart();
        }
        await syncer.waitFor(({ canCommit }) => canCommit);
        await sleep(workloadMs, never);
        await until('enough was written', () => (workload.counts['done'] ?? 0) > 100);
        if (isKilled) {
          await syncer.kill('SIGKILL');
          await syncer.restart();
        }
      } finally {
        writing.abort();
        await written;
      }
      await syncer.waitFor(({ canCommit }) => canCommit);
      await syncer.commit();
      if (isKilled) {
        await sleep(chance.below(400), never);
        await syncer.kill('SIGKILL');
        await syncer.restart();
      }
      await syncer.waitFor(({ state }) => state === 'COMMITTED');
      await assertEqualClusters(source.set.uri('admin'), destination.set.uri('admin'));
    });
  }
});
