import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { clusterSyncs, type ClusterSync } from '../../../operator/api/clustersync.ts';
import {
  events,
  pods,
  statefulSets,
  type StatefulSet,
} from '../../../operator/kube/builtin-resources.ts';
import { findCondition } from '../../../operator/kube/conditions.ts';
import { emptyCluster } from '../../ground/mongod/empty-cluster.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { until } from '../../ground/until.ts';
import { OperatorGround, readiness, RunningOperator, type Place } from './operator-ground.ts';
import { PodProcess } from './pod-process.ts';
import { applying, idle, StandIn } from './stand-in.ts';

const signal = new AbortController().signal;
const documents = 50;
/** The second entry is a mistake. */
const spec = { includeNamespaces: [{ database: 'shop' }, { database: 'shoop' }] } as const;
const heldBack = '--continues=none';

type Status = NonNullable<ClusterSync['status']>;

const canStart = ({ conditions }: Status): string => {
  const { status, reason } = findCondition(conditions, 'CanStart') ?? {};
  return `${status ?? ''} ${reason ?? ''}`;
};

const findings = ({ preflight }: Status): string[] =>
  (preflight ?? []).map(({ severity, name }) => `${severity} ${name}`);

const isHeldBack = (set: StatefulSet | undefined): boolean =>
  set?.spec?.template.spec?.containers[0]?.args?.includes(heldBack) === true;

