import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { clusterSyncs } from '../../../operator/api/clustersync.ts';
import {
  syncVerifications,
  type SyncVerification,
} from '../../../operator/api/sync-verification.ts';
import {
  events,
  leases,
  networkPolicies,
  pods,
  secrets,
  services,
  statefulSets,
} from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { isControlledBy } from '../../../operator/kube/owner.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { until } from '../../ground/until.ts';
import { uriData } from './custom-resources.ts';
import { assertIsPutRight, assertStatusIsMadeAnew } from './put-right.ts';
import { assertFiguresAreWrittenSeldom } from './moving-figures.ts';
import { assertNamesakeBeginsAnew } from './namesake.ts';
import { OperatorGround, readiness, RunningOperator } from './operator-ground.ts';
import { playedImage } from './played-pod.ts';
import { applying, committed, copying, idle, StandIn } from './stand-in.ts';

const signal = new AbortController().signal;
describe('the operator, on a real API server', () => {
  let ground: OperatorGround;
  let client: KubeClient;
  let operator: RunningOperator;

  before(async () => {
    ground = await OperatorGround.start();
    ({ client } = ground);
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    await ground[Symbol.asyncDispose]();
  });

  it('brings a sync from its creation to its commit, and its verification to its verdict', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: idle });
    await using verifier = await StandIn.start(address, 27020, {
      progress: {
        phase: 'idle',
        error: null,
        verdict: null,
        verificationStatus: { totalTasks: 0 },
      },
    });
    const sync = await ground.createSync(namespace, { excludeNamespaces: [{ database: 'tmp' }] });
    await client.create<KubeObject>(
      syncVerifications,
      {
        metadata: { namespace, name: 'check' },
        spec: { clusterSyncRef: { name: 'orders' } },
      } as never,
      { signal },
    );

    // What it makes.
    const set = await ground.untilMade(namespace, 'orders-syncer');
    assert.ok(isControlledBy(set, sync));
    assert.equal(set.spec?.replicas, 1);
    for (const resource of [services, networkPolicies]) {
      const object = await ground.get<KubeObject>(resource, namespace, 'orders-syncer');
      assert.ok(object && isControlledBy(object, sync), resource.kind);
    }
    assert.doesNotMatch(JSON.stringify(set), /secret@/);
    await ground.untilSync(
      namespace,
      'the pod is missed',
      (status) => readiness(status) === 'False PodPending',
    );

    // start
    syncer.onCommand = (name) => {
      if (name === 'start') syncer.progress = { progress: copying };
    };
    await ground.runPod(set, address);
    const copy = await ground.untilSync(
      namespace,
      'the copy',
      ({ phase }) => phase === 'InitialCopy',
    );
    assert.deepEqual(copy.totals, {
      estimatedTotalBytes: 1000,
      estimatedCopiedBytes: 250,
      percent: 25,
    });
    assert.deepEqual(copy.instances, [
      { id: 'old', pod: 'orders-syncer-0', ready: true, image: playedImage, progress: copying },
    ]);
    const [start] = syncer.commands;
    const hash = createHash('sha256')
      .update(start?.token ?? '')
      .digest('hex');
    const args = set.spec.template.spec?.containers[0]?.args;
    assert.ok(args?.includes(`--apiTokenHash=${hash}`), args?.join(' '));
    assert.deepEqual(start?.body, {
      source: 'cluster0',
      destination: 'cluster1',
      buildIndexes: 'beforeDataCopy',
      enableUserWriteBlocking: false,
      reversible: false,
      excludeNamespaces: [{ database: 'tmp' }],
    });
    const waiting = await ground.get(syncVerifications, namespace, 'check');
    assert.equal(waiting?.status?.phase, 'Pending');
    assert.equal(await ground.get(statefulSets, namespace, 'check-verifier'), undefined);

    // changes
    syncer.progress = { progress: applying };
    const changes = await ground.untilSync(
      namespace,
      'changes',
      (status) => readiness(status) === 'True InSync',
    );
    assert.equal(changes.canCommit, true);
    assert.equal(changes.coordinatorID, 'old');
    const verifierSet = await ground.untilMade(namespace, 'check-verifier');
    const counts = { totalTasks: 4, completedTasks: 4, failedTasks: 0, metadataMismatchTasks: 0 };
    verifier.onCommand = (name) => {
      verifier.progress = {
        progress: { phase: 'check', error: null, verdict: null, verificationStatus: counts },
      };
      if (name === 'writesOff') {
        verifier.progress = {
          progress: { phase: 'idle', error: null, verdict: 'equal', verificationStatus: counts },
        };
      }
    };
    await ground.runPod(verifierSet, address);
    await until('it checks', () => verifier.commandNames.includes('check'));

    // commit
    assert.deepEqual(syncer.commandNames, ['start']);
    syncer.onCommand = (name) => {
      if (name === 'commit') syncer.progress = { progress: committed };
    };
    await client.patch(
      clusterSyncs,
      { namespace, name: 'orders' },
      { spec: { state: 'Committed' } },
      { signal },
    );
    const end = await ground.untilSync(
      namespace,
      'the end',
      (status) => readiness(status) === 'True Committed',
    );
    assert.equal(end.canWrite, true);
    assert.equal(end.observedGeneration, 2);
    assert.deepEqual(syncer.commandNames, ['start', 'commit']);
    assert.deepEqual(syncer.commands[1]?.body, {});
    await until(
      'nothing idles',
      async () =>
        (await ground.get(statefulSets, namespace, 'orders-syncer'))?.spec?.replicas === 0,
    );
    await client.delete(
      pods,
      { namespace, name: 'orders-syncer-0' },
      { signal, gracePeriodSeconds: 0 },
    );

    // the verdict
    let check: SyncVerification | undefined;
    await until('the verdict', async () => {
      check = await ground.get(syncVerifications, namespace, 'check');
      return check?.status?.phase === 'Succeeded';
    });
    assert.equal(check?.status?.verdict, 'Equal');
    assert.deepEqual(check.status.verificationStatus, counts);
    assert.equal(check.status.verifier?.image, playedImage);
    assert.deepEqual(verifier.commandNames, ['check', 'writesOff']);
    await until(
      'the verifier is removed',
      async () => (await ground.get(statefulSets, namespace, 'check-verifier')) === undefined,
    );

    // what is left
    const rest = await ground.untilSync(
      namespace,
      'no pods',
      // While the pod is being deleted, its container still runs.
      ({ readyInstances, instances }) =>
        readyInstances === '0/0' && instances?.[0]?.image === undefined,
    );
    assert.equal(readiness(rest), 'True Committed');
    assert.deepEqual(rest.instances, [
      { id: 'old', pod: 'orders-syncer-0', ready: false, progress: committed },
    ]);

    // what it told people
    await until('the events are written', async () => {
      const { items } = await client.list(events, { namespace, signal });
      const reasons = items.map(({ reason }) => reason);
      return ['Started', 'InitialCopyDone', 'Committed', 'Checking', 'Succeeded'].every((reason) =>
        reasons.includes(reason),
      );
    });
    const { items } = await client.list(events, { namespace, signal });
    assert.doesNotMatch(JSON.stringify(items), /user:secret/);
  });

  it('is stalled by a wrong password, says so by an event, and continues when it is corrected', async () => {
    const { namespace, address } = await ground.newPlace();
    const error =
      'AuthenticationFailed: the source mongodb://user:secret@old/ refuses the password';
    await using syncer = await StandIn.start(address, 27182, { error });
    await ground.createSync(namespace);
    const set = await ground.untilMade(namespace, 'orders-syncer');
    await ground.runPod(set, address);
    const status = await ground.untilSync(namespace, 'stalled', ({ phase }) => phase === 'Stalled');
    const stalled = findCondition(status.conditions, 'Stalled');
    assert.equal(stalled?.status, 'True');
    assert.equal(stalled.reason, 'AuthenticationFailed');
    assert.match(status.instances?.[0]?.error ?? '', /^AuthenticationFailed/);
    assert.doesNotMatch(JSON.stringify(status), /user:secret/);
    await until('there is an event', async () => {
      const { items } = await client.list(events, { namespace, signal });
      return items.some(
        ({ reason, type }) => reason === 'AuthenticationFailed' && type === 'Warning',
      );
    });
    assert.deepEqual(syncer.commandNames, []);

    const hash = set.spec?.template.metadata?.annotations?.['clustersync.dev/secrets-hash'];
    const data = uriData('mongodb://user:right@old/');
    await client.patch(secrets, { namespace, name: 'old-uri' }, { data }, { signal });
    await until('the pods are to be recreated', async () => {
      const now = await ground.get(statefulSets, namespace, 'orders-syncer');
      return now?.spec?.template.metadata?.annotations?.['clustersync.dev/secrets-hash'] !== hash;
    });
    // The syncer of the new pod continues where it was: nothing starts over.
    syncer.progress = { progress: applying };
    await ground.runPod(set, address, { containerID: 'test://2' });
    await ground.untilSync(namespace, 'in sync', (now) => readiness(now) === 'True InSync');
    assert.deepEqual(syncer.commandNames, []);
  });

  it('reports what start refuses, and does not hammer', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: idle });
    syncer.refusals.set('start', {
      success: false,
      error: 'ReversibleNotSupported',
    });
    await ground.createSync(namespace, { reversible: true, enableUserWriteBlocking: true });
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
    const status = await ground.untilSync(namespace, 'stalled', ({ phase }) => phase === 'Stalled');
    assert.equal(readiness(status), 'False InvalidConfiguration');
    assert.match(JSON.stringify(status.conditions), /ReversibleNotSupported/);
    assert.equal(syncer.commands.length, 1);
  });

  it('pauses a sync, and resumes it', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    syncer.onCommand = (name) => {
      const paused = { ...applying, state: 'PAUSED', canCommit: false, lagTimeSeconds: null };
      syncer.progress = { progress: name === 'pause' ? paused : applying };
    };
    await ground.createSync(namespace);
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
    const until = async (what: string) =>
      await ground.untilSync(namespace, what, (status) => readiness(status) === what);
    await until('True InSync');
    const set = async (state: string): Promise<void> => {
      const name = { namespace, name: 'orders' };
      await client.patch(clusterSyncs, name, { spec: { state } }, { signal });
    };
    await set('Paused');
    const paused = await until('True Paused');
    assert.equal(paused.phase, 'Paused');
    assert.equal(paused.canCommit, false);
    assert.equal(paused.lagTimeSeconds, undefined);
    await set('Running');
    await until('True InSync');
    assert.deepEqual(syncer.commandNames, ['pause', 'resume']);
  });

  it('starts again what has lost its state, and waits for what is gone', async () => {
    const { namespace, address } = await ground.newPlace();
    await ground.createSync(namespace);
    const set = await ground.untilMade(namespace, 'orders-syncer');
    {
      await using syncer = await StandIn.start(address, 27182, { progress: applying });
      await ground.runPod(set, address);
      await ground.untilSync(namespace, 'in sync', (status) => readiness(status) === 'True InSync');
      assert.deepEqual(syncer.commandNames, []);
    }
    await ground.untilSync(
      namespace,
      'missed',
      (status) => readiness(status) === 'False SyncerUnreachable',
    );
    await using syncer = await StandIn.start(address, 27182, { progress: idle });
    syncer.onCommand = () => {
      syncer.progress = { progress: applying };
    };
    await ground.runPod(set, address, { containerID: 'test://2' });
    await ground.untilSync(
      namespace,
      'in sync again',
      (status) => readiness(status) === 'True InSync',
    );
    assert.deepEqual(syncer.commandNames, ['start']);
  });

  it('puts right what somebody has changed or deleted', async () => {
    await assertIsPutRight(ground, operator.port);
  });

  it('restores a status that somebody has deleted', async () => {
    await assertStatusIsMadeAnew(ground);
  });

  it('leaves alone what belongs to somebody else', async () => {
    const { namespace } = await ground.newPlace();
    const metadata = { namespace, name: 'orders-syncer' };
    const spec = { ports: [{ port: 80 }] };
    const foreign = await client.create(services, { metadata, spec }, { signal });
    await ground.createSync(namespace);
    await ground.untilSync(
      namespace,
      'the conflict is told',
      (status) => readiness(status) === 'False NameConflict',
    );
    const now = await ground.get(services, namespace, 'orders-syncer');
    assert.equal(now?.metadata.resourceVersion, foreign.metadata.resourceVersion);
  });

  it('says what the API server does not take', async () => {
    const { namespace } = await ground.newPlace();
    await ground.createSync(namespace, { syncer: { affinity: { nodeAffinity: 'none' } } });
    await ground.untilSync(namespace, 'it is told', ({ phase }) => phase === 'Stalled');
  });

  it('says which Secret is missing, and continues when it is there', async () => {
    const { namespace } = await ground.newPlace();
    await client.delete(secrets, { namespace, name: 'new-uri' }, { signal });
    await ground.createSync(namespace);
    const status = await ground.untilSync(
      namespace,
      'it is told',
      (now) => readiness(now) === 'False SecretNotFound',
    );
    assert.match(findCondition(status.conditions, 'Ready')?.message ?? '', /new-uri/);
    assert.equal(await ground.get(statefulSets, namespace, 'orders-syncer'), undefined);
    const data = uriData('mongodb://new/');
    await client.create(secrets, { metadata: { namespace, name: 'new-uri' }, data }, { signal });
    await ground.untilMade(namespace, 'orders-syncer');
  });

  it('touches nothing while suspended', async () => {
    const { namespace } = await ground.newPlace();
    await ground.createSync(namespace, { suspend: true });
    await ground.untilSync(
      namespace,
      'it is told',
      (status) => findCondition(status.conditions, 'Suspended') !== undefined,
    );
    assert.equal(await ground.get(statefulSets, namespace, 'orders-syncer'), undefined);
    await client.patch(
      clusterSyncs,
      { namespace, name: 'orders' },
      { spec: { suspend: false } },
      { signal },
    );
    await ground.untilMade(namespace, 'orders-syncer');
  });

  it('writes nothing when nothing happens, and seldom where nothing but figures change', async () => {
    const { namespace, address } = await ground.newPlace();
    await using syncer = await StandIn.start(address, 27182, { progress: applying });
    await ground.createSync(namespace);
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
    await ground.untilSync(namespace, 'in sync', (status) => readiness(status) === 'True InSync');
    const versions = async (): Promise<unknown[]> =>
      await Promise.all([
        ground
          .get(clusterSyncs, namespace, 'orders')
          .then((object) => object?.metadata.resourceVersion),
        ground
          .get(statefulSets, namespace, 'orders-syncer')
          .then((object) => object?.metadata.resourceVersion),
      ]);
    const before = await versions();
    const polls = syncer.polls;
    await until('some more polls', () => syncer.polls >= polls + 4);
    assert.deepEqual(await versions(), before);

    await assertFiguresAreWrittenSeldom(ground, operator.port, namespace, syncer);
  });

  it('forgets a deleted sync: its metrics are gone, and a namesake with another destination starts over', async () => {
    await assertNamesakeBeginsAnew(ground, operator.port);
  });

  it('is ready, and hands its work over when it is stopped', async () => {
    const ready = await fetch(`http://127.0.0.1:${operator.port}/readyz`);
    assert.equal(ready.status, 200);
    const { namespace } = await ground.newPlace();
    // Its own lease is short, so it often checks the long lease of the other one.
    const second = await RunningOperator.start(ground.kubeconfig, {
      watchNamespaces: namespace,
      leaseDurationSeconds: 15,
    });
    await operator[Symbol.asyncDispose]();
    operator = second;
    await ground.createSync(namespace);
    await ground.untilMade(namespace, 'orders-syncer');
    const lease = await ground.get(leases, 'default', 'operator');
    assert.equal(lease?.spec?.leaseTransitions, 1);
  });
});
