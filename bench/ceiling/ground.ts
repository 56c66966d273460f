import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MongoClient } from 'mongodb';
import { emptyCluster } from '../../e2e/ground/mongod/empty-cluster.ts';
import { startSyncerProcess, type SyncerProcess } from '../../e2e/ground/syncer-process.ts';
import { MixedLoad, writeInBulk, type LoadDocument } from '../changes/operations.ts';
import { startCopyGround, type CopyGround } from '../copy/measure.ts';
import { cpuSecondsOf } from '../process-usage.ts';
import { sleep } from '../../service/sleep.ts';
import { ceilingSets, database, documentOf, type CeilingSet } from './documents.ts';
import { sharesIn, type Share } from './profile.ts';
import { StandIn } from './stand-ins.ts';

const never = new AbortController().signal;
/** Each question costs the syncer milliseconds of CPU time, which would count. */
const pollMs = 500;
const writers = 4;
const mostShares = 15;

/** How much there really is of a set, which decides into how many partitions it is cut. */
const realBytes = 8_000_000;
const partitionMebibytes = 0.5;

/** What instances have moved, and the CPU time that they took for it. */
export interface Moved {
  readonly what: CeilingSet | 'changes';
  readonly instances: number;
  /** Bytes of a set, or changes. */
  readonly amount: number;
  readonly seconds: number;
  /** Of all instances together. */
  readonly cpuSeconds: number;
  /** Of both stand-ins. */
  readonly standInCpuSeconds: number;
  /** What took the time of the main threads, where that was measured. */
  readonly shares: readonly Share[];
}

/** Two replica sets with stand-ins before them. */
export class CeilingGround implements AsyncDisposable {
  readonly #ground: CopyGround & AsyncDisposable;
  readonly #standIns: Readonly<Record<'source' | 'destination', StandIn>>;

  private constructor(
    ground: CopyGround & AsyncDisposable,
    standIns: Readonly<Record<'source' | 'destination', StandIn>>,
  ) {
    this.#ground = ground;
    this.#standIns = standIns;
  }

  /** @param bytesOfFind - how much each find of a copy returns. */
  static async start(bytesOfFind: number): Promise<CeilingGround> {
    const started = new Map<string, StandIn>();
    const ground = await startCopyGround({
      frontOf: (side) => async (targetPort) => {
        const standIn = await StandIn.start({ side, targetPort, bytesOfFind });
        started.set(side, standIn);
        return `127.0.0.1:${standIn.port}`;
      },
    });
    const [source, destination] = [started.get('source'), started.get('destination')];
    if (!source || !destination) throw new Error('a side has no stand-in');
    return new CeilingGround(ground, { source, destination });
  }