describe('a dry run by the operator, on a real API server with real syncers', () => {
  let ground: OperatorGround;
  let operator: RunningOperator;
  let sets: readonly ReplicaSet[] = [];
  let source: MongoClient;
  let destination: MongoClient;
  let containers = 0;

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
    await ground.server.startGarbageCollector();
    operator = await RunningOperator.start(ground.kubeconfig);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    for (const client of [source, destination]) await client.close();
    for (const set of sets) await set.stop();
    await ground[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    await Promise.all([source, destination].map(emptyCluster));
    const rows = Array.from({ length: documents }, (_, n) => ({ n }));
    await source.db('shop').collection('items').insertMany(rows);
  });

  async function newPlace(): Promise<Place> {
    const [from, to] = sets;
    assert.ok(from && to);
    return await ground.newPlace(from.uri('syncer'), to.uri('syncer'));
  }

  async function runSyncer({ namespace, address }: Place): Promise<PodProcess> {
    const set = await ground.untilMade(namespace, 'orders-syncer');
    const syncer = await PodProcess.start(ground.client, set, address);
    await ground.runPod(set, address, { containerID: `test://${(containers += 1)}` });
    return syncer;
  }

  /** Replaces the pod, as Kubernetes does when its StatefulSet has been changed. */
  async function replaceSyncer(place: Place, syncer: PodProcess): Promise<PodProcess> {
    const { namespace } = place;
    await until('the pod is to be another one', async () => {
      return !isHeldBack(await ground.get(statefulSets, namespace, 'orders-syncer'));
    });
    await syncer[Symbol.asyncDispose]();
    const now = { signal, gracePeriodSeconds: 0 };
    await ground.client.delete(pods, { namespace, name: 'orders-syncer-0' }, now);
    return await runSyncer(place);
  }

  /** Everything that a cluster holds, besides what its servers write themselves. */
  async function contents(client: MongoClient): Promise<unknown> {
    const { databases } = await client.db().admin().listDatabases();
    const names = databases
      .map(({ name }) => name)
      .filter((name) => !['admin', 'config', 'local'].includes(name));
    const all = await Promise.all(
      names.sort().map(async (name) => {
        const db = client.db(name);
        const collections = await db.listCollections().toArray();
        const rows = collections
          .map((each) => each.name)
          .filter((each) => !each.startsWith('system.'))
          .sort()
          .map(async (each) => [each, await db.collection(each).find().sort({ _id: 1 }).toArray()]);
        return [name, await Promise.all(rows)];
      }),
    );
    return all;
  }

  const both = async (): Promise<unknown> => await Promise.all([source, destination].map(contents));

  async function eventsOf(namespace: string): Promise<string[]> {
    const { items } = await ground.client.list(events, { namespace, signal });
    return items.map(({ type, reason }) => `${type ?? ''} ${reason ?? ''}`);
  }

  it('finds what is wrong, writes to neither deployment, and starts when it is mended and false', async () => {
    await destination.db('shop').collection('items').insertOne({ by: 'user' });
    await source.db('shop').createCollection('metrics', { timeseries: { timeField: 'at' } });
    const before = await both();
    const place = await newPlace();
    const { namespace } = place;
    await ground.createSync(namespace, { ...spec, dryRun: true });
    await using dry = await runSyncer(place);
    assert.ok(isHeldBack(await ground.get(statefulSets, namespace, 'orders-syncer')));
    const blocked = await ground.untilSync(
      namespace,
      'it is checked',
      ({ canStart: can }) => can === false,
    );
    assert.equal(blocked.phase, 'Stalled');
    assert.match(readiness(blocked), /^False /);
    assert.match(canStart(blocked), /^False /);
    const found = findings(blocked);
    for (const each of [
      'Blocker DestinationNotEmpty',
      'Blocker TimeSeriesNotSupported',
      'Warning FilterMatchesNothing',
    ])
      assert.ok(found.includes(each), `${each} is not in ${found.join(', ')}`);
    assert.deepEqual(
      found,
      [...found].sort((a, b) => order(a) - order(b)),
    );
    await until('there is an event', async () =>
      (await eventsOf(namespace)).includes('Warning StartBlocked'),
    );
    assert.deepEqual(await both(), before);

    await destination.db('shop').dropDatabase();
    await source.db('shop').collection('metrics').drop();
    await ground.patchSync(namespace, { checkAgain: 'mended' });
    const passed = await ground.untilSync(
      namespace,
      'it has passed',
      (status) => readiness(status) === 'True Checked',
    );
    assert.equal(passed.phase, 'DryRun');
    assert.equal(canStart(passed), 'True Checked');
    assert.equal(passed.startedAt, undefined);
    assert.deepEqual(
      findings(passed).filter((each) => each.startsWith('Blocker')),
      [],
    );
    await until('there is an event', async () =>
      (await eventsOf(namespace)).includes('Normal Checked'),
    );
    assert.deepEqual(await contents(destination), []);

    await ground.patchSync(namespace, { dryRun: false });
    await using syncer = await replaceSyncer(place, dry);
    const running = await untilInSync(namespace);
    assert.ok(findings(running).includes('Warning FilterMatchesNothing'));
    assert.equal(await destination.db('shop').collection('items').countDocuments(), documents);

    // A mistake does not stop it.
    await ground.patchSync(namespace, { dryRun: true });
    await ground.untilSync(
      namespace,
      'it says that it has no effect',
      (status) => canStart(status) === 'False AlreadyStarted',
    );
    await source.db('shop').collection('items').insertOne({ n: documents });
    await until('it is applied', async () => {
      const count = await destination.db('shop').collection('items').countDocuments();
      return count === documents + 1;
    });
    await untilInSync(namespace);
    await syncer.end();
    await remove(namespace);
  });

  it('is not needed for all reasons of a start that is refused', async () => {
    await destination.db('shop').collection('items').insertOne({ by: 'user' });
    await source.db('shop').createCollection('metrics', { timeseries: { timeField: 'at' } });
    const place = await newPlace();
    const { namespace } = place;
    await ground.createSync(namespace, spec);
    await using syncer = await runSyncer(place);
    const refused = await ground.untilSync(
      namespace,
      'it is refused',
      ({ conditions }) => findCondition(conditions, 'Stalled') !== undefined,
    );
    assert.match(findCondition(refused.conditions, 'Stalled')?.message ?? '', /refuses start/);
    const blockers = findings(refused).filter((each) => each.startsWith('Blocker'));
    assert.deepEqual(blockers.sort(), [
      'Blocker DestinationNotEmpty',
      'Blocker TimeSeriesNotSupported',
    ]);
    assert.equal(refused.canStart, false);
    await destination.db('shop').dropDatabase();
    await source.db('shop').collection('metrics').drop();
    const running = await untilInSync(namespace);
    assert.deepEqual(
      findings(running).filter((each) => each.startsWith('Blocker')),
      [],
    );
    await syncer.end();
    await remove(namespace);
  });

  it('does not continue a sync that it finds, and leaves it to the same spec without it', async () => {
    const place = await newPlace();
    const { namespace } = place;
    await ground.createSync(namespace, spec);
    const first = await runSyncer(place);
    await untilInSync(namespace);
    await first.end();
    await first[Symbol.asyncDispose]();
    await remove(namespace);

    const before = await contents(destination);
    await ground.createSync(namespace, { ...spec, dryRun: true, onDelete: 'Clean' });
    await using dry = await runSyncer(place);
    const found = await ground.untilSync(
      namespace,
      'it is found',
      (status) => readiness(status) === 'False AlreadyStarted',
    );
    assert.equal(found.startedAt, undefined);
    assert.deepEqual(await contents(destination), before);
    await remove(namespace);
    await dry.end();
    assert.deepEqual(await contents(destination), before);

    await ground.createSync(namespace, spec);
    await using last = await runSyncer(place);
    await untilInSync(namespace);
    await last.end();
    await remove(namespace);
  });

  it('says which image cannot check, and lets a sync by that image start', async () => {
    const { namespace, address } = await ground.newPlace();
    await using tool = await StandIn.start(address, 27182, { progress: idle });
    tool.onCommand = () => {
      tool.progress = { progress: applying };
    };
    const image = 'example.dev/other-tool:1';
    await ground.createSync(namespace, { dryRun: true, syncer: { image } });
    await ground.runPod(await ground.untilMade(namespace, 'orders-syncer'), address);
    const status = await ground.untilSync(
      namespace,
      'it is asked',
      (now) => readiness(now) === 'False CheckNotSupported',
    );
    const message = findCondition(status.conditions, 'Ready')?.message ?? '';
    assert.match(message, /^the image example\.dev\/other-tool:1 cannot check a start/);
    await operator.passes(1);
    assert.equal(tool.checks.length, 1);
    assert.deepEqual(tool.commandNames, []);
    await ground.patchSync(namespace, { dryRun: false });
    await untilInSync(namespace);
    assert.deepEqual(tool.commandNames, ['start']);
  });

  async function untilInSync(namespace: string): Promise<Status> {
    return await ground.untilSync(namespace, 'in sync', (now) => readiness(now) === 'True InSync');
  }

  async function remove(namespace: string): Promise<void> {
    await ground.client.delete(clusterSyncs, { namespace, name: 'orders' }, { signal });
    await ground.untilCollected(namespace);
  }

  function order(finding: string): number {
    return ['Blocker', 'Warning', 'Advice'].indexOf(finding.split(' ')[0] ?? '');
  }
});
