import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import {
  syncVerifications,
  type SyncVerification,
  type SyncVerificationStatus,
} from '../../../operator/api/sync-verification.ts';
import { pods, statefulSets, type StatefulSet } from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, RunningOperator } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';
import { applying, committed, StandIn } from './stand-in.ts';

const signal = new AbortController().signal;

/** Programs start during this time: long enough for a busy machine. */

describe('the operator with a real verifier', () => {
  let ground: OperatorGround;
  let operator: RunningOperator;
  let sets: readonly ReplicaSet[] = [];
  let clients: readonly MongoClient[] = [];

  before(async () => {
    const roles = ['source', 'destination'] as const;
    [ground, sets] = await Promise.all([
      OperatorGround.start(),
      Promise.all(
        roles.map(async (syncerRoles) => await startReplicaSet({ members: 1, syncerRoles })),
      ),
    ]);
    clients = sets.map((set) => new MongoClient(set.uri('admin')));
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    for (const client of clients) await client.close();
    for (const set of sets) await set.stop();
    await ground[Symbol.asyncDispose]();
  });

  it('compares a selection, tells what differs, compares again when it is asked to, and deletes itself', async () => {
    const [source, destination] = clients;
    assert.ok(source && destination);
    interface Row {
      readonly _id: string;
    }
    const itemsOf = (client: MongoClient) => client.db('shop').collection<Row>('items');
    await itemsOf(source).insertMany([{ _id: 'public' }, { _id: 'private' }]);
    await itemsOf(destination).insertOne({ _id: 'public' });
    await source.db('left').collection('out').insertOne({});

    const [from, to] = sets.map((set) => set.uri('syncer'));
    const { namespace, address } = await ground.newPlace(from, to);
    const { client } = ground;
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    syncer.onCommand = () => {
      syncer.progress = { progress: committed };
    };
    await ground.createSync(namespace);
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);

    const filter = { includeNamespaces: [{ databaseRegex: { pattern: '^(shop|left)$' } }] };
    const object = {
      metadata: { namespace, name: 'check' },
      spec: { clusterSyncRef: { name: 'orders' }, filter },
    };
    await client.create<KubeObject>(syncVerifications, object, { signal });
    const ask = async (spec: object): Promise<void> => {
      await client.patch(syncVerifications, object.metadata, { spec }, { signal });
    };
    const untilCheck = async (
      what: string,
      condition: (status: SyncVerificationStatus) => boolean,
    ): Promise<SyncVerificationStatus> => {
      let status: SyncVerification['status'];
      try {
        const isSo = async (): Promise<boolean> => {
          status = (await ground.get(syncVerifications, namespace, 'check'))?.status;
          return status !== undefined && condition(status);
        };
        await until(what, isSo);
      } catch (error) {
        throw new Error(`${String(error)}; it is ${JSON.stringify(status)}`, { cause: error });
      }
      assert.ok(status);
      return status;
    };
    /** Recreates the pod as the run wants it, as the controller of a StatefulSet would. */
    const runAttempt = async (attempt: number): Promise<PodProcess> => {
      let set: StatefulSet | undefined;
      await until(`the attempt ${attempt} is to be run`, async () => {
        set = await ground.get(statefulSets, namespace, 'check-verifier');
        return JSON.stringify(set ?? {}).includes(`--attempt=${attempt}"`);
      });
      assert.ok(set);
      await client.delete(
        pods,
        { namespace, name: 'check-verifier-0' },
        {
          signal,
          gracePeriodSeconds: 0,
        },
      );
      const verifier = await PodProcess.start(client, set, address);
      await ground.runPod(set, address);
      return verifier;
    };

    // A first run, with a filter that finds too much: it is replaced while it is under way.
    await using first = await runAttempt(1);
    const wrong = await untilCheck('both differences are told', ({ mismatches }) => {
      return mismatches?.total === 2;
    });
    assert.equal(wrong.phase, 'Checking');
    assert.deepEqual(
      wrong.mismatches?.namespaces?.map((each) => each.namespace),
      ['left.out', 'shop.items'],
    );
    await ask({
      rerun: 'without left',
      filter: { ...filter, excludeNamespaces: [{ database: 'left' }] },
    });
    const replaced = await untilCheck('it is another run', ({ run }) => run?.attempt === 2);
    assert.equal(replaced.mismatches, undefined);
    await first.end();
    await using second = await runAttempt(2);
    await untilCheck('it is checked again', ({ phase }) => phase === 'Checking');
    const metrics = async (): Promise<string> =>
      await (await fetch(`http://127.0.0.1:${operator.port}/metrics`)).text();
    const labels = `namespace="${namespace}",name="check"`;
    const reasons = `clustersync_verification_not_ready_reason{${labels}`;
    await until('the metrics tell why there is no verdict', async () => {
      return (await metrics()).includes(`${reasons},reason="Checking"} 1\n`);
    });

    // Its end: the check was carried out, and the data is different.
    await ground.patchSync(namespace, { state: 'Committed' });
    const failed = await untilCheck('a verdict', ({ verdict }) => verdict !== undefined);
    assert.equal(failed.verdict, 'Different');
    assert.deepEqual(failed.mismatches, {
      total: 1,
      byKind: [{ kind: 'missingDocument', count: 1 }],
      namespaces: [{ namespace: 'shop.items', count: 1 }],
    });
    assert.equal(findCondition(failed.conditions, 'Complete')?.status, 'True');
    assert.equal(findCondition(failed.conditions, 'Consistent')?.status, 'False');
    assert.doesNotMatch(JSON.stringify(failed), /private/);
    await until('the metrics tell', async () => {
      const text = await metrics();
      const isDone = !text.includes(reasons);
      return isDone && text.includes(`clustersync_verification_mismatches{${labels}} 1\n`);
    });
    const table = await ground.kubectl('get', 'csyncv', '--namespace', namespace);
    assert.match(table, /^check +orders +Failed +True +False +1 +True /m);

    // The verifier is gone, the report is not.
    await until('the verifier is removed', async () => {
      return (await ground.get(statefulSets, namespace, 'check-verifier')) === undefined;
    });
    await second.end();
    const [, ...command] = failed.report?.command.split(' ') ?? [];
    const report = await second.run([
      ...command.slice(0, 2),
      `--metaURIFile=${second.path('etc/clustersync/destination/uri')}`,
      `--verification=${failed.report?.verification ?? ''}`,
    ]);
    assert.match(report.output, /shop\.items missingDocument _id "private"/);
    assert.equal(report.exitCode, 1);

    // Repaired, and compared once more.
    await itemsOf(destination).insertOne({ _id: 'private' });
    await ask({ rerun: 'repaired', ttlSecondsAfterFinished: 3600 });
    await using third = await runAttempt(3);
    const succeeded = await untilCheck('a verdict of this run', ({ run, verdict }) => {
      return run?.attempt === 3 && verdict !== undefined;
    });
    assert.equal(succeeded.verdict, 'Equal');
    assert.equal(succeeded.run?.rerun, 'repaired');
    assert.equal(succeeded.mismatches?.total, 0);
    assert.equal(findCondition(succeeded.conditions, 'Consistent')?.status, 'True');

    await ask({ ttlSecondsAfterFinished: 0 });
    await until('it has deleted itself', async () => {
      return (await ground.get(syncVerifications, namespace, 'check')) === undefined;
    });
    await third.end();
  });
});
