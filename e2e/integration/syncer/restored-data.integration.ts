import assert from 'node:assert/strict';
import type { Db } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { canBeSlow, failCommandsWith } from './slow-commands.ts';

/** The stored catalog is written in groups of 250. */
const collectionCount = 300;
const shutdownInProgress = 91;

describe('what is on the destination before a start, and what comes there later', () => {
  const pair = useClusterPair({ parameters: canBeSlow });
  const source = (): Db => pair.source.client.db('shop');
  const destination = (): Db => pair.destination.client.db('shop');

  beforeEach(async () => {
    await pair.reset();
  });

  /** A repair refuses what somebody else has made on the destination since, and keeps it. */
  async function assertKeepsOthers(syncer: SyncerProcess): Promise<void> {
    await destination().collection('notes').insertOne({ n: 1 });
    assert.equal((await syncer.post('repair', {})).status, 200);
    await until('the failure', async () => {
      const { body } = await syncer.getProgress();
      return String(body['error']).startsWith('DestinationNotEmpty: shop.notes');
    });
    assert.equal(await destination().collection('notes').countDocuments(), 1);
  }

  it('are told apart where there was nothing to copy at the start', async () => {
    await using syncer = await pair.syncing({ initialData: 'Present' });
    await assertKeepsOthers(syncer);
  });

  it('are told apart after a kill while the first of many collections were being stored', async () => {
    for (const db of [source(), destination()])
      for (let index = 0; index < collectionCount; index++)
        await db.collection<{ _id: number }>(`c${index}`).insertOne({ _id: index });
    const stored = pair.destination.client.db('clustersync_internal').collection('collections');
    {
      await using syncer = await pair.syncer();
      await using refusing = await failCommandsWith(
        ...[pair.destination, ['update'], shutdownInProgress, stored.namespace, 1],
      );
      await syncer.start({ ...forward, initialData: 'Present' });
      await refusing.reached(2);
      await syncer.kill();
    }
    const storedCount = await stored.countDocuments();
    assert.ok(storedCount > 0 && storedCount < collectionCount, `${storedCount} are stored`);
    await using syncer = await pair.syncer();
    const { reconciliation } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(reconciliation, { comparedDocuments: collectionCount, changedDocuments: 0 });
    await source().collection('c1').insertOne({ n: 'later' });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('are compared and changed once each, as far as the figures tell, though a comparison is repeated midway', async () => {
    // More than two groups of documents that are put together.
    const count = 1_200;
    const rows = (n: number) => Array.from({ length: count }, (_, _id) => ({ _id, n }));
    for (const [n, db] of [source(), destination()].entries())
      await db.collection<{ _id: number }>('items').insertMany(rows(n));
    await using syncer = await pair.syncer();
    {
      // The first group is put.
      const skipped = 1;
      await using refusing = await failCommandsWith(
        ...[pair.destination, ['insert'], shutdownInProgress, 'shop.items', skipped],
      );
      await syncer.start({ ...forward, initialData: 'Present' });
      await refusing.reached(2);
    }
    const { reconciliation } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(reconciliation, { comparedDocuments: count, changedDocuments: count });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('are told apart by a sync that a former release has begun, which stored nothing of that', async () => {
    await source().collection('items').insertOne({ n: 1 });
    await destination().collection('items').insertOne({ n: 2 });
    await using syncer = await pair.syncing({ initialData: 'Present' });
    await syncer.kill();
    const stored = pair.destination.client
      .db('clustersync_internal')
      .collection<{ _id: string }>('sync');
    const { modifiedCount } = await stored.updateOne(
      { _id: 'sync' },
      { $unset: { isPresentSettled: true } },
    );
    assert.equal(modifiedCount, 1);
    await syncer.restart();
    await syncer.waitFor(({ canCommit }) => canCommit);
    await assertKeepsOthers(syncer);
  });

  it('are told apart for a view that the sync has made, whatever has become of it', async () => {
    await source().collection('items').insertOne({ n: 1 });
    await source().createCollection('view', { viewOn: 'items', pipeline: [] });
    await using syncer = await pair.syncing({});
    // As if a change of it had been applied, and not stored.
    await destination().command({ collMod: 'view', viewOn: 'items', pipeline: [{ $limit: 1 }] });
    assert.equal((await syncer.post('repair', {})).status, 200);
    const { repairs } = await syncer.waitFor(
      ({ canCommit, repairs: count }) => canCommit && count === 1,
    );
    assert.equal(repairs, 1);
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});
