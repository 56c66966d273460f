import assert from 'node:assert/strict';
import type { Db, Document } from 'mongodb';
import { useReplicaSetPair } from './replica-set-pair.ts';
import { verifyOnce, type Progress } from './verifier-session.ts';

interface Row extends Document {
  _id: number;
}

/** Collections that are all alike, and the size of the ranges that they are compared in. */
interface Case {
  readonly collections: number;
  readonly documents: number;
  readonly bytes: number;
  readonly partitionMebibytes: number;
}

/** About five ranges of each collection. */
const tiny = { documents: 500, bytes: 200, partitionMebibytes: 0.025 };

/** Two ranges of each collection, with the range that users have by default. */
const real: Case = { collections: 3, documents: 90_000, bytes: 900, partitionMebibytes: 64 };

describe('verifier, several collections of several ranges', () => {
  const pair = useReplicaSetPair();

  afterEach(async () => {
    for (const db of [pair.source, pair.destination]) await db.dropDatabase();
  });

  async function load({ collections, documents, bytes }: Case): Promise<void> {
    const text = 'x'.repeat(bytes);
    for (const db of [pair.source, pair.destination]) {
      for (let number = 0; number < collections; number++) {
        const rows = Array.from({ length: documents }, (_, _id): Row => ({ _id, text }));
        await collection(db, number).insertMany(rows, { ordered: false });
      }
    }
  }

  function collection(db: Db, number: number): ReturnType<typeof db.collection<Row>> {
    return db.collection<Row>(`large${String(number).padStart(2, '0')}`);
  }

  /** Changes one document on the destination: another place in each collection. */
  async function fault({ documents }: Case, number: number): Promise<string> {
    const _id = (number * 7919 + 1) % documents;
    const changed = { $set: { text: 'y' } };
    const { modifiedCount } = await collection(pair.destination, number).updateOne(
      { _id },
      changed,
    );
    assert.equal(modifiedCount, 1);
    return `shop.${collection(pair.destination, number).collectionName} differentDocument {"$numberInt":"${_id}"}`;
  }

  async function repair({ bytes }: Case): Promise<void> {
    for (const { name } of await pair.destination.listCollections().toArray()) {
      const text = 'x'.repeat(bytes);
      await pair.destination.collection(name).updateMany({ text: 'y' }, { $set: { text } });
    }
  }

  async function verify({ partitionMebibytes }: Case): Promise<Progress> {
    const [srcURI = '', destURI = ''] = pair.sets.map((set) => set.uri('syncer'));
    return (await verifyOnce({ srcURI, destURI, partitionMebibytes })).progress;
  }

  /** A verification of everything, in which each document has to be compared. */
  async function assertFinds(each: Case, wanted: readonly string[]): Promise<void> {
    const { collections, documents } = each;
    const progress = await verify(each);
    assert.equal(progress.documentsCompared, collections * documents);
    const { totalTasks } = progress.verificationStatus;
    assert.ok(totalTasks > 3 * collections, `each collection was split: ${totalTasks} tasks`);
    assert.equal(progress.mismatchCount, wanted.length);
    const shown = progress.mismatches.map(({ namespace, kind, id }) =>
      [namespace, kind, id].join(' '),
    );
    assert.deepEqual(shown, wanted.slice(0, shown.length));
    assert.equal(progress.verdict, wanted.length === 0 ? 'equal' : 'different');
  }

  for (const collections of [3, 10, 50]) {
    it(`finds one changed document in each of ${collections} at the same time`, async () => {
      const each: Case = { collections, ...tiny };
      await load(each);
      await assertFinds(each, []);
      const wanted: string[] = [];
      for (let number = 0; number < collections; number++) wanted.push(await fault(each, number));
      await assertFinds(each, wanted);
    });
  }

  it('finds one changed document in each of three in turn', async () => {
    const each: Case = { collections: 3, ...tiny };
    await load(each);
    for (let number = 0; number < each.collections; number++) {
      await assertFinds(each, [await fault(each, number)]);
      await repair(each);
    }
  });

  it('finds changed documents in ranges of the default size', async () => {
    await load(real);
    await assertFinds(real, [await fault(real, 1), await fault(real, 2)]);
  });
});
