import assert from 'node:assert/strict';
import { Double, Long, type Db, type Document } from 'mongodb';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, useClusterPair } from './cluster-pair.ts';
import { rollOver } from './roll-over.ts';

/** Documents in a collection that is compared in several ranges, with tiny partitions. */
const documentCount = 3_000;

describe('a repair', () => {
  const pair = useClusterPair({ oplogSizeMB: 1, args: ['--syncdelay', '1'] });
  const options = { options: { partitionMebibytes: 0.05 } };
  const shop = (): Db => pair.source.client.db('shop');

  beforeEach(async () => {
    await pair.reset();
    const text = 'x'.repeat(200);
    for (const name of ['large', 'wide'])
      await shop()
        .collection<{ _id: unknown }>(name)
        .insertMany(Array.from({ length: documentCount }, (_, n) => ({ _id: idOf(n), n, text })));
    await shop()
      .collection('large')
      .createIndexes([
        { key: { n: 1 }, unique: true },
        { key: { text: 1 }, expireAfterSeconds: 3_600 },
      ]);
    await shop()
      .collection('same')
      .insertMany([{ n: 1 }, { n: 2 }]);
    await shop().collection('gone').insertOne({ n: 1 });
    await shop().collection('old').insertOne({ n: 1 });
    await shop().createCollection('capped', { capped: true, size: 100_000 });
    await shop()
      .collection('capped')
      .insertMany([{ n: 1 }, { n: 2 }]);
    await shop().createCollection('view', { viewOn: 'same', pipeline: [] });
  });

  it('after an oplog that has rolled over: what differs is brought, and nothing else is written', async () => {
    await using syncer = await pair.syncing({}, options);
    await loseThePosition(syncer, async () => {
      const large = shop().collection<{ _id: unknown; n: number; text?: string }>('large');
      await large.updateMany({ n: { $in: [3, 1_500, 2_999] } }, { $set: { text: 'changed' } });
      await large.deleteMany({ n: { $in: [4, 5] } });
      await large.insertOne({ _id: 'new', n: -1 });
      await shop().collection('gone').drop();
      await shop().collection('old').rename('renamed');
      await shop().collection('created').insertOne({ n: 1 });
      await shop().collection('capped').insertOne({ n: 3 });
      await shop().collection('large').dropIndex('text_1');
      await shop()
        .collection('same')
        .createIndexes([{ key: { n: -1 } }]);
      await shop().collection('view').drop();
      await shop().createCollection('other', { viewOn: 'same', pipeline: [] });
    });
    const writes = await countsOf(pair.destination.client.db('admin'));
    assert.deepEqual(await syncer.post('repair', {}), { status: 200, body: { success: true } });
    const { repairs, reconciliation, warnings } = await syncer.waitFor(
      ({ canCommit }) => canCommit,
    );
    assert.equal(repairs, 1);
    // large, wide, same, renamed
    assert.deepEqual(reconciliation, {
      comparedDocuments: 2 * documentCount - 1 + 2 + 1,
      changedDocuments: 6,
    });
    const written = await countsOf(pair.destination.client.db('admin'));
    const inserted = Number(written['inserted']) - Number(writes['inserted']);
    assert.ok(inserted < 200, `${inserted} documents inserted`);
    assert.ok(
      warnings?.some((text) => text.includes('shop.gone')),
      JSON.stringify(warnings),
    );
    await shop().collection('wide').insertOne({ n: 'later' });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  /** Pauses and ends the syncer, changes the source until nothing of that is in the oplog, and lets the syncer find out. */
  async function loseThePosition(
    syncer: SyncerProcess,
    change: () => Promise<void>,
  ): Promise<void> {
    assert.equal((await syncer.post('pause', {})).status, 200);
    await change();
    await rollOver(pair.source);
    assert.equal((await syncer.post('resume', {})).status, 200);
    await until('the failure', async () => {
      const { body } = await syncer.getProgress();
      return String(body['error']).startsWith('OplogRolledOver');
    });
  }
});

/** Ids of several types, so that the bounds of ranges are, too. */
function idOf(n: number): unknown {
  return [Long.fromNumber(n), `text ${n}`, { n }, new Date(n), new Double(n + 0.5)][n % 5];
}

async function countsOf(admin: Db): Promise<Document> {
  const { metrics } = (await admin.command({ serverStatus: 1 })) as { metrics: Document };
  return metrics['document'] as Document;
}
