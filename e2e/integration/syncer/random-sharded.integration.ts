import { MongoServerError, type Document } from 'mongodb';
import { sleep } from '../../../service/sleep.ts';
import { RandomWorkload } from '../../ground/workload/random-workload.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';
import { useShardedPair } from './sharded-pair.ts';
import { syncThroughKills } from './sync-through-kills.ts';

/** One seed by its number with SEED=17, the first 100 with SEEDS=100. By default one for each number of shards: 2, 3. */
const { SEED, SEEDS } = process.env;
const seedsFor = (shards: number): number[] =>
  SEEDS === undefined
    ? [Number(SEED ?? shards)]
    : Array.from({ length: Number(SEEDS) }, (_, index) => index + 1);

/** Collections of the workload that are sharded when the sync begins, by their ids: those come again and again in it. */
const sharded = ['load_a.one', 'load_a.three', 'load_b.two', 'load_b.Five.with.dots'] as const;

/** A collection whose documents change their shard key all the time; it has as many ids as documents. */
const moving = 'moves.items';

interface Moving extends Document {
  _id: number;
  number: number;
}

/**
 * The invariant: whatever is written to the sharded source, with shard keys changed, collections sharded and renamed and
 * chunks moved, and whenever the syncer is killed, after the commit both sides are equal byte for byte, and each document
 * is on one shard. Odd seeds let the syncer live; even ones kill it during the copy, the changes and the commit.
 */
for (const shards of [2, 3] as const) {
  describe(`a random workload on two shards, synced to ${shards}`, function () {
    this.timeout(400_000);
    const pair = useShardedPair(shards, 2);

    beforeEach(async () => {
      await pair.reset();
    });

    /** Does something to the source that may be refused because of what stands there. */
    async function attempt(run: () => Promise<unknown>): Promise<void> {
      try {
        await run();
      } catch (error) {
        if (!(error instanceof MongoServerError)) throw error;
      }
    }

    const command = async (document: Document): Promise<void> => {
      await attempt(async () => await pair.source.client.db('admin').command(document));
    };

    async function prepareMoving(): Promise<void> {
      await command({ enableSharding: 'moves', primaryShard: 'from-0' });
      await command({ shardCollection: moving, key: { number: 1 } });
      await command({ split: moving, middle: { number: 250 } });
      await command({ moveChunk: moving, find: { number: 250 }, to: 'from-1' });
      const documents = Array.from({ length: 500 }, (_, number) => ({ _id: number, number }));
      await movingCollection().insertMany(documents);
    }

    const movingCollection = () => pair.source.client.db('moves').collection<Moving>('items');

    /** Moves documents by their shard key, deletes them and inserts them again, until the signal is aborted. */
    async function moveDocuments(random: SeededRandom, signal: AbortSignal): Promise<void> {
      const items = movingCollection();
      for (let round = 0; !signal.aborted; round++) {
        const _id = random.below(500);
        const [found] = await items.find({ _id }).toArray();
        if (!found) {
          await attempt(async () => await items.insertOne({ _id, number: random.below(500) }));
          continue;
        }
        const at = { _id, number: found.number };
        const number = random.below(500);
        // Refused where what a moved chunk has left behind is in the way of the same id.
        await attempt(async () => {
          if (random.chance(0.1)) await items.deleteOne(at);
          else if (random.chance(0.2)) await items.replaceOne(at, { number, round });
          else if (random.chance(0.3)) await items.updateOne(at, { $set: { round } });
          else await items.updateOne(at, { $set: { number, round } });
        });
      }
    }

    /** Shards collections and moves chunks until the signal is aborted. */
    async function changePlaces(random: SeededRandom, signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const ns = random.pick(sharded);
        if (random.chance(0.3)) await command({ shardCollection: ns, key: { _id: 'hashed' } });
        const to = random.pick(['from-0', 'from-1']);
        await command({ moveChunk: ns, find: { _id: random.below(500) }, to });
        await command({ moveChunk: moving, find: { number: random.below(500) }, to });
        await sleep(100, signal).catch(() => undefined);
      }
    }

    for (const seed of seedsFor(shards)) {
      it(`ends in equal clusters, seed ${seed}`, async () => {
        const workload = new RandomWorkload(pair.source.client, seed);
        await workload.prepare();
        for (const ns of sharded) {
          await command({ enableSharding: ns.slice(0, ns.indexOf('.')) });
          await command({ shardCollection: ns, key: { _id: 'hashed' } });
        }
        await prepareMoving();
        await syncThroughKills(pair, seed, {
          write: async (signal) =>
            await Promise.all([
              workload.run(3, signal),
              changePlaces(new SeededRandom(seed), signal),
              moveDocuments(new SeededRandom(seed + 1), signal),
            ]),
          hasWritten: () => (workload.counts['done'] ?? 0) > 100,
        });
        await pair.assertEqual();
      });
    }
  });
}
