import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { MongoClient } from 'mongodb';
import type { ClusterSyncStatus } from '../../../operator/api/clustersync.ts';
import { objectOf } from '../../../service/json-fields.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';

const documents = 1_000;

describe('limits by the operator, on a real API server', () => {
  let ground: OperatorGround;
  let operator: RunningOperator;
  let sets: readonly ReplicaSet[] = [];
  let source: MongoClient;
  let destination: MongoClient;

  before(async () => {
    [ground, ...sets] = await Promise.all([
      OperatorGround.start(),
      startReplicaSet({ members: 1, name: 'source', syncerRoles: 'source' }),
      startReplicaSet({ members: 1, name: 'destination', syncerRoles: 'destination' }),
    ]);
    const [from, to] = sets;
    assert.ok(from && to);
    source = new MongoClient(from.uri('admin'));
    destination = new MongoClient(to.uri('admin'));
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    for (const client of [source, destination]) await client.close();
    for (const set of sets) await set.stop();
    await ground[Symbol.asyncDispose]();
  });

  it('hold from the start, reach a syncer that runs, and are told in the status', async () => {
    const rows = Array.from({ length: documents }, (_, n) => ({ n }));
    await source.db('shop').collection('items').insertMany(rows);
    const [from, to] = sets;
    assert.ok(from && to);
    const { namespace, address } = await ground.newPlace(from.uri('syncer'), to.uri('syncer'));
    const slow = { maxCopyDocumentsPerSecond: 1 };
    await ground.createSync(namespace, { limits: slow });
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await using syncer = await PodProcess.start(ground.client, set, address);
    await ground.runPod(set, address, { containerID: 'test://1' });
    const untilTold = async (limits: object): Promise<ClusterSyncStatus> =>
      await ground.untilSync(namespace, `the limits are ${JSON.stringify(limits)}`, (now) =>
        isDeepStrictEqual(limitsOf(now)['requested'], limits),
      );
    await untilTold(slow);
    const held = await ground.untilSync(
      namespace,
      'the copy is held back',
      (now) => JSON.stringify(limitsOf(now)['heldBackBy']) === '["maxCopyDocumentsPerSecond"]',
    );
    assert.equal(held.phase, 'InitialCopy');
    const copied = await destination.db('shop').collection('items').countDocuments();
    assert.ok(copied < documents, `${copied} are copied`);

    const fast = { maxCopyDocumentsPerSecond: 1_000_000, maxChangesPerSecond: 7 };
    await ground.patchSync(namespace, { limits: fast });
    await untilTold(fast);
    await ground.untilSync(namespace, 'in sync', (now) => readiness(now) === 'True InSync');
    await ground.patchSync(namespace, { limits: null });
    await untilTold({});
    await syncer.end();
  });
});

/** What the status tells of the limits of the only instance. */
function limitsOf({ instances = [] }: ClusterSyncStatus): Readonly<Record<string, unknown>> {
  return objectOf(objectOf(instances[0]?.progress)['limits']);
}
