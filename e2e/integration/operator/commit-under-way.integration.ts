import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { type StatefulSet } from '../../../operator/kube/builtin-resources.ts';
import { assertEqualClusters } from '../../ground/compare.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../../ground/mongod/proxied-replica-set.ts';
import { startReplicaSet, type Member, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { freezeProcess } from '../../ground/freeze-process.ts';
import { until } from '../../ground/until.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { commandKind } from '../syncer/command-kind.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { PlayedApplication } from './played-application.ts';
import { PodProcess } from './pod-process.ts';
import { chosenSeeds, firstSeeds } from '../../ground/workload/chosen-seeds.ts';

const seeds = chosenSeeds(firstSeeds(1));

const web = { kind: 'Deployment', name: 'web' } as const;
const deadlineSeconds = 30;

describe('an automatic commit where the secondary of the destination is frozen (PSA)', function () {
  this.timeout(600_000);
  let ground: OperatorGround;
  let operator: RunningOperator;
  let source: ReplicaSet;
  let destination: ProxiedReplicaSet;
  let secondary: Member;

  before(async () => {
    ground = await OperatorGround.start();
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    await ground[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    [source, destination] = await Promise.all([
      startReplicaSet({ members: 1, name: 'source' }),
      startProxiedReplicaSet({ members: 3, hasArbiter: true, name: 'destination' }),
    ]);
    const primary = await destination.set.primary();
    const [found] = destination.set.members.slice(0, 2).filter((member) => member !== primary);
    assert.ok(found);
    secondary = found;
  });

  afterEach(async () => {
    await destination[Symbol.asyncDispose]();
    await source.stop();
  });

  /** Freezes the secondary when the syncer sends something for the record of the sync. */
  function freezeAt(text: string): () => boolean {
    let isFrozen = false;
    for (const proxy of destination.proxies) {
      proxy.strandAt((bytes) => {
        const isIt = commandKind(bytes) === 'update of the state' && bytes.includes(text);
        if (isIt && !isFrozen) {
          isFrozen = true;
          freezeProcess(secondary.pid ?? NaN);
        }
        return false;
      });
    }
    return () => isFrozen;
  }

  async function thaw(): Promise<void> {
    await destination.set.kill(secondary, 'SIGCONT');
  }

  /** Ends the operator, and starts another one in its place. */
  async function replaceOperator(): Promise<void> {
    await operator[Symbol.asyncDispose]();
    operator = await RunningOperator.start(ground.kubeconfig);
  }

  /** A sync, the pod of its syncer, and the application that is to be stopped for its commit. */
  async function migration(stack: AsyncDisposableStack): Promise<Migration> {
    const to = destination.set.uri('syncer');
    const { namespace, address } = await ground.newPlace(source.uri('syncer'), to);
    const { client } = ground;
    const started = await PlayedApplication.start(client, namespace, source.uri('admin'));
    const application = stack.use(started);
    const commit = { mode: 'Automatic', workloads: [web], maxLagSeconds: 30, deadlineSeconds };
    await ground.createSync(namespace, { commit });
    const set = await ground.untilMade(namespace, 'orders-syncer');
    const syncer = stack.use(await PodProcess.start(client, set, address));
    await ground.runPod(set, address);
    return { namespace, address, application, set, syncer };
  }

  interface Migration {
    readonly namespace: string;
    readonly address: string;
    readonly application: PlayedApplication;
    readonly set: StatefulSet;
    readonly syncer: PodProcess;
  }

  async function untilStopped({ application }: Migration): Promise<void> {
    await until('the application is stopped', async () => (await application.size()) === 0);
  }

  /** How long ago the application was put on record to be stopped. */
  async function untilPastDeadline({ namespace }: Migration): Promise<void> {
    const status = await ground.untilSync(
      namespace,
      'it is held',
      ({ commit }) => commit?.heldSince !== undefined,
    );
    const endMs = Date.parse(status.commit?.heldSince ?? '') + (deadlineSeconds + 5) * 1000;
    await until('the deadline is over', () => Date.now() > endMs);
  }

  async function assertCommitted(
    { namespace, application }: Migration,
    starts: number,
  ): Promise<void> {
    await ground.untilSync(
      namespace,
      'it is committed, and nothing is held',
      (status) => readiness(status) === 'True Committed' && status.commit === undefined,
    );
    assert.equal(await application.size(), 0);
    assert.equal(application.starts, starts);
    const counts = await Promise.all(
      [source, destination.set].map(async (set) => {
        await using client = new MongoClient(set.uri('admin'));
        return await client.db('shop').collection('items').countDocuments();
      }),
    );
    assert.deepEqual(counts, [application.written, application.written]);
    assert.ok(application.written > 0);
    await assertEqualClusters(source.uri('admin'), destination.set.uri('admin'));
  }

  for (const seed of seeds) {
    const random = new SeededRandom(seed);
    const isOperatorReplaced = random.chance(0.5);
    const isSyncerReplaced = random.chance(0.5);
    const name = `seed ${seed}`;

    /** What else happens while nothing can be decided. */
    const disturb = async (
      { set, address, syncer }: Migration,
      stack: AsyncDisposableStack,
    ): Promise<void> => {
      if (isOperatorReplaced) await replaceOperator();
      if (!isSyncerReplaced) return;
      await syncer[Symbol.asyncDispose]();
      stack.use(await PodProcess.start(ground.client, set, address));
      await ground.runPod(set, address, { containerID: 'test://2' });
    };

    it(`gives the application back at the deadline where the commit was not sent, and commits later, ${name}`, async () => {
      await using stack = new AsyncDisposableStack();
      const its = await migration(stack);
      const { namespace, application } = its;
      application.isClinging = true;
      await untilStopped(its);
      await destination.set.kill(secondary, 'SIGSTOP');
      await ground.untilSync(
        namespace,
        'it cannot be committed',
        ({ canCommit }) => canCommit === false,
      );
      application.isClinging = false;
      await ground.untilSync(
        namespace,
        'the deadline is missed',
        (status) => readiness(status) === 'False CommitDeadlineMissed' && !status.commit?.workloads,
      );
      const { written } = application;
      await until('it writes again', () => application.written > written);
      await thaw();
      await ground.untilSync(
        namespace,
        'it can be committed again',
        ({ canCommit }) => canCommit === true,
      );
      assert.equal(application.starts, 2);
      await ground.patchSync(namespace, { commit: { attempt: '2', deadlineSeconds: 300 } });
      await assertCommitted(its, 2);
    });

    it(`gives nothing back while a commit that was sent waits for a majority, ${name}`, async () => {
      await using stack = new AsyncDisposableStack();
      const isFrozen = freezeAt('COMMITTING');
      const its = await migration(stack);
      const { namespace, application } = its;
      await until('the commit is on its way', isFrozen, 120_000);
      await disturb(its, stack);
      await untilPastDeadline(its);
      await ground.untilSync(
        namespace,
        'it is unknown',
        (status) => status.conditions?.some(({ reason }) => reason === 'CommitUnknown') === true,
      );
      assert.deepEqual([await application.size(), application.starts], [0, 1]);
      await thaw();
      await assertCommitted(its, 1);
    });

    it(`gives nothing back while a commit that was taken waits for a majority, ${name}`, async () => {
      await using stack = new AsyncDisposableStack();
      const isFrozen = freezeAt('isFixingCommitTime');
      const its = await migration(stack);
      const { namespace, application } = its;
      await until('the commit is taken', isFrozen, 120_000);
      await disturb(its, stack);
      await untilPastDeadline(its);
      const { generation } = (await ground.get(clusterSyncs, namespace, 'orders'))?.metadata ?? {};
      assert.equal(generation, 1);
      assert.deepEqual([await application.size(), application.starts], [0, 1]);
      await thaw();
      await assertCommitted(its, 1);
    });
  }
});
