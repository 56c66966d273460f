import assert from 'node:assert/strict';
import type { Document } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { hidesAppliedOps } from '../../../mongo/oplog.ts';
import { until } from '../../ground/until.ts';
import { VerifierProcess } from '../../ground/verifier-process.ts';
import { skipBecause } from '../../runner/skip.ts';
import { allowEverything, endPreparation, forward, useClusterPair } from './cluster-pair.ts';
import { byRole, startNumbered, type Instances } from './instances.ts';
import { startProxied } from './proxied-instances.ts';
import { skipUnlessReversible } from './skip-reversal.ts';
import { canBeSlow, delayNext, holdCommands } from './slow-commands.ts';

interface Row extends Document {
  readonly _id: number | string;
}

/** A write of the destination's profile. */
interface ProfiledWrite extends Document {
  readonly appName: string;
  readonly command: { readonly q: { readonly _id: unknown } };
}

describe('several instances on one replica set', () => {
  const pair = useClusterPair({
    parameters: { ...canBeSlow, maxNumberOfTransactionOperationsInSingleOplogEntry: 2 },
  });
  before(async () => {
    await allowEverything(pair);
  });

  const small = { options: { partitionMebibytes: 0.05 } };
  const shop = () => pair.source.client.db('shop');
  const items = () => shop().collection<Row>('items');
  const rows = (from: number, count: number): Row[] =>
    Array.from({ length: count }, (_, index) => ({
      _id: from + index,
      number: index,
      text: 'x'.repeat(100),
    }));

  beforeEach(async () => {
    await pair.reset();
    await items().insertMany(rows(0, 4_000));
    await items().createIndexes([
      { key: { number: 1 } },
      { key: { text: 1, _id: 1 }, unique: true },
    ]);
    await shop().collection<Row>('plain').insertMany(rows(0, 500));
    await endPreparation(pair.source);
  });

  async function commit(instances: Instances): Promise<void> {
    await instances.waitFor(({ canCommit }) => canCommit);
    await instances.commit();
    await instances.waitFor(({ state }) => state === 'COMMITTED');
  }

  for (const count of [2, 3])
    it(`share the copy and the changes: each of ${count} does its part, and each document has one writer`, async () => {
      await using instances = await startNumbered(pair, count, small);
      await instances.start();
      const copied = await instances.waitFor(
        ({ canCommit, coordinatorID }) => canCommit && coordinatorID !== null,
      );
      assert.deepEqual(
        copied.map(({ syncerID }) => syncerID),
        Array.from({ length: count }, (_, index) => `syncer-${index}`),
      );
      assert.equal(new Set(copied.map(({ coordinatorID }) => coordinatorID)).size, 1);
      const total = copied[0]?.collectionCopy?.estimatedTotalBytes ?? 0;
      const bytes = copied.map(({ collectionCopy }) => collectionCopy?.estimatedCopiedBytes ?? 0);
      assert.equal(
        bytes.reduce((sum, part) => sum + part, 0),
        total,
      );
      for (const part of bytes) assert.ok(part > total / count / 2, bytes.join());

      const copy = pair.destination.client.db('shop');
      await copy.createCollection('system.profile', { capped: true, size: 64 * 1024 * 1024 });
      await copy.command({ profile: 2 });
      await items().updateMany({ _id: { $lt: 2_000 } }, { $set: { changed: true } });
      await items().insertMany(rows(4_000, 500));
      await items().deleteMany({ _id: { $gte: 3_000, $lt: 3_500 } });
      // A change of the catalog in the middle of them, after each of which all continue.
      await items().createIndexes([{ key: { text: 1 } }]);
      await shop().collection('plain').rename('renamed');
      await shop().createCollection<Row>('words', { collation: { locale: 'en', strength: 2 } });
      const words = shop().collection<Row>('words');
      for (const word of ['a', 'A', 'b', 'B', 'a', 'A']) {
        await words.deleteOne({ _id: word });
        await words.insertOne({ _id: word, from: 'before' });
      }
      await shop().createCollection('last', { capped: true, size: 1_000_000, max: 10 });
      await shop().collection<Row>('last').insertMany(rows(0, 8));
      await using session = pair.source.client.startSession();
      await session.withTransaction(async () => {
        await items().insertMany(rows(6_000, 20), { session });
        await items().updateMany({ _id: { $lt: 20 } }, { $inc: { number: 1 } }, { session });
        await shop()
          .collection<Row>('renamed')
          .deleteMany({ _id: { $lt: 20 } }, { session });
      });
      await commit(instances);
      await copy.command({ profile: 0 });

      // Each change of a document once; each of the four of the catalog by all.
      const applied = (
        await Promise.all(instances.all.map(async (one) => await one.progress()))
      ).map(({ totalEventsApplied }) => (totalEventsApplied ?? 0) - 4);
      const [ofItems, ofWords, ofLast, ofTransaction] = [3_000, 6 + 4, 8, 60];
      assert.equal(
        applied.reduce((sum, part) => sum + part, 0),
        ofItems + ofWords + ofLast + ofTransaction,
        applied.join(),
      );
      for (const part of applied) assert.ok(part > ofItems / count / 2, applied.join());
      const writers = await writersOfItems();
      // Those that were there before: others are inserted.
      assert.equal(writers.size, 2_500);
      for (const [id, names] of writers) assert.equal(names.size, 1, `${id}: ${[...names].join()}`);
      await copy.collection('system.profile').drop();
      await pair.assertEqual();
    });

  /** Who has written each document of `shop.items` on the destination, other than by the initial copy. */
  async function writersOfItems(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const profile = pair.destination.client.db('shop').collection<ProfiledWrite>('system.profile');
    const writes = { op: { $in: ['update', 'remove'] }, ns: 'shop.items' };
    const writers = new Map<string, Set<string>>();
    for await (const { appName, command } of profile.find(writes)) {
      const id = JSON.stringify(command.q._id);
      writers.set(id, (writers.get(id) ?? new Set()).add(appName));
    }
    return writers;
  }

  it('are proven equal by a verifier that follows them', async () => {
    await using instances = await startNumbered(pair, 2, small);
    await instances.start();
    await instances.waitFor(({ canCommit }) => canCommit);
    const [srcURI, destURI] = [pair.source.set.uri('admin'), pair.destination.set.uri('admin')];
    await using verifier = await VerifierProcess.start({
      uris: { srcURI, destURI, metaURI: destURI },
    });
    await verifier.post('check');
    await items().insertMany(rows(4_000, 500));
    await commit(instances);
    await verifier.post('writesOff');
    assert.equal((await verifier.untilComplete()).verdict, 'equal');
    await pair.assertEqual();
  });

  for (const victim of ['coordinator', 'other one'] as const)
    it(`continue when the ${victim} is killed in each phase`, async () => {
      await using instances = await startNumbered(pair, 2, small);
      const chosen = async (): Promise<SyncerProcess> => {
        const [coordinator, other] = await byRole(instances);
        assert.ok(coordinator && other);
        return victim === 'coordinator' ? coordinator : other;
      };
      const killAndRestart = async (one: SyncerProcess): Promise<void> => {
        await one.kill();
        await one.restart();
      };
      // While collections are created: the first one prefers to coordinate.
      const creating = await delayNext(pair.destination, 'create', 2_000, { id: 'syncer-0' });
      await instances.start();
      await creating();
      {
        await using held = await holdCommands(pair.destination, 'insert', 'shop.items');
        await killAndRestart(await chosen());
        // While documents are copied, by both.
        await held.reached(2);
        await items().updateMany({ _id: { $lt: 100 } }, { $set: { copied: 'before' } });
        await items().deleteMany({ _id: { $gte: 3_900 } });
        await killAndRestart(await chosen());
      }
      await instances.waitFor(({ canCommit }) => canCommit);
      {
        // While an index is built, between changes of documents.
        await using held = await holdCommands(pair.destination, 'createIndexes', 'shop.items');
        await items().updateMany({ _id: { $lt: 500 } }, { $inc: { number: 1 } });
        await items().createIndexes([{ key: { copied: 1 } }]);
        await items().insertMany(rows(5_000, 500));
        await held.reached(1);
        await killAndRestart(await chosen());
      }
      await items().deleteMany({ _id: { $lt: 50 } });
      await instances.waitFor(({ canCommit }) => canCommit);
      const one = await chosen();
      const [coordinator] = await byRole(instances);
      const id = (await coordinator?.progress())?.syncerID ?? '';
      const restoring = await delayNext(pair.destination, 'collMod', 2_000, { id });
      await instances.commit();
      await restoring();
      await one.kill();
      const others = instances.all.filter((each) => each !== one);
      for (const other of others) await other.waitFor(({ state }) => state === 'COMMITTED');
      await one.restart();
      assert.equal((await one.progress()).state, 'COMMITTED');
      await pair.assertEqual();
    });

  it('refuse a process that is not one of them, or expects others', async () => {
    await using instances = await startNumbered(pair, 2);
    await instances.start();
    await instances.waitFor(({ canCommit }) => canCommit);
    const before = await pair.destination.client
      .db('clustersync_internal')
      .collection('sync')
      .findOne();
    for (const options of [
      { id: 'syncer' },
      { ids: 'syncer-0,syncer-1,syncer-2', instance: 2 },
      { ids: 'syncer-0,syncer-1,syncer-2', instance: 0 },
    ]) {
      await using outsider = await pair.syncer({ options, until: 'listening' });
      await until('the refusal', async () =>
        String((await outsider.getProgress()).body['error']).startsWith('NotAnInstance'),
      );
      assert.equal((await outsider.post('commit', {})).body['error'], 'NotAnInstance');
    }
    const after = await pair.destination.client
      .db('clustersync_internal')
      .collection('sync')
      .findOne();
    assert.deepEqual(after, before);
    await commit(instances);
    await pair.assertEqual();
  });

  it('refuse one that was idle when they began, and expects others', async () => {
    await using instances = await startNumbered(pair, 2);
    const [one, other] = instances.all;
    assert.ok(one && other);
    const record = async () =>
      await pair.destination.client.db('clustersync_internal').collection('sync').findOne();
    const outsiders = [
      [
        { ids: 'syncer-0,syncer-1,syncer-2', instance: 1 },
        '3 instances (syncer-0, syncer-1, syncer-2)',
      ],
      [{ ids: 'syncer-1', instance: 0 }, '1 instance (syncer-1)'],
      [{ id: 'syncer-2' }, 'syncer-2'],
    ] as const;
    await using stack = new AsyncDisposableStack();
    const idle = [];
    for (const [options, named] of outsiders)
      idle.push({ syncer: stack.use(await pair.syncer({ options })), named });
    await one.start(forward);
    const before = await record();
    for (const { syncer, named } of idle)
      for (const [command, body] of [
        ['preflight', forward],
        ['start', forward],
        ['reset', {}],
      ] as const) {
        const { status, body: answer } = await syncer.post(command, body);
        assert.deepEqual([command, status, answer['error']], [command, 409, 'NotAnInstance']);
        assert.equal(
          String(answer['errorDescription']),
          `the sync was started with 2 instances (syncer-0, syncer-1), not with ${named}`,
        );
      }
    assert.deepEqual(await record(), before);
    await other.start(forward);
    await commit(instances);
    await pair.assertEqual();
  });

  it('are paused one by one, repaired, and reset: each once all have been told', async () => {
    await using instances = await startNumbered(pair, 2, small);
    const [one, other] = instances.all;
    assert.ok(one && other);
    await instances.start();
    await instances.waitFor(({ canCommit }) => canCommit);
    assert.equal((await other.post('pause', {})).status, 200);
    await shop().collection('plain').rename('renamed');
    const says = async (syncer: SyncerProcess, text: string): Promise<void> => {
      await syncer.waitFor(({ warnings }) => (warnings ?? []).some((each) => each.includes(text)));
    };
    await says(one, 'syncer-1 (paused) has not reached a catalog change');
    assert.equal((await other.post('resume', {})).status, 200);
    await instances.waitFor(({ canCommit }) => canCommit);

    await pair.destination.client
      .db('shop')
      .collection<Row>('items')
      .deleteMany({ _id: { $lt: 9 } });
    assert.equal((await one.post('repair', {})).status, 200);
    await says(one, 'syncer-1 has not received repair');
    assert.equal((await other.post('repair', {})).status, 200);
    await other.kill();
    await other.restart();
    await items().insertMany(rows(7_000, 100));
    await instances.waitFor(({ canCommit, repairs }) => canCommit && repairs === 1);

    await one.post('reset', { destination: 'Clean' });
    await says(one, 'syncer-1 has not received reset');
    await other.post('reset', { destination: 'Clean' });
    await instances.waitFor(({ state }) => state === 'IDLE');
    assert.deepEqual(await pair.destination.client.db('shop').listCollections().toArray(), []);
    await instances.start();
    await commit(instances);
    await pair.assertEqual();
  });

  it('reverse, and come back, though one is killed in the meantime', async function () {
    await skipUnlessReversible(this);
    await using instances = await startNumbered(pair, 2, small);
    const [one, other] = instances.all;
    assert.ok(one && other);
    await instances.start({ reversible: true, enableUserWriteBlocking: true });
    await commit(instances);
    await instances.waitFor(({ canWrite }) => canWrite === true);
    const fresh = pair.destination.client.db('shop');
    await fresh.collection<Row>('items').insertMany(rows(7_000, 200));
    await fresh.collection<Row>('items').deleteMany({ _id: { $lt: 100 } });
    await fresh.collection('plain').rename('renamed');
    assert.equal((await other.post('reverse', {})).status, 200);
    await other.kill();
    await other.restart();
    assert.equal((await one.post('reverse', {})).status, 200);
    await instances.waitFor(({ canCommit }) => canCommit);
    await fresh.collection<Row>('renamed').insertMany(rows(8_000, 50));
    await commit(instances);
    await pair.assertEqual();
    const { directionMapping } = await one.progress();
    assert.match(directionMapping?.Source ?? '', /^cluster1: /);
  });

  it('stop when somebody has written by applyOps, which each of them searches for', async function () {
    const admin = pair.source.client.db('admin');
    if (!(await hidesAppliedOps({ admin }, AbortSignal.timeout(10_000))))
      skipBecause(this, 'change streams of this server show what applyOps writes');
    await using instances = await startNumbered(pair, 2);
    await instances.start();
    await instances.waitFor(({ canCommit }) => canCommit);
    await admin.command({ applyOps: [{ op: 'i', ns: 'shop.items', o: { _id: 'unseen' } }] });
    for (const one of instances.all)
      await until('it has stopped', async () =>
        String((await one.getProgress()).body['error']).startsWith('ApplyOpsOnSource'),
      );
  });

  it('wait for one that was not started, and say so', async () => {
    await using instances = await startNumbered(pair, 2);
    const [one, other] = instances.all;
    assert.ok(one && other);
    await one.start(forward);
    await one.waitFor(({ warnings }) =>
      (warnings ?? []).some((text) => text.includes('syncer-1 has not received start')),
    );
    assert.deepEqual(await pair.destination.client.db('shop').listCollections().toArray(), []);
    await other.start(forward);
    await commit(instances);
    await pair.assertEqual();
  });

  it('commit once the one that is behind has applied the last changes, and say whom they wait for', async () => {
    await using instances = await startNumbered(pair, 2, small);
    await instances.start();
    await instances.waitFor(({ canCommit }) => canCommit);
    const [coordinator, other] = await byRole(instances);
    assert.ok(coordinator && other);
    const id = (await other.progress()).syncerID ?? '';
    const namespace = 'shop.items';
    const isBehind = await delayNext(pair.destination, 'insert', 6_000, { id, namespace });
    await items().insertMany(rows(7_000, 200));
    await isBehind();
    await instances.commit();
    const text = `${id} has not applied the changes up to the commit`;
    const { canWrite } = await coordinator.waitFor(
      ({ state, warnings }) => state === 'COMMITTED' || warnings?.join().includes(text) === true,
    );
    assert.equal(canWrite, false);
    await instances.waitFor(({ state }) => state === 'COMMITTED');
    await pair.assertEqual();
  });

  it("do not let a change of the catalog that the network still holds come after the next coordinator's", async () => {
    await using proxied = await startProxied(pair);
    const { instances } = proxied;
    await instances.start();
    const { coordinator, proxy, other } = await proxied.roles();
    const { coordinatorID: former } = await coordinator.progress();
    proxy.strandAt((bytes) => bytes.includes('heldIndex'));
    await items().createIndexes([{ key: { number: -1 }, name: 'heldIndex' }]);
    await until('it is held', () => proxy.stranded > 0);
    await coordinator.kill('SIGSTOP');
    await items().dropIndex('heldIndex');

    await other.waitFor(({ coordinatorID }) => coordinatorID !== former);
    const names = async (): Promise<readonly unknown[]> => {
      const copies = pair.destination.client.db('shop').collection('items');
      return (await copies.listIndexes().toArray()).map(({ name }) => name as unknown);
    };
    let log = '';
    await until('the other one waits, or has made the change', async () => {
      log = await other.log();
      return log.includes('waiting for earlier writes') || (await names()).includes('heldIndex');
    });
    assert.match(log, /"connections":[1-9][0-9]*.*waiting for earlier writes/);
    proxy.release();
    await until('what was held arrives', async () => (await names()).includes('heldIndex'));
    // Only now has the server seen the end of its connections.
    await coordinator.kill();
    // The drop waits for it.
    await coordinator.restart();
    await until('both changes are made', async () => !(await names()).includes('heldIndex'));
    await commit(instances);
    await pair.assertEqual();
  });
});