  /** Copies a set. */
  async copy(set: CeilingSet, instances: number, isProfiled: boolean): Promise<Moved> {
    const { clients } = this.#ground;
    await this.#empty();
    const documents = Array.from({ length: Math.ceil(realBytes / ceilingSets[set]) }, () =>
      documentOf(set),
    );
    await clients.source.db(database).collection(set).insertMany(documents);
    return await this.#profiled(isProfiled, async () => {
      await using syncers = await this.#syncers(instances);
      await start(syncers.all);
      const copied = async (): Promise<number> => await sumOf(syncers.all, 'estimatedCopiedBytes');
      while ((await copied()) === 0) await sleep(pollMs, never);
      const before = await copied();
      const spent = await this.#spent(syncers.all, async () => {
        for (const one of syncers.all)
          while ((await one.progress()).info === 'collection copy') await sleep(pollMs, never);
      });
      const amount = (await copied()) - before;
      await syncers.end();
      return { what: set, instances, amount, ...spent };
    });
  }

  /**
   * Applies changes: real ones first, which the stand-in records, and then those again and again.
   * @param count - how many are real.
   */
  async applyChanges(
    count: number,
    rounds: number,
    instances: number,
    isProfiled: boolean,
  ): Promise<Moved> {
    const { source } = this.#standIns;
    await this.#empty();
    const loads = Array.from({ length: writers }, (_, writer) => new MixedLoad(writer));
    const rows = this.#ground.clients.source.db(database).collection<LoadDocument>('rows');
    for (const load of loads) await rows.insertMany(load.documents(1_000));
    return await this.#profiled(isProfiled, async () => {
      await using syncers = await this.#syncers(instances);
      await start(syncers.all);
      for (const one of syncers.all)
        await one.waitFor(({ canCommit }) => canCommit, { deadlineMs: 600_000 });
      for (const one of syncers.all) await one.kill('SIGSTOP');
      await source.tell({ kind: 'record' });
      const lists = loads.map((load) =>
        Array.from({ length: Math.ceil(count / writers) }, () => load.next()),
      );
      await writeInBulk(rows, lists);
      const real = lists.flat().length;
      for (const one of syncers.all) await one.kill('SIGCONT');
      const applied = async (): Promise<number> => await sumOf(syncers.all, 'totalEventsApplied');
      while ((await applied()) < real) await sleep(pollMs, never);
      const before = await applied();
      const spent = await this.#spent(syncers.all, async () => {
        await source.tell({ kind: 'replay', rounds });
        while ((await applied()) - before < real * rounds) await sleep(pollMs, never);
      });
      const amount = (await applied()) - before;
      await source.tell({ kind: 'pass' });
      await syncers.end();
      return { what: 'changes', instances, amount, ...spent };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ground[Symbol.asyncDispose]();
    for (const standIn of Object.values(this.#standIns)) await standIn[Symbol.asyncDispose]();
  }

  async #empty(): Promise<void> {
    await Promise.all(
      Object.values(this.#ground.clients).map(async (client: MongoClient) => {
        await emptyCluster(client);
      }),
    );
  }

  async #syncers(count: number): Promise<Syncers> {
    const { source, destination } = this.#ground;
    const indexes = Array.from({ length: count }, (_, index) => index);
    const ids = indexes.map((index) => `syncer-${index}`).join();
    const all: SyncerProcess[] = [];
    for (const instance of indexes) {
      const options = { partitionMebibytes, logLevel: 'info', ...(count > 1 && { ids, instance }) };
      const [cluster0, cluster1] = [source.uri('syncer'), destination.uri('syncer')];
      all.push(await startSyncerProcess({ cluster0, cluster1, options }));
    }
    return new Syncers(all);
  }

  async #spent(
    syncers: readonly SyncerProcess[],
    run: () => Promise<void>,
  ): Promise<Pick<Moved, 'seconds' | 'cpuSeconds' | 'standInCpuSeconds'>> {
    const cpuOf = async (pids: readonly (number | undefined)[]): Promise<number> =>
      (await Promise.all(pids.map(cpuSecondsOf))).reduce((sum, each) => sum + each, 0);
    const own = syncers.map(({ pid }) => pid);
    const others = Object.values(this.#standIns).map(({ pid }) => pid);
    const before = [await cpuOf(own), await cpuOf(others)] as const;
    const startMs = performance.now();
    await run();
    const seconds = (performance.now() - startMs) / 1_000;
    return {
      seconds,
      cpuSeconds: (await cpuOf(own)) - before[0],
      standInCpuSeconds: (await cpuOf(others)) - before[1],
    };
  }

  /** @param isProfiled - whether to find out what takes the time. The figures are worse then. */
  async #profiled(isProfiled: boolean, run: () => Promise<Omit<Moved, 'shares'>>): Promise<Moved> {
    if (!isProfiled) return { ...(await run()), shares: [] };
    const folder = await mkdtemp(join(tmpdir(), 'clustersync-profile-'));
    process.env['NODE_OPTIONS'] = `--cpu-prof --cpu-prof-dir=${folder}`;
    try {
      const moved = await run();
      return { ...moved, shares: await sharesIn(folder, mostShares) };
    } finally {
      delete process.env['NODE_OPTIONS'];
      await rm(folder, { recursive: true });
    }
  }
}

/** The instances of a sync. */
class Syncers implements AsyncDisposable {
  readonly all: readonly SyncerProcess[];

  constructor(all: readonly SyncerProcess[]) {
    this.all = all;
  }

  /** Ends them in order, so that their profiles are written. */
  async end(): Promise<void> {
    for (const one of this.all) await one.kill('SIGTERM');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.all) await one[Symbol.asyncDispose]();
  }
}

async function start(syncers: readonly SyncerProcess[]): Promise<void> {
  await Promise.all(
    syncers.map(async (one) => {
      await one.start({ source: 'cluster0', destination: 'cluster1' });
    }),
  );
}

async function sumOf(
  syncers: readonly SyncerProcess[],
  figure: 'estimatedCopiedBytes' | 'totalEventsApplied',
): Promise<number> {
  const all = await Promise.all(syncers.map(async (one) => await one.progress()));
  const values = all.map(({ collectionCopy, totalEventsApplied }) =>
    figure === 'totalEventsApplied' ? totalEventsApplied : collectionCopy?.estimatedCopiedBytes,
  );
  return values.reduce<number>((sum, each) => sum + (each ?? 0), 0);
}
