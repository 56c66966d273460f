import { MongoServerError, type Collection, type Document, type MongoClient } from 'mongodb';
import { Mutex } from '../../../service/mutex.ts';
import { sleep } from '../../../service/sleep.ts';
import { Pace } from '../../ground/workload/pace.ts';
import { RandomWorkload } from '../../ground/workload/random-workload.ts';
import { SeededRandom } from '../../ground/workload/seeded-random.ts';

/** Collections of the workload that are sharded when the sync begins, by their ids: those come again and again in it. */
const sharded = ['load_a.one', 'load_a.three', 'load_b.two', 'load_b.Five.with.dots'] as const;

/** A collection whose documents change their shard key all the time; it has as many ids as documents. */
const moving = 'moves.items';

interface Moving extends Document {
  _id: number;
  number: number;
}

/** A random workload on a sharded cluster, which also shards collections, changes shard keys and moves chunks. */
export class ShardedWorkload {
  readonly #client: MongoClient;
  /** Two of the cluster's, or its only one. */
  readonly #shards: readonly string[];
  readonly #seed: number;
  /** Held while a collection is being sharded. */
  readonly #sharding = new Mutex();
  readonly #workload: RandomWorkload;

  constructor(client: MongoClient, shards: readonly string[], seed: number) {
    this.#client = client;
    this.#shards = shards.slice(0, 2);
    this.#seed = seed;
    this.#workload = new RandomWorkload(client, seed, { sharding: this.#sharding });
  }

  /** Operations that went through and were refused: shown when a test fails. */
  get counts(): Record<string, number> {
    return this.#workload.counts;
  }

  /** Collections to be there before the sync begins. */
  async prepare(): Promise<void> {
    await this.#workload.prepare();
    for (const ns of sharded) {
      await this.#command({ enableSharding: ns.slice(0, ns.indexOf('.')) });
      await this.#command({ shardCollection: ns, key: { _id: 'hashed' } });
    }
    const [first, second = first] = this.#shards;
    await this.#command({ enableSharding: 'moves', primaryShard: first });
    await this.#command({ shardCollection: moving, key: { number: 1 } });
    await this.#command({ split: moving, middle: { number: 250 } });
    await this.#command({ moveChunk: moving, find: { number: 250 }, to: second });
    const documents = Array.from({ length: 500 }, (_, number) => ({ _id: number, number }));
    await this.#moving.insertMany(documents);
  }

  /**
   * Writes until the signal is aborted.
   * @param writers - side by side, besides what moves.
   */
  async run(writers: number, signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#workload.run(writers, signal),
      this.#changePlaces(new SeededRandom(this.#seed), signal),
      this.#moveDocuments(new SeededRandom(this.#seed + 1), signal),
    ]);
  }

  get #moving(): Collection<Moving> {
    return this.#client.db('moves').collection<Moving>('items');
  }

  /** Moves documents by their shard key, deletes them and inserts them again. */
  async #moveDocuments(random: SeededRandom, signal: AbortSignal): Promise<void> {
    const items = this.#moving;
    const pace = new Pace(this.#seed);
    for (let round = 0; await pace.next(signal); round++) {
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

  /** Shards collections and moves chunks. */
  async #changePlaces(random: SeededRandom, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const ns = random.pick(sharded);
      if (random.chance(0.3)) {
        await this.#sharding.run(async () => {
          await this.#command({ shardCollection: ns, key: { _id: 'hashed' } });
        });
      }
      const to = random.pick(this.#shards);
      await this.#command({ moveChunk: ns, find: { _id: random.below(500) }, to });
      await this.#command({ moveChunk: moving, find: { number: random.below(500) }, to });
      await sleep(100, signal).catch(() => undefined);
    }
  }

  async #command(document: Document): Promise<void> {
    await attempt(async () => await this.#client.db('admin').command(document));
  }
}

/** Does something that may be refused because of what exists already. */
async function attempt(run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (!(error instanceof MongoServerError)) throw error;
  }
}
