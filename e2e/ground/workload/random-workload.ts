import { MongoServerError, type Document, type MongoClient } from 'mongodb';
import { Pace } from './pace.ts';
import { randomFields, randomId } from './random-documents.ts';
import {
  randomCatalogChanges,
  workloadCollections,
  workloadDatabases,
} from './random-catalog-changes.ts';
import { runRandomTransaction } from './random-transactions.ts';
import { randomWrites } from './random-writes.ts';
import { Mutex } from '../../../service/mutex.ts';
import { SeededRandom } from './seeded-random.ts';

/** How many operations of a writer are on the catalog. */
const catalogShare = 0.06;

/** How many are transactions. */
const transactionShare = 0.05;

/** What a workload meets. */
export interface WorkloadOptions {
  /** Errors, other than refusals by the server, that do not stop writers. Default: none. */
  readonly isPassing?: (error: unknown) => boolean;
  /** Its collections are, or are going to be, sharded by the field `number`. */
  readonly isSharded?: boolean;
  /** Held by others while they shard collections. */
  readonly sharding?: Mutex;
}

/** A random workload, the same operations for the same seed. */
export class RandomWorkload {
  readonly #client: MongoClient;
  readonly #seed: number;
  readonly #isPassing: (error: unknown) => boolean;
  readonly #catalogChanges: ReturnType<typeof randomCatalogChanges>;
  readonly #counts = new Map<string, number>();

  constructor(
    client: MongoClient,
    seed: number,
    { isPassing = () => false, isSharded = false, sharding = new Mutex() }: WorkloadOptions = {},
  ) {
    this.#client = client;
    this.#seed = seed;
    this.#isPassing = isPassing;
    this.#catalogChanges = randomCatalogChanges(isSharded, sharding);
  }

  /** Operations that went through and were refused: shown when a test fails. */
  get counts(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }

  /** Collections with documents and indexes, to be there before the sync begins. */
  async prepare(): Promise<void> {
    const random = new SeededRandom(this.#seed);
    for (const db of workloadDatabases) {
      for (const coll of workloadCollections.slice(0, 4)) {
        const documents = Array.from({ length: 400 }, (_, index): Document => ({
          _id: random.chance(0.2) ? randomId(random) : `start-${index}`,
          ...randomFields(random),
        }));
        await this.#tolerating(
          async () =>
            await this.#client.db(db).collection(coll).insertMany(documents, { ordered: false }),
        );
      }
    }
    for (let change = 0; change < 20; change++) await this.#changeCatalog(random);
  }

  /** Runs writers side by side until the signal is aborted. */
  async run(writers: number, signal: AbortSignal): Promise<void> {
    await Promise.all(
      Array.from({ length: writers }, async (_, writer) => {
        const seed = this.#seed * 1000 + writer + 1;
        const random = new SeededRandom(seed);
        const pace = new Pace(seed);
        while (await pace.next(signal)) {
          if (random.chance(catalogShare)) await this.#changeCatalog(random);
          else if (random.chance(transactionShare)) await this.#runTransaction(random);
          else await this.#write(random);
        }
      }),
    );
  }

  async #write(random: SeededRandom): Promise<void> {
    const collection = this.#client
      .db(random.pick(workloadDatabases))
      .collection(random.pick(workloadCollections));
    const write = random.weighted(randomWrites);
    await this.#tolerating(async () => await write(collection, random));
  }

  async #runTransaction(random: SeededRandom): Promise<void> {
    await this.#tolerating(async () => {
      await runRandomTransaction(this.#client, random);
    });
  }

  async #changeCatalog(random: SeededRandom): Promise<void> {
    const change = random.weighted(this.#catalogChanges);
    const [db, coll] = [random.pick(workloadDatabases), random.pick(workloadCollections)];
    await this.#tolerating(async () => await change(this.#client, db, coll, random));
  }

  async #tolerating(run: () => Promise<unknown>): Promise<void> {
    try {
      await run();
      this.#count('done');
    } catch (error) {
      // An operation that meets what other writers did is refused by the source itself, as a whole or for some documents.
      if (error instanceof MongoServerError) this.#count(`refused ${String(error.code)}`);
      else if (this.#isPassing(error)) this.#count('unknown');
      else throw error;
    }
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}
