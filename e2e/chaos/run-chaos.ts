import assert from 'node:assert/strict';
import { MongoClient, MongoError } from 'mongodb';
import { messageOf } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';
import { assertEqualClusters } from '../ground/compare.ts';
import {
  startProxiedReplicaSet,
  type ProxiedReplicaSet,
} from '../ground/mongod/proxied-replica-set.ts';
import { keepLog } from '../ground/keep-log.ts';
import { emptyCluster } from '../ground/mongod/empty-cluster.ts';
import { startSyncerProcess, type SyncerProcess } from '../ground/syncer-process.ts';
import { checkTrace } from '../model/trace.ts';
import { RandomWorkload } from '../ground/workload/random-workload.ts';
import { FaultMaker } from './cause-fault.ts';
import {
  drawSchedule,
  scheduleText,
  type FaultSchedule,
  type ScheduleLength,
  type SideName,
} from './fault-schedule.ts';
import { giveCommand, reachProgress } from './give-command.ts';
import { Ledger } from './ledger.ts';
import { watchProgress } from './progress-watch.ts';

/** Users that write at the same time. */
const writers = 2;

/**
 * How long a sync may take to catch up once the last fault has passed: a write or a change of the catalog gives up a
 * connection that is silent alone after 120 s.
 */
const recoveryMs = 240_000;

const forward = { source: 'cluster0', destination: 'cluster1' } as const;

interface Run {
  readonly seed: number;
  readonly length: ScheduleLength;
  readonly schedule: FaultSchedule;
  readonly workload: RandomWorkload;
  /** Resolves when there is something to copy. */
  readonly prepared: Promise<void>;
  readonly syncer: SyncerProcess;
  readonly faults: FaultMaker;
  readonly clients: Readonly<Record<SideName, MongoClient>>;
  readonly signal: AbortSignal;
}

/** Two replica sets of three members, kept from run to run. */
export class ChaosGround implements AsyncDisposable {
  readonly #sides: Readonly<Record<SideName, ProxiedReplicaSet>>;

  private constructor(sides: Readonly<Record<SideName, ProxiedReplicaSet>>) {
    this.#sides = sides;
  }

  static async start(): Promise<ChaosGround> {
    const [source, destination] = await Promise.all(
      (['source', 'destination'] as const).map(
        async (name) => await startProxiedReplicaSet({ members: 3, name, electionTimeoutMs: 2000 }),
      ),
    );
    assert.ok(source && destination);
    return new ChaosGround({ source, destination });
  }

