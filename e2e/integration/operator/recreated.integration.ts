import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { secrets } from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { optionsDigest } from '../../../sync-api/options-digest.ts';
import { otherOptions } from '../../../sync-api/testing/start-examples.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { uriData } from './custom-resources.ts';
import { readiness, type OperatorGround } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';
import { applying, idle, StandIn } from './stand-in.ts';
import { useOperatorGround } from './use-operator-ground.ts';

const { signal } = new AbortController();
const operand = 'orders-syncer';

describe('a ClusterSync that is deleted and created again, on a real API server', () => {
  let ground: OperatorGround;
  useOperatorGround((started) => {
    ground = started;
  });

  before(async () => {
    await ground.server.startGarbageCollector();
  });

  async function deleteSync(namespace: string): Promise<void> {
    await ground.client.delete(clusterSyncs, { namespace, name: 'orders' }, { signal });
    await ground.untilCollected(namespace);
  }

  const filter = [{ database: 'shop', collectionsRegex: { pattern: 'a' } }];
  /** A syncer that has a memory of its own, as the destination is: it outlives its pods. */
  async function playSyncer(address: string): Promise<StandIn> {
    const syncer = await StandIn.start(address, 27182, { progress: idle });
    let running: object = applying;
    syncer.onCommand = (name, body) => {
      if (name === 'start') running = { ...applying, optionsDigest: optionsDigest(body) };
      const isPaused = name === 'pause';
      const paused = { ...running, state: 'PAUSED', canCommit: false, lagTimeSeconds: null };
      syncer.progress = { progress: isPaused ? paused : running };
    };
    return syncer;
  }

  async function create(
    { namespace, address }: { readonly namespace: string; readonly address: string },
    spec: object,
    expected: string,
  ) {
    await ground.createSync(namespace, spec);
    await ground.runPod(await ground.untilMade(namespace, operand), address);
    return await ground.untilSync(namespace, expected, (now) => readiness(now) === expected);
  }

  for (const [name, first, second] of otherOptions) {
    it(`with another ${name} does not take the sync up; with the former one it does`, async () => {
      const place = await ground.newPlace();
      const { namespace } = place;
      await using syncer = await playSyncer(place.address);
      await create(place, first, 'True InSync');
      for (const state of ['Running', 'Paused', 'Committed']) {
        await deleteSync(namespace);
        const status = await create(place, { ...second, state }, 'False DifferentSync');
        assert.equal(status.phase, 'Stalled');
        assert.equal(findCondition(status.conditions, 'Stalled')?.status, 'True');
        assert.equal(findCondition(status.conditions, 'CanCommit')?.status, 'False');
        assert.equal(status.canCommit, false);
        assert.deepEqual(syncer.commandNames, ['start']);
      }
      await deleteSync(namespace);
      await create(place, first, 'True InSync');
      assert.deepEqual(syncer.commandNames, ['start']);
      await ground.patchSync(namespace, { state: 'Paused' });
      await ground.untilSync(namespace, 'paused', (now) => readiness(now) === 'True Paused');
      const [start, pause] = syncer.commands;
      const digest = optionsDigest(start?.body as object);
      assert.deepEqual([start?.digest, pause?.digest], [digest, digest]);
    });
  }

  it('with other options names the ways out, whichever way the former sync has failed', async () => {
    const place = await ground.newPlace();
    const { namespace } = place;
    await using syncer = await playSyncer(place.address);
    await create(place, { includeNamespaces: filter }, 'True InSync');
    syncer.digest = optionsDigest(bodyOf({ includeNamespaces: filter }));
    syncer.progress = { error: 'OplogRolledOver: too late' };
    await deleteSync(namespace);
    const status = await create(place, { onDelete: 'Clean' }, 'False DifferentSync');
    const { message = '' } = findCondition(status.conditions, 'Stalled') ?? {};
    assert.match(message, /OplogRolledOver: too late.*started with.*spec\.startOver/);
    // What is there is not its own: it is neither ended nor waited for.
    await deleteSync(namespace);
    assert.deepEqual(syncer.commandNames, ['start']);
    const own = await create(place, { includeNamespaces: filter }, 'False OplogRolledOver');
    assert.equal(own.phase, 'Stalled');
  });

  const others: Record<string, object> = {
    'another name of the destination': {
      destination: { name: 'newer', uriSecretRef: { name: 'new-uri' } },
    },
    'other terms of a commit': { commit: { mode: 'Manual', maxLagSeconds: 20 } },
    'another logLevel': { syncer: { logLevel: 'debug' } },
    'defaults written out': { buildIndexes: 'beforeDataCopy', reversible: false, suspend: false },
  };
  for (const [what, spec] of Object.entries(others)) {
    it(`with ${what} takes the sync up`, async () => {
      const place = await ground.newPlace();
      await using syncer = await playSyncer(place.address);
      await create(place, {}, 'True InSync');
      await deleteSync(place.namespace);
      await create(place, spec, 'True InSync');
      assert.deepEqual(syncer.commandNames, ['start']);
    });
  }

  describe('with a real syncer between real servers', () => {
    let sets: readonly ReplicaSet[] = [];
    let clients: readonly MongoClient[] = [];

    before(async () => {
      const roles = ['source', 'destination'] as const;
      sets = await Promise.all(
        roles.map(async (syncerRoles) => await startReplicaSet({ members: 1, syncerRoles })),
      );
      clients = sets.map((set) => new MongoClient(set.uri('admin')));
    });

    after(async () => {
      for (const client of clients) await client.close();
      for (const set of sets) await set.stop();
    });

    it('does not commit what was copied for another one, and continues with its own', async () => {
      const [source, destination] = clients.map((client) => client.db('shop'));
      assert.ok(source && destination);
      const rows = Array.from({ length: 100 }, (_, n) => ({ n }));
      for (const name of ['apples', 'berries']) await source.collection(name).insertMany(rows);
      const place = await ground.newPlace(sets[0]?.uri('syncer'));
      const { namespace, address } = place;
      const data = uriData(sets[1]?.uri('syncer') ?? '');
      await ground.client.patch(secrets, { namespace, name: 'new-uri' }, { data }, { signal });
      const run = async (spec: object, expected: string, then?: () => Promise<void>) => {
        await ground.createSync(namespace, spec);
        const set = await ground.untilMade(namespace, operand);
        await using pod = await PodProcess.start(ground.client, set, address);
        await ground.runPod(set, address);
        const status = await ground.untilSync(namespace, expected, (now) => {
          return readiness(now) === expected;
        });
        await then?.();
        await deleteSync(namespace);
        await pod.end();
        return status;
      };
      const counts = async (): Promise<number[]> => [
        await destination.collection('apples').countDocuments(),
        await destination.collection('berries').countDocuments(),
      ];
      const filtered = { includeNamespaces: filter };

      await run(filtered, 'True InSync', async () => {
        assert.deepEqual(await counts(), [100, 0]);
      });
      const other = await run({ state: 'Committed' }, 'False DifferentSync', async () => {
        const { status } = (await ground.get(clusterSyncs, namespace, 'orders')) ?? {};
        const progress = status?.instances?.[0]?.progress;
        assert.equal(progress?.['state'], 'RUNNING');
        assert.equal(progress['optionsDigest'], optionsDigest(bodyOf(filtered)));
        assert.equal(findCondition(status?.conditions, 'CanCommit')?.status, 'False');
      });
      assert.equal(other.canCommit, false);
      assert.equal(other.canWrite, undefined);
      // Also one that says by its name that it is another one is not taken for it.
      const renamed = { name: 'older', uriSecretRef: { name: 'old-uri' } };
      const stopped = await run({ ...filtered, source: renamed }, 'False PreconditionFailed');
      assert.match(JSON.stringify(stopped.conditions), /NotAnInstance/);

      // Nor one whose source is another deployment now: not even as one that was never started.
      const { namespace: elsewhere } = await ground.newPlace();
      const uriOf = async (place: string): Promise<object> => {
        const ref = { namespace: place, name: 'old-uri' };
        return { data: (await ground.client.get(secrets, ref, { signal })).data };
      };
      const own = await uriOf(namespace);
      const old = { namespace, name: 'old-uri' };
      await ground.client.patch(secrets, old, await uriOf(elsewhere), { signal });
      for (const state of ['Paused', 'Committed']) {
        const refused = await run({ ...filtered, state }, 'False PreconditionFailed');
        assert.match(JSON.stringify(refused.conditions), /OtherSyncUnfinished: cluster1 holds/);
        assert.equal(refused.canCommit, false);
      }
      await ground.client.patch(secrets, old, own, { signal });

      await source.collection('apples').insertOne({ n: 100 });
      await run({ ...filtered, state: 'Committed' }, 'True Committed', async () => {
        assert.deepEqual(await counts(), [101, 0]);
      });
    });
  });
});

function bodyOf(spec: object): object {
  return { source: 'cluster0', destination: 'cluster1', ...spec };
}
