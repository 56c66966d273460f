import assert from 'node:assert/strict';
import {
  Double,
  Long,
  MongoServerError,
  type CollectionInfo,
  type CreateCollectionOptions,
  type Db,
  type Document,
} from 'mongodb';
import type { CheckAnswer } from '../../../sync-api/json.ts';
import type { Answer, SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { byId, idsOfEveryType, type Row } from './every-id.ts';
import { rollOver } from '../../ground/roll-over.ts';
import { skipUnlessReversible } from './skip-reversal.ts';
import { canBeSlow, failCommands, failCommandsWith, slowCommands } from './slow-commands.ts';

/** Documents in a collection that is compared in several ranges, with tiny partitions. */
const documentCount = 3_000;

const invalidPipelineOperator = 168;

const manyNamespaces = { database: 'shop', collections: ['first', 'second'] } as const;

describe('a repair', () => {
  const pair = useClusterPair({
    oplogSizeMB: 1,
    parameters: canBeSlow,
    args: ['--syncdelay', '1'],
  });
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

  for (const side of ['source', 'destination'] as const) {
    it(`of documents that the ${side} cannot hash: their bytes are compared`, async () => {
      await using syncer = await pair.syncing({}, options);
      const copy = pair.destination.client.db('shop');
      await copy.collection('large').updateMany({ n: { $lt: 7 } }, { $set: { text: 'damaged' } });
      // What no hash of a value tells.
      await copy.collection('same').updateOne({ n: 1 }, { $set: { n: new Double(1) } });
      await copy.collection('wide').deleteMany({ n: { $gte: documentCount - 5 } });
      const refused = await Promise.all(
        ['large', 'wide', 'same'].map(
          async (name) =>
            await failCommandsWith(
              pair[side],
              ['aggregate'],
              invalidPipelineOperator,
              `shop.${name}`,
            ),
        ),
      );
      assert.equal((await syncer.post('repair', {})).status, 200);
      const { reconciliation } = await syncer.waitFor(({ canCommit }) => canCommit);
      for (const one of refused) await one[Symbol.asyncDispose]();
      // large, wide, same, gone, old
      assert.deepEqual(reconciliation, {
        comparedDocuments: 2 * documentCount + 4,
        changedDocuments: 7 + 1 + 5,
      });
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  }

  for (const what of ['has failed', 'is slow'] as const) {
    it(`counts what an attempt that ${what} has only deleted, and what it has compared before that`, async () => {
      const selected = { database: 'shop', collections: ['same'] };
      await using syncer = await pair.syncing({ includeNamespaces: [selected] }, options);
      const copies = pair.destination.client.db('shop').collection('same');
      await copies.insertMany(Array.from({ length: 5 }, () => ({ isExtra: true })));
      await copies.updateMany({ n: { $exists: true } }, { $set: { text: 'damaged' } });
      await using obstacle =
        what === 'is slow'
          ? await slowCommands(pair.source, ['find'], 3_000, 'shop.same')
          : await failCommands(pair.source, ['find'], 'shop.same');
      assert.equal((await syncer.post('repair', {})).status, 200);
      await obstacle.reached(1);
      if (what === 'is slow') {
        const { reconciliation: early } = await syncer.progress();
        assert.deepEqual(early, { comparedDocuments: 2, changedDocuments: 5 });
      }
      await obstacle[Symbol.asyncDispose]();
      const { reconciliation } = await syncer.waitFor(({ canCommit }) => canCommit);
      assert.deepEqual(reconciliation, { comparedDocuments: 2, changedDocuments: 2 + 5 });
      await commitAndWait(syncer);
    });
  }

  it('crosses every limit in more than one collection at once: partitions, buckets, hashes held', async () => {
    const count = 120_000;
    const notSelected = ['large', 'wide', 'same', 'gone', 'old', 'capped', 'view'].map(
      (name) => `shop.${name}`,
    );
    const changed = 45_000;
    for (const name of ['first', 'second'])
      await shop()
        .collection<{ _id: unknown }>(name)
        .insertMany(Array.from({ length: count }, (_, n) => ({ _id: n, n })));
    await using syncer = await pair.syncing({ includeNamespaces: [manyNamespaces] });
    const copy = pair.destination.client.db('shop');
    for (const name of ['first', 'second']) {
      await copy.collection(name).updateMany({ n: { $lt: changed } }, { $set: { n: -1 } });
      await copy.collection(name).deleteMany({ n: { $gte: count - 10 } });
    }
    assert.equal((await syncer.post('repair', {})).status, 200);
    const { reconciliation } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.deepEqual(reconciliation, {
      comparedDocuments: 2 * count,
      changedDocuments: 2 * (changed + 10),
    });
    const partitions = pair.destination.client.db('clustersync_internal').collection('partitions');
    assert.equal(await partitions.countDocuments({ isCopied: true }), 4);
    await commitAndWait(syncer);
    await pair.assertEqual({ exclude: notSelected });
  });

  it('of a sync that is reversed: the former source becomes as the new one', async function () {
    await skipUnlessReversible(this);
    const body = { enableUserWriteBlocking: true, reversible: true };
    await using syncer = await pair.syncing(body, options);
    await commitAndWait(syncer);
    assert.equal((await syncer.post('reverse', {})).status, 200);
    await syncer.waitFor(({ canCommit }) => canCommit);
    const copy = pair.destination.client.db('shop');
    await copy.collection('large').deleteMany({ n: { $lt: 3 } });
    await syncer.waitFor(({ totalEventsApplied }) => (totalEventsApplied ?? 0) >= 3);
    await shop()
      .collection('wide')
      .updateMany({ n: 5 }, { $set: { text: 'damaged' } });
    assert.equal((await syncer.post('repair', {})).status, 200);
    const { reconciliation, reversals } = await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(reversals, 1);
    assert.equal(reconciliation?.changedDocuments, 1);
    await copy.collection('same').insertOne({ n: 3 });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  for (const comparison of ['hashes', 'bytes'] as const) {
    it(`by ${comparison} reaches ids of every type, whatever type bounds a range`, async () => {
      const kinds: Readonly<Record<string, CreateCollectionOptions>> = {
        plain: {},
        compared: { collation: { locale: 'en', strength: 1 } },
        clustered: { clusteredIndex: { key: { _id: 1 }, unique: true } },
      };
      const ids = idsOfEveryType();
      const counts = new Map<string, number>();
      for (const [name, given] of Object.entries(kinds)) {
        const rows = await shop().createCollection<Row>(name, given);
        for (const _id of ids) await rows.insertOne({ _id, text: 'x'.repeat(1_000) }).catch(ignore);
        counts.set(name, await rows.countDocuments());
      }
      const selected = [{ database: 'shop', collections: Object.keys(kinds) }];
      const tiny = { options: { partitionMebibytes: 0.001 } };
      await using syncer = await pair.syncing({ includeNamespaces: selected }, tiny);
      let total = 0;
      for (const [name, count] of counts) {
        assert.ok(count > 20, `${count} documents in ${name}`);
        total += count;
        const copies = pair.destination.client.db('shop').collection<Row>(name);
        await copies.updateMany({}, { $set: { damaged: true } });
        // Every other one.
        const order = await copies.find().sort({ _id: 1 }).toArray();
        for (const { _id } of order.filter((_, at) => at % 2 === 0))
          await copies.deleteOne(byId(_id));
      }
      assert.equal((await syncer.post('repair', { comparison })).status, 200);
      const { reconciliation } = await syncer.waitFor(({ canCommit }) => canCommit);
      assert.deepEqual(reconciliation, { comparedDocuments: total, changedDocuments: total });
      const partitions = pair.destination.client
        .db('clustersync_internal')
        .collection('partitions');
      assert.ok((await partitions.countDocuments({ isCopied: true })) > 3 * 20);
      await commitAndWait(syncer);
      const notSelected = ['large', 'wide', 'same', 'gone', 'old', 'capped', 'view'];
      await pair.assertEqual({ exclude: notSelected.map((name) => `shop.${name}`) });
    });
  }

  for (const initialData of ['Absent', 'Present']) {
    it(`drops nothing that somebody else has made on the destination, initialData ${initialData}`, async () => {
      await using syncer = await pair.syncing({ initialData }, options);
      const theirs = pair.destination.client.db('theirs').collection('theirs');
      await theirs.insertOne({ n: 1 });
      assert.equal((await syncer.post('repair', {})).status, 200);
      await until('the failure', async () => {
        const { body } = await syncer.getProgress();
        return String(body['error']).startsWith('DestinationNotEmpty: theirs.theirs');
      });
      assert.equal(await theirs.countDocuments(), 1);
      await theirs.drop();
      assert.equal((await syncer.post('repair', {})).status, 200);
      const { repairs } = await syncer.waitFor(({ canCommit }) => canCommit);
      assert.equal(repairs, 2);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  }

  it('is refused without a sync, in a pause, after the commit, and with parameters', async () => {
    await using syncer = await pair.syncer(options);
    const refusal = async (body = {}): Promise<unknown> =>
      (await syncer.post('repair', body)).body['error'];
    assert.equal(await refusal(), 'InvalidStateTransition');
    await syncer.start(forward);
    await syncer.waitFor(({ canCommit }) => canCommit);
    assert.equal(await refusal({ all: true }), 'InvalidBody');
    assert.equal((await syncer.post('pause', {})).status, 200);
    assert.equal(await refusal(), 'InvalidStateTransition');
    assert.equal((await syncer.post('resume', {})).status, 200);
    await syncer.waitFor(({ canCommit }) => canCommit);
    await commitAndWait(syncer);
    assert.equal(await refusal(), 'InvalidStateTransition');
    await pair.assertEqual();
  });

  describe('of a restored backup: initialData Present', () => {
    const restored = (): Db => pair.destination.client.db('shop');

    /** With the true form of indexes and options, as a backup has it. */
    async function restore(): Promise<void> {
      for (const { name, ...info } of await shop().listCollections().toArray()) {
        if (name === 'system.views') continue;
        const { options: given } = info as Pick<CollectionInfo, 'options'>;
        await restored().createCollection(name, given);
        if (name === 'view') continue;
        const documents = await shop()
          .collection(name)
          .find({}, { promoteValues: false })
          .toArray();
        await restored().collection(name).insertMany(documents);
        const indexes = await shop().collection(name).indexes();
        const own = indexes.filter((spec) => spec.name !== '_id_');
        if (own.length > 0) await restored().command({ createIndexes: name, indexes: own });
      }
    }

    it('is used: only what has changed since is written', async () => {
      await restore();
      const before = await countsOf(pair.destination.client.db('admin'));
      const large = shop().collection('large');
      // Values of a unique index change places.
      await large.updateOne({ n: 10 }, { $set: { n: -1 } });
      await large.updateOne({ n: 11 }, { $set: { n: 10 } });
      await large.updateOne({ n: -1 }, { $set: { n: 11 } });
      await shop().collection('gone').drop();
      await restored().collection('never').insertOne({ n: 1 });
      await restored()
        .collection('same')
        .createIndexes([{ key: { n: 1 }, name: 'extra' }]);
      assert.equal((await refusedStart({})).body['error'], 'DestinationNotEmpty');
      assert.deepEqual(await foundBeforeStart(), [
        'PresentDataDropped: shop.gone, shop.never',
        'PresentDataNotUsed: shop.capped',
      ]);
      await using syncer = await pair.syncing({ initialData: 'Present' }, options);
      const { repairs, reconciliation, warnings } = await syncer.progress();
      assert.equal(repairs, 0);
      assert.deepEqual(reconciliation, {
        comparedDocuments: 2 * documentCount + 3,
        changedDocuments: 2,
      });
      const after = await countsOf(pair.destination.client.db('admin'));
      const inserted = Number(after['inserted']) - Number(before['inserted']);
      assert.ok(inserted < 200, `${inserted} documents inserted`);
      assert.ok(warnings?.some((text) => text.includes('shop.gone, shop.never')));
      await large.updateMany({}, { $set: { later: true } });
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

    async function foundBeforeStart(): Promise<readonly string[]> {
      await using syncer = await pair.syncer();
      const { body } = await syncer.post('check', { ...forward, initialData: 'Present' });
      const { canStart, findings } = body as unknown as CheckAnswer;
      assert.equal(canStart, true);
      return findings.map(({ name, namespaces }) => `${name}: ${(namespaces ?? []).join(', ')}`);
    }

    async function refusedStart(body: object): Promise<Answer> {
      await using syncer = await pair.syncer(options);
      return await syncer.post('start', { ...forward, ...body });
    }
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

/** Under a collation some ids are equal, and a symbol is none. */
function ignore(error: unknown): void {
  if (!(error instanceof MongoServerError)) throw error;
}

/** Ids of several types, so that the bounds of ranges are, too. */
function idOf(n: number): unknown {
  return [Long.fromNumber(n), `text ${n}`, { n }, new Date(n), new Double(n + 0.5)][n % 5];
}

async function countsOf(admin: Db): Promise<Document> {
  const { metrics } = (await admin.command({ serverStatus: 1 })) as { metrics: Document };
  return metrics['document'] as Document;
}
