import assert from 'node:assert/strict';
import {
  Double,
  MongoServerError,
  type Binary,
  type CollectionInfo,
  type Db,
  type Document,
  type MongoClient,
} from 'mongodb';
import { sleep } from '../../../service/sleep.ts';
import type { SyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { workloadDatabases } from '../../ground/workload/random-catalog-changes.ts';
import { randomFields, randomId } from '../../ground/workload/random-documents.ts';
import { RandomWorkload } from '../../ground/workload/random-workload.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { commitAndWait, forward, useClusterPair } from './cluster-pair.ts';
import { rollOver } from '../../ground/roll-over.ts';
import { chosenSeeds, firstSeeds } from '../../ground/workload/chosen-seeds.ts';

const seeds = chosenSeeds(firstSeeds(6), { perDay: 2 });

/** How long writers continue once the repair is over. */
const workloadMs = 700;

const never = new AbortController().signal;

/**
 * The invariant: whatever the source has been through unseen, whatever has happened to the copy, and whenever the syncer is
 * killed during the repair, after the commit both sides are equal byte for byte.
 */
describe('a random workload during a repair', () => {
  const pair = useClusterPair({ oplogSizeMB: 1, args: ['--syncdelay', '1'] });
  beforeEach(async () => {
    await pair.reset();
    await keepOplog(0);
  });

  /** The repair must not lose the position of a source with such a small oplog. */
  async function keepOplog(minRetentionHours: number): Promise<void> {
    const resize = { replSetResizeOplog: 1, minRetentionHours: new Double(minRetentionHours) };
    await pair.source.client.db('admin').command(resize);
  }

  for (const seed of seeds) {
    it(`ends in equal clusters, seed ${seed}`, async () => {
      const chance = new SeededRandom(seed);
      const workload = new RandomWorkload(pair.source.client, seed);
      await workload.prepare();
      const buildIndexes = seed % 3 === 0 ? 'afterDataCopy' : 'beforeDataCopy';
      await using syncer = await pair.syncer({ options: { partitionMebibytes: 0.05 } });
      await syncer.start({ ...forward, buildIndexes });
      await syncer.waitFor(({ canCommit }) => canCommit);
      const writing = new AbortController();
      const written = workload.run(3, writing.signal);
      try {
        // Odd seeds lose the position; even ones are repaired in the middle of the changes.
        const hasStopped = seed % 2 === 1;
        if (hasStopped) {
          await loseThePosition(syncer, workload);
        } else {
          await keepOplog(1);
          await sleep(chance.below(600), never);
        }
        await damage(pair.destination.client, chance, { drops: hasStopped });
        assert.equal((await syncer.post('repair', {})).status, 200);
        for (let kill = 0; kill < seed % 4; kill++) {
          await sleep(chance.below(400), never);
          await syncer.kill('SIGKILL');
          await syncer.restart();
        }
        await syncer.waitFor(({ canCommit }) => canCommit);
        await sleep(workloadMs, never);
      } finally {
        writing.abort();
        await written;
      }
      const { repairs } = await syncer.waitFor(({ canCommit }) => canCommit);
      assert.equal(repairs, 1);
      await commitAndWait(syncer);
      await pair.assertEqual();
    });
  }

  async function loseThePosition(syncer: SyncerProcess, workload: RandomWorkload): Promise<void> {
    assert.equal((await syncer.post('pause', {})).status, 200);
    const before = workload.counts['done'] ?? 0;
    await until('enough was written', () => (workload.counts['done'] ?? 0) > before + 200);
    await rollOver(pair.source);
    await keepOplog(1);
    assert.equal((await syncer.post('resume', {})).status, 200);
    await until('the failure', async () => {
      const { body } = await syncer.getProgress();
      return String(body['error']).startsWith('OplogRolledOver');
    });
  }
});

/** The driver's types take few types of ids. */
interface DocumentOfAnyId extends Document {
  _id: never;
}

/**
 * Does to some collections of the destination what must never happen to them. One that is dropped while changes are applied comes
 * back by the next one: a repair takes it for somebody else's where the source has dropped its own meanwhile.
 */
async function damage(
  client: MongoClient,
  chance: SeededRandom,
  settings: { readonly drops: boolean },
): Promise<void> {
  for (const name of workloadDatabases) {
    const db = client.db(name);
    const found = db.listCollections<CollectionInfo>({ type: 'collection' }, { nameOnly: false });
    for (const { name: coll, info } of await found.toArray()) {
      if (coll.startsWith('system.')) continue;
      try {
        await damageOne(db, { coll, uuid: info?.uuid }, chance, settings);
      } catch (error) {
        // What this collection does not take, such as a delete from a capped one, the next may.
        if (!(error instanceof MongoServerError)) throw error;
      }
    }
  }
}

/** To insert by name would create a collection that the sync has dropped meanwhile: somebody else's, which it refuses to touch. */
async function damageOne(
  db: Db,
  { coll, uuid }: { readonly coll: string; readonly uuid: Binary | undefined },
  chance: SeededRandom,
  { drops }: { readonly drops: boolean },
): Promise<void> {
  const documents = db.collection<DocumentOfAnyId>(coll);
  const some = await documents.aggregate<DocumentOfAnyId>([{ $sample: { size: 5 } }]).toArray();
  const [deleted, replaced, altered] = some;
  if (deleted) await documents.deleteOne({ _id: deleted._id });
  if (replaced) await documents.replaceOne({ _id: replaced._id }, { ...randomFields(chance) });
  if (altered) await documents.updateOne({ _id: altered._id }, { $set: { damaged: true } });
  const inserted = { _id: `damage ${chance.below(1e9)}`, of: randomId(chance) };
  await db.command({ insert: coll, collectionUUID: uuid, documents: [inserted] });
  if (chance.chance(0.2)) await documents.dropIndexes();
  if (drops && chance.chance(0.1)) await documents.drop();
}
