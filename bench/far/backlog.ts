import { writeFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Db, MongoClient } from 'mongodb';
import {
  startSyncerProcess,
  type SyncerProcess,
  type SyncerProgress,
} from '../../e2e/ground/syncer-process.ts';
import { SeededRandom } from '../../e2e/ground/workload/seeded-random.ts';
import { forEachConcurrently } from '../../service/concurrency.ts';
import { MixedLoad, type LoadDocument } from '../changes/operations.ts';
import { database } from '../copy/data-sets.ts';
import { emptyDestination } from '../copy/measure.ts';
import { cpuSecondsOf, peakMebibytesOf } from '../process-usage.ts';
import type { FarGround, Side } from './ground.ts';
import {
  createHotCollection,
  hotState,
  type Shape,
  writeHotDocument,
  writeTransaction,
} from './shapes.ts';

/** How long a syncer that was stopped takes for what has been written in the meantime. */
export interface FarBacklog {
  readonly shape: Shape;
  readonly collections: number;
  readonly farSide: Side;
  readonly roundTripMs: number;
  readonly round: number;
  readonly events: number;
  readonly eventsPerSecond: number;
  /** CPU of the syncer for each event. */
  readonly cpuMicroseconds: number;
  readonly peakMebibytes: number;
}

const writers = 8;

/** Documents of each writer in each collection, before the first measurement. */
const documentsBefore = 4;

/** Operations that a writer sends to one collection before it takes the next one. */
const runLength = 8;

/** A sync of `collections` collections, up to date, with writers. */
export class FollowedCollections implements AsyncDisposable {
  readonly #ground: FarGround;
  readonly #collections: number;
  readonly #syncer: SyncerProcess;
  /** By writer, then by collection. */
  readonly #loads: readonly (readonly MixedLoad[])[];
  readonly #random = new SeededRandom(1);

  private constructor(
    ground: FarGround,
    collections: number,
    syncer: SyncerProcess,
    loads: readonly (readonly MixedLoad[])[],
  ) {
    this.#ground = ground;
    this.#collections = collections;
    this.#syncer = syncer;
    this.#loads = loads;
  }

  /** Replaces what is on both sides, and waits until a new sync applies change events. */
  static async start(ground: FarGround, collections: number): Promise<FollowedCollections> {
    const { source, destination } = ground.clients;
    await source.db(database).dropDatabase();
    await emptyDestination(destination);
    await createHotCollection(source.db(database));
    const loads = Array.from({ length: writers }, (_, writer) =>
      Array.from({ length: collections }, (_unused, n) => new MixedLoad(writer * 10_000 + n)),
    );
    await forEachConcurrently(
      Array.from({ length: collections }, (_, n) => n),
      writers,
      async (n) => {
        const documents = loads.flatMap(
          (ofWriter) => ofWriter[n]?.documents(documentsBefore) ?? [],
        );
        await source.db(database).collection<LoadDocument>(`c${n}`).insertMany(documents);
      },
    );
    const syncer = await startSyncerProcess({
      cluster0: ground.source.uri('syncer'),
      cluster1: ground.destination.uri('syncer'),
      options: { logLevel: 'info' },
    });
    await syncer.start({ source: 'cluster0', destination: 'cluster1' });
    await syncer.waitFor(({ canCommit }) => canCommit, { deadlineMs: 600_000 });
    return new FollowedCollections(ground, collections, syncer, loads);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#syncer.kill('SIGTERM');
    await this.#syncer[Symbol.asyncDispose]();
  }

  /** Stops the syncer, writes, and measures how long it takes for that once it continues over a link of some delay. */
  async measure(
    { shape, events }: { readonly shape: Shape; readonly events: number },
    farSide: Side,
    roundTripMs: number,
  ): Promise<Omit<FarBacklog, 'round'>> {
    const syncer = this.#syncer;
    const { pid } = syncer;
    if (pid === undefined) throw new Error('the syncer has ended');
    const link = this.#ground.links[farSide];
    const { totalEventsApplied: before } = await syncer.progress();
    await syncer.kill('SIGSTOP');
    const written = await this.#write(shape, events);
    await this.#ground.clients.source.db('admin').command({ fsync: 1 });
    await link.setRoundTrip(roundTripMs);
    // The highest resident memory is counted from here on.
    await writeFile(`/proc/${pid}/clear_refs`, '5');
    const cpuBefore = await cpuSecondsOf(pid);
    const startedAt = performance.now();
    await syncer.kill('SIGCONT');
    const expected = Number(before) + written;
    const hasAll = ({ totalEventsApplied: now }: SyncerProgress): boolean => {
      if (Number(now) > expected) throw new Error(`${now} events applied, ${expected} expected`);
      return Number(now) === expected;
    };
    await syncer.waitFor(hasAll, { deadlineMs: 600_000 });
    const seconds = (performance.now() - startedAt) / 1_000;
    const cpuSeconds = (await cpuSecondsOf(pid)) - cpuBefore;
    const peakMebibytes = Math.round(await peakMebibytesOf(pid));
    await link.setRoundTrip(0);
    await this.#assertCounts();
    return {
      shape,
      collections: this.#collections,
      farSide,
      roundTripMs,
      events: written,
      eventsPerSecond: Math.round(written / seconds),
      cpuMicroseconds: Math.round((cpuSeconds * 1e6) / written),
      peakMebibytes,
    };
  }

  /** @returns how many operations there were, each of one event. */
  async #write(shape: Shape, events: number): Promise<number> {
    const { source } = this.#ground.clients;
    const db = source.db(database);
    switch (shape) {
      case 'one document':
        return await writeHotDocument(db, events);
      case 'one transaction':
        return await writeTransaction(source, db, events);
      case 'many documents':
        return await this.#writeMixed(db, events);
    }
  }

  async #writeMixed(db: Db, events: number): Promise<number> {
    const runs = Math.ceil(events / writers / runLength);
    // The measurement begins once all of it is on disk: it need not wait there for each of thousands of small writes.
    const writeConcern = { w: 1, journal: false };
    await Promise.all(
      this.#loads.map(async (ofWriter) => {
        for (let run = 0; run < runs; run++) {
          const n = this.#random.below(this.#collections);
          const load = ofWriter[n];
          if (!load) throw new Error('there is no load');
          const operations = Array.from({ length: runLength }, () => load.next());
          await db.collection<LoadDocument>(`c${n}`).bulkWrite(operations, { writeConcern });
        }
      }),
    );
    return runs * runLength * writers;
  }

  async #assertCounts(): Promise<void> {
    const { source, destination } = this.#ground.clients;
    const countOf = async (client: MongoClient): Promise<number> => {
      let sum = 0;
      for (let n = 0; n < this.#collections; n++)
        sum += await client.db(database).collection(`c${n}`).estimatedDocumentCount();
      return sum;
    };
    const [there, here] = [await countOf(source), await countOf(destination)];
    if (there !== here) throw new Error(`${there} documents on the source, ${here} copied`);
    const states = [source, destination].map(async (client) => await hotState(client.db(database)));
    const [hotThere, hotHere] = await Promise.all(states);
    if (!isDeepStrictEqual(hotThere, hotHere)) throw new Error('the hot document differs');
  }
}
