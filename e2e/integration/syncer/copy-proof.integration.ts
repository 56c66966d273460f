import assert from 'node:assert/strict';
import type { Document, Filter } from 'mongodb';
import { until } from '../../ground/until.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, failCommands, slowCommands } from './slow-commands.ts';

const documentCount = 100;

/** What is done to the stored partitions of a collection, before any of them is copied. */
const damages: Readonly<
  Record<string, { readonly damage: (indexes: readonly number[]) => Filter<Document>[] }>
> = {
  first: { damage: () => [{ '_id.index': 0 }] },
  middle: { damage: (indexes) => [{ '_id.index': indexes[1] }, { '_id.index': indexes[2] }] },
  last: { damage: (indexes) => [{ '_id.index': indexes.at(-1) }] },
  every: { damage: () => [{ '_id.index': { $gte: 0 } }] },
  plan: { damage: () => [{}] },
  none: { damage: () => [] },
};

describe('the copy of a collection is complete only where the stored state proves it', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  beforeEach(async () => {
    await pair.reset();
    const shop = pair.source.client.db('shop');
    const text = 'x'.repeat(1_000);
    // Ids of several types, so that bounds are, too.
    const idOf = (n: number): unknown => [n, `text ${n}`, { n }, new Date(n)][n % 4];
    for (const name of Object.keys(damages)) {
      const rows = Array.from({ length: documentCount }, (_, n) => ({ _id: idOf(n), text }));
      await shop.collection<{ _id: unknown }>(name).insertMany(rows);
    }
    await shop.createCollection('capped', { capped: true, size: 1_000_000 });
    await shop
      .collection('capped')
      .insertMany(Array.from({ length: 100 }, (_, n) => ({ n, text })));
    await shop.createCollection('empty');
  });

  const state = () => pair.destination.client.db('clustersync_internal');
  const partitions = () => state().collection('partitions');

  async function uuidsByName(): Promise<Map<string, unknown>> {
    const collections = await state().collection('collections').find({}).toArray();
    return new Map(
      collections.map(({ _id, ...one }) => [(one['namespace'] as { coll: string }).coll, _id]),
    );
  }

  /** Starts a sync that can record no partition as copied, up to when all are planned. */
  async function startUntilPlanned(): Promise<SyncerProcess> {
    const syncer = await pair.syncer({ options: { partitionMebibytes: 0.02, copyWorkers: 2 } });
    await syncer.start(forward);
    await until('the copy', async () => {
      const record = await state()
        .collection('sync')
        .findOne({ _id: 'sync' as never });
      return record?.['phase'] === 'copy';
    });
    return syncer;
  }

  async function assertAllCopied(): Promise<void> {
    for (const name of [...Object.keys(damages), 'capped']) {
      const copies = pair.destination.client.db('shop').collection(name);
      assert.equal(await copies.countDocuments(), documentCount, name);
    }
  }

  it('records of partitions that were lost between planning and the end: what they were of is copied', async () => {
    const refused = await failCommands(
      pair.destination,
      ['update'],
      'clustersync_internal.partitions',
    );
    await using syncer = await startUntilPlanned();
    await syncer.kill();
    const uuids = await uuidsByName();
    for (const [name, { damage }] of Object.entries(damages)) {
      const collection = uuids.get(name);
      const stored = await partitions().find({ '_id.collection': collection }).toArray();
      const indexes = stored
        .map(({ _id }) => (_id as unknown as { index: number }).index)
        .filter((index) => index >= 0)
        .sort((left, right) => left - right);
      assert.ok(indexes.length >= 5, `${indexes.length} partitions`);
      for (const filter of damage(indexes)) {
        const { deletedCount } = await partitions().deleteMany({
          ...filter,
          '_id.collection': collection,
        });
        assert.ok(deletedCount > 0);
      }
      // Nothing of it is there yet, as far as the state tells.
      await pair.destination.client.db('shop').collection(name).deleteMany({});
    }
    await refused[Symbol.asyncDispose]();
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await assertAllCopied();
    const { warnings } = await syncer.progress();
    const said = (warnings ?? []).filter((warning) => warning.includes('copied again'));
    assert.equal(said.length, 1);
    for (const name of ['first', 'middle', 'last', 'every'])
      assert.ok(said[0]?.includes(`shop.${name} (1 of its ranges; `), `${name}: ${said[0] ?? ''}`);
    assert.ok(!said[0]?.includes('shop.none'));
    const unproven = { '_id.index': { $gte: 0 }, isCopied: { $ne: true } };
    assert.equal(await partitions().countDocuments(unproven), 0);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a record that is lost while something is copied again stops the sync by name', async () => {
    const refused = await failCommands(
      pair.destination,
      ['update'],
      'clustersync_internal.partitions',
    );
    await using syncer = await startUntilPlanned();
    await syncer.kill();
    const uuids = await uuidsByName();
    // Nothing of it is copied before it is copied again.
    await partitions().deleteMany({
      '_id.collection': uuids.get('every'),
      '_id.index': { $gte: 0 },
    });
    await pair.destination.client.db('shop').collection('every').deleteMany({});
    await refused[Symbol.asyncDispose]();
    await using slow = await slowCommands(pair.destination, ['insert'], 3_000, 'shop.every');
    await syncer.restart();
    await slow.reached(1);
    const { deletedCount } = await partitions().deleteOne({
      '_id.collection': uuids.get('middle'),
      '_id.index': 2,
    });
    assert.equal(deletedCount, 1);
    await assert.rejects(
      syncer.waitFor(({ canCommit }) => canCommit),
      /CopyIncomplete: the stored state does not prove the copy of 1 collections: shop\.middle \(1 of its ranges/,
    );
  });

  it('partitions that contradict each other: the collection is copied as a whole', async () => {
    const refused = await failCommands(
      pair.destination,
      ['update'],
      'clustersync_internal.partitions',
    );
    await using syncer = await startUntilPlanned();
    await syncer.kill();
    const collection = (await uuidsByName()).get('middle');
    const second = { '_id.collection': collection, '_id.index': 2 };
    const third = await partitions().findOne({ '_id.collection': collection, '_id.index': 3 });
    await refused[Symbol.asyncDispose]();
    // It reads nothing of its own range now.
    await partitions().updateOne(second, { $set: { min: third?.['min'], max: third?.['max'] } });
    await pair.destination.client.db('shop').collection('middle').deleteMany({});
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await assertAllCopied();
    const { warnings } = await syncer.progress();
    assert.match(String(warnings), /shop\.middle \(all of it: partition 2 does not begin/);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('a collection that came later and has no record of its copy stops the commit; a restart copies it', async () => {
    await using syncer = await pair.syncing();
    const late = pair.source.client.db('shop').collection<{ _id: number }>('late');
    await late.insertMany([{ _id: 1 }, { _id: 2 }]);
    const copies = pair.destination.client.db('shop').collection<{ _id: number }>('late');
    await until('it is there', async () => (await copies.countDocuments()) === 2);
    const _id = (await uuidsByName()).get('late') as never;
    await state()
      .collection('collections')
      .updateOne({ _id }, { $set: { isCopied: false } });
    await copies.deleteOne({ _id: 1 });
    assert.equal((await syncer.post('commit', {})).status, 200);
    await assert.rejects(
      syncer.waitFor(({ state: now }) => now === 'COMMITTED'),
      /CopyIncomplete.*shop\.late/,
    );
    await syncer.kill('SIGTERM');
    await syncer.restart();
    await syncer.waitFor(({ state: now }) => now === 'COMMITTED');
    await pair.assertEqual();
  });

  it('a collection whose record was lost stops the sync by name', async () => {
    await loseCollection(async () => {
      await Promise.resolve();
    }, /CopyIncomplete.*shop\.last is no longer stored/);
  });

  it('a collection whose record was lost before another process stops the sync by name', async () => {
    await loseCollection(async (syncer) => {
      await syncer.kill();
      await syncer.restart();
    }, /CopyIncomplete.*7 collections are stored, but 8 were to be copied/);
  });

  it('documents that somebody has written before the collection was created stop the sync by name', async () => {
    await using syncer = await pair.syncer();
    await using slow = await slowCommands(pair.destination, ['create'], 3_000);
    await syncer.start(forward);
    await slow.reached(1);
    const first = pair.destination.client.db('shop').collection('first');
    await first.insertOne({ written: 'by somebody else' });
    await assert.rejects(
      syncer.waitFor(({ canCommit }) => canCommit),
      /DestinationNotEmpty.*shop\.first was written to/,
    );
    assert.equal(await first.countDocuments(), 1);
  });

  /** Removes the record of a collection while none can be completed. */
  async function loseCollection(
    then: (syncer: SyncerProcess) => Promise<void>,
    expected: RegExp,
  ): Promise<void> {
    const refused = await failCommands(
      pair.destination,
      ['update'],
      'clustersync_internal.partitions',
    );
    await using syncer = await startUntilPlanned();
    const lost = { _id: (await uuidsByName()).get('last') as never };
    const { deletedCount } = await state().collection('collections').deleteOne(lost);
    assert.equal(deletedCount, 1);
    await then(syncer);
    await refused[Symbol.asyncDispose]();
    await assert.rejects(
      syncer.waitFor(({ canCommit }) => canCommit),
      expected,
    );
    const record = await state()
      .collection('sync')
      .findOne({ _id: 'sync' as never });
    assert.equal(record?.['phase'], 'copy');
  }
});
