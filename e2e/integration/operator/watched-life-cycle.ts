import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import { syncVerifications } from '../../../operator/api/sync-verification.ts';
import { leases } from '../../../operator/kube/builtin-resources.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { messageOf } from '../../../service/errors.ts';
import { assertEqualClusters } from '../../ground/compare.ts';
import { ApiProxy } from '../../ground/kubernetes/api-proxy.ts';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import { startReplicaSet } from '../../ground/mongod/replica-set.ts';
import { OperatorProcess, type OperatorSetup } from '../../ground/operator-process.ts';
import { until } from '../../ground/until.ts';
import type { WatchedWork } from '../syncer/each-write-fails.ts';
import type { WriteFault } from '../syncer/planned-writes.ts';
import { watchApiWrites } from './api-write-faults.ts';
import { OperatorGround, readiness } from './operator-ground.ts';
import { patientCommit, PlayedApplication } from './played-application.ts';
import { PodProcess } from './pod-process.ts';

const signal = new AbortController().signal;

/** The kinds of what an operator makes, and of what Kubernetes makes of it. */
const madeKinds = 'statefulsets,services,networkpolicies,secrets,configmaps,pods';

/** The faults that a client is told of. */
const answers: ReadonlySet<WriteFault> = new Set([
  'is refused',
  'is carried out, but not acknowledged',
]);

/**
 * Starts an API server and two replica sets, between which the same migration is carried out again and again by real programs, with
 * a watch on what the operator writes. A run syncs, pauses, resumes, verifies, stops the application, commits, and deletes; it
 * rejects unless all is as it should be afterwards: the data equal, the application stopped once, the verdict recorded, nothing left.
 */
export async function startWatchedLifeCycle(): Promise<WatchedWork> {
  await using stack = new AsyncDisposableStack();
  const [ground, source, destination] = await Promise.all([
    OperatorGround.start(),
    startReplicaSet({ members: 1, name: 'source' }),
    startReplicaSet({ members: 1, name: 'destination' }),
  ]);
  stack.use(ground);
  const sets = [source, destination];
  for (const set of sets)
    stack.defer(async () => {
      await set.stop();
    });
  await ground.server.startGarbageCollector();
  const clients = sets.map((set) =>
    stack.use(new MongoClient(set.uri('admin', { w: 'majority' }))),
  );
  const proxy = stack.use(await ApiProxy.start(ground.server));
  const watch = watchApiWrites(proxy);
  const kubeconfig = ground.server.config(proxy.port, 'first').exportConfig();
  let runs = 0;

  async function migrate(): Promise<void> {
    await using pods = new AsyncDisposableStack();
    const uris = [source.uri('syncer'), destination.uri('syncer')] as const;
    const { namespace, address } = await ground.newPlace(...uris);
    const { client } = ground;
    const application = pods.use(
      await PlayedApplication.start(client, namespace, source.uri('admin')),
    );
    const { metadata } = await ground.createSync(namespace);
    const syncer = await ground.untilMade(namespace, 'orders-syncer');
    pods.use(await PodProcess.start(client, syncer, address));
    await ground.runPod(syncer, address);
    const untilReady = async (expected: string): Promise<void> => {
      await ground.untilSync(namespace, expected, (status) => readiness(status) === expected);
    };
    await untilReady('True InSync');
    await ground.patchSync(namespace, { state: 'Paused' });
    await untilReady('True Paused');
    await ground.patchSync(namespace, { state: 'Running' });
    await untilReady('True InSync');

    const check = { namespace, name: 'check' };
    const spec = { clusterSyncRef: { name: 'orders' } };
    await client.create<KubeObject>(syncVerifications, { metadata: check, spec } as never, {
      signal,
    });
    const verifier = await ground.untilMade(namespace, 'check-verifier');
    const verifierAddress = await ground.reserveAddress();
    pods.use(await PodProcess.start(client, verifier, verifierAddress));
    await ground.runPod(verifier, verifierAddress);
    await ground.patchSync(namespace, { commit: patientCommit });
    await ground.untilSync(
      namespace,
      'it is committed, and nothing is held',
      (status) => readiness(status) === 'True Committed' && status.commit === undefined,
    );
    assert.deepEqual([await application.size(), application.starts], [0, 1]);
    assert.ok(application.written > 0);
    await until('the verdict is recorded', async () => {
      const { status } = await client.get(syncVerifications, check, { signal });
      return status?.verdict === 'Equal';
    });
    const counts = clients.map(async (each) => {
      return await each.db('shop').collection('items').countDocuments();
    });
    assert.deepEqual(await Promise.all(counts), [application.written, application.written]);
    await assertEqualClusters(source.uri('admin'), destination.uri('admin'));

    await client.delete(syncVerifications, check, { signal });
    await client.delete(clusterSyncs, metadata, { signal });
    await untilNothingIsLeft(ground, namespace);
  }

  const moved = stack.move();
  return {
    async run(planned) {
      watch.begin();
      await Promise.all(clients.map(emptyCluster));
      runs += 1;
      const options = { leaseName: `watched-${runs}`, leaseDurationSeconds: 10 };
      await using operator = await PersistentOperator.start({ kubeconfig, options });
      const forgedBefore = proxy.forged;
      watch.begin(
        planned && {
          ...planned,
          kill: () => {
            operator.kill();
          },
        },
      );
      try {
        await migrate();
      } catch (error) {
        throw new Error(`${watch.met ?? 'no write'}: ${messageOf(error)}\n${await operator.log()}`);
      }
      const { order, met } = watch;
      const isAnswered = planned !== undefined && met !== undefined && answers.has(planned.fault);
      assert.equal(proxy.forged - forgedBefore, isAnswered ? 1 : 0, 'it was given such an answer');
      return { order, met };
    },
    [Symbol.asyncDispose]: async () => {
      await moved.disposeAsync();
    },
  };
}