  /**
   * One run. The invariant: whatever happens to the syncer, the servers and the network, as long as it passes,
   *
   * - every write that a majority of the source acknowledged before the commit is on the destination after COMMITTED, and
   *   nothing else is there: documents byte for byte, collections, options, indexes;
   * - no process needs a person's help once the fault has passed: what was killed is started again, and that is all;
   * - progress never says something false, at any moment (see {@link watchProgress}).
   *
   * Rejects with what is wrong, the faults, and how to run the seed again.
   */
  async run(seed: number, length: ScheduleLength): Promise<void> {
    const schedule = drawSchedule(seed, length);
    await using source = await this.#connect('source');
    await using destination = await this.#connect('destination');
    await Promise.all([emptyCluster(source), emptyCluster(destination)]);
    const workload = new RandomWorkload(source, seed, {
      isPassing: (error) => error instanceof MongoError,
    });
    // Both take seconds, and the syncer touches nothing before a sync is started.
    const prepared = workload.prepare();
    prepared.catch(() => undefined);
    for (const side of ['source', 'destination'] as const)
      for (const proxy of this.#sides[side].proxies) proxy.slow(schedule.roundTripsMs[side]);
    await using syncer = await startSyncerProcess({
      cluster0: this.#sides.source.set.uri('syncer'),
      cluster1: this.#sides.destination.set.uri('syncer'),
      // Small partitions, so that small collections are split too.
      options: { partitionMebibytes: 0.05 },
    });
    const ended = new AbortController();
    const faults = new FaultMaker({ syncer, sides: this.#sides });
    const clients = { source, destination };
    const { signal } = ended;
    const run = { seed, length, schedule, workload, prepared, syncer, faults, clients, signal };
    const watched = watchProgress(syncer, () => faults.syncerFaults, ended.signal);
    const synced = this.#sync(run);
    try {
      await Promise.race([synced, Promise.all([synced, watched])]);
      ended.abort();
      await watched;
    } catch (error) {
      // All faults have passed before the next run.
      ended.abort();
      await Promise.allSettled([watched, synced]);
      throw await explained(error, run);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const side of Object.values(this.#sides)) await side[Symbol.asyncDispose]();
  }

  /** A connection of its own for each run: one that saw its server step down and come back refuses some commands. */
  async #connect(side: SideName): Promise<MongoClient> {
    const { set } = this.#sides[side];
    await set.primary();
    return new MongoClient(set.uri('admin', { w: 'majority' }));
  }

  async #sync(run: Run): Promise<void> {
    const { schedule, workload, prepared, syncer, faults, clients, signal } = run;
    const { source, destination } = clients;
    const { buildIndexes, enableUserWriteBlocking } = schedule;
    const ledger = new Ledger();
    await prepared;
    await syncer.start({ ...forward, buildIndexes, enableUserWriteBlocking });
    using writing = endAfter(schedule.writingMs, signal);
    await Promise.all([
      workload.run(writers, writing.signal),
      ledger.write(source, writing.signal),
      faults.cause(schedule.sync, signal),
      pauseAndResume(run),
    ]);
    using recovering = endAfter(recoveryMs, signal);
    const recovery = recovering.signal;
    await reachProgress(syncer, ({ canCommit }) => canCommit, recovery);
    await Promise.all([
      giveCommand(syncer, 'commit', () => faults.syncerFaults, recovery),
      faults.cause(schedule.commit, signal),
    ]);
    await reachProgress(syncer, ({ state }) => state === 'COMMITTED', recovery);
    assert.ok(ledger.acknowledged > 0, 'nothing was acknowledged');
    await ledger.assertIn(destination);
    const [there, here] = [this.#sides.source.set, this.#sides.destination.set];
    await assertEqualClusters(there.uri('admin'), here.uri('admin'));
    assert.ok(checkTrace(await syncer.log()) > 0, 'nothing was judged');
  }
}

/** Pauses and resumes the sync, whatever goes wrong in the meantime. */
async function pauseAndResume({ schedule, syncer, faults, signal }: Run): Promise<void> {
  using lasting = endAfter(schedule.writingMs + recoveryMs, signal);
  const startedAtMs = performance.now();
  for (const { atMs, forMs } of schedule.pauses) {
    await sleep(Math.max(0, startedAtMs + atMs - performance.now()), lasting.signal);
    await giveCommand(syncer, 'pause', () => faults.syncerFaults, lasting.signal);
    await sleep(forMs, lasting.signal);
    await giveCommand(syncer, 'resume', () => faults.syncerFaults, lasting.signal);
  }
}

/** A signal that is aborted after a time, or with another one. (Signals with a timeout may be collected while they wait.) */
function endAfter(ms: number, signal: AbortSignal): { readonly signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const end = (): void => {
    controller.abort();
  };
  const timer = setTimeout(end, ms);
  signal.addEventListener('abort', end, { once: true });
  return {
    signal: controller.signal,
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
    },
  };
}

/** The error with the faults, the way to run the seed again, and where the syncer's log is. */
async function explained(error: unknown, { seed, length, schedule, syncer }: Run): Promise<Error> {
  const log = await keepLog(syncer, `chaos-${length}-${seed}`);
  const again = `make chaos LENGTH=${length} SEED=${seed}`;
  return new Error(
    `seed ${seed}: ${messageOf(error)}\n\n${scheduleText(schedule)}\n\nagain: ${again}\nlog: ${log}`,
    { cause: error },
  );
}
