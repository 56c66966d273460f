import assert from 'node:assert/strict';
import { Binary, type Collection, type Db } from 'mongodb';
import { commitAndWait, useClusterPair } from './cluster-pair.ts';

interface Row {
  readonly _id: string | number;
  readonly [field: string]: unknown;
}

/** Documents that are large in one way or another, and how many there are. */
const large: Readonly<Record<string, () => Iterable<Row>>> = {
  *'ids that no single command can name'() {
    for (let n = 0; n < 60; n++) yield { _id: `${n}${'x'.repeat(1_000_000)}`, n };
  },
  *'documents whose key strings are too large for the server'() {
    yield { _id: 1, text: '\0'.repeat(15_000_000) };
    yield { _id: 2, bytes: new Binary(Buffer.alloc(16_000_000)) };
  },
};

describe('a repair that is attacked', () => {
  const pair = useClusterPair();
  const shop = (): Db => pair.source.client.db('shop');
  const copy = (): Db => pair.destination.client.db('shop');
  const rows = (db: Db, name = 'rows'): Collection<Row> => db.collection<Row>(name);

  beforeEach(async () => {
    await pair.reset();
  });

  for (const [what, documents] of Object.entries(large))
    it(`by ${what}`, async () => {
      const all = [...documents()];
      for (const row of all) await rows(shop()).insertOne(row);
      await using syncer = await pair.syncing();
      await rows(copy()).updateMany({}, { $set: { n: -1 }, $unset: { text: 1 } });
      assert.equal((await syncer.post('repair', {})).status, 200);
      const { reconciliation } = await syncer.waitFor(({ canCommit }) => canCommit);
      assert.deepEqual(reconciliation, {
        comparedDocuments: all.length,
        changedDocuments: all.length,
      });
      await commitAndWait(syncer);
      await pair.assertEqual();
    });

  it('restores indexes that were there before, if buildIndexes is never', async () => {
    for (const db of [shop(), copy()]) {
      await rows(db).insertOne({ _id: 1, n: 1 });
      await rows(db).createIndexes([
        { key: { n: 1 }, unique: true },
        { key: { m: 1 }, hidden: true },
        { key: { at: 1 }, expireAfterSeconds: 100_000 },
      ]);
    }
    await using syncer = await pair.syncing({ initialData: 'Present', buildIndexes: 'never' });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });

  it('copies again what has an index on _id of another version, or is clustered and has a TTL', async () => {
    for (const [db, v] of [
      [shop(), 1],
      [copy(), 2],
    ] as const) {
      await db.command({ create: 'old', idIndex: { key: { _id: 1 }, name: '_id_', v } });
      const clusteredIndex = { key: { _id: 1 }, unique: true };
      await db.createCollection('brief', { clusteredIndex, expireAfterSeconds: 100_000 });
      for (const name of ['old', 'brief']) await rows(db, name).insertOne({ _id: 1 });
    }
    await using syncer = await pair.syncing({ initialData: 'Present' });
    const { reconciliation } = await syncer.progress();
    assert.deepEqual(reconciliation, { comparedDocuments: 0, changedDocuments: 0 });
    await commitAndWait(syncer);
    await pair.assertEqual();
  });
});