/** An operator as a Deployment keeps it: another process takes the place of one that has ended. */
class PersistentOperator implements AsyncDisposable {
  #current: OperatorProcess;
  readonly #over = new AbortController();
  readonly #running: Promise<void>;

  private constructor(first: OperatorProcess, setup: OperatorSetup) {
    this.#current = first;
    this.#running = this.#run(setup);
  }

  static async start(setup: OperatorSetup): Promise<PersistentOperator> {
    return new PersistentOperator(await OperatorProcess.start(setup), setup);
  }

  kill(): void {
    this.#current.kill('SIGKILL');
  }

  /** Of the process that there is now. */
  async log(): Promise<string> {
    return (await this.#current.log()).slice(-4_000);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    this.#current.kill();
    await this.#running;
  }

  async #run(setup: OperatorSetup): Promise<void> {
    for (;;) {
      await this.#current.ended();
      await this.#current[Symbol.asyncDispose]();
      if (this.#isOver()) return;
      this.#current = await OperatorProcess.start(setup);
      if (this.#isOver()) this.#current.kill();
    }
  }

  #isOver(): boolean {
    return this.#over.signal.aborted;
  }
}

/** What belonged to the migration is deleted, also by the garbage collector, and its destination is free for others. */
async function untilNothingIsLeft(ground: OperatorGround, namespace: string): Promise<void> {
  const { client } = ground;
  const label = 'app.kubernetes.io/managed-by=clustersync-operator';
  let left = '';
  try {
    await until('nothing is left', async () => {
      const selected = ['--namespace', namespace, '--selector', label, '--output', 'name'];
      left = await ground.kubectl('get', madeKinds, ...selected);
      left += await ground.kubectl(
        ...['get', 'clustersyncs,syncverifications', '--namespace', namespace, '--output', 'name'],
      );
      const { items } = await client.list(leases, { namespace: 'default', signal });
      const held = items.filter(({ spec }) => spec?.holderIdentity?.startsWith(`${namespace}/`));
      left += held.map(({ metadata }) => `lease ${metadata.name}\n`).join('');
      return left === '';
    });
  } catch (error) {
    throw new Error(`${messageOf(error)}: ${left}`, { cause: error });
  }
}
