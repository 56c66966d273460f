import { once } from 'node:events';
import { naming } from '../../mongo/named-error.ts';
import { deploymentDigest, HostProof } from '../../mongo/proven-hosts.ts';
import { retrying } from '../../mongo/retrying.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import type { CheckAnswer, SyncerProgressAnswer, TopologyAnswer } from '../../sync-api/json.ts';
import { blockedClusters } from '../destination/write-blocking.ts';
import { registerStateMetrics } from '../monitor/metrics.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import { watchOplog } from '../monitor/watch-oplog.ts';
import {
  parseLimits,
  parseRepairBody,
  parseResetBody,
  parseStart,
  type ResetDestination,
} from '../options/command-bodies.ts';
import { listedIds, type SyncerOptions } from '../options/syncer-options.ts';
import type { CheckSettings } from '../preflight/full-check.ts';
import { type Receipt, receiveReset, recordOf } from '../reset/receive-reset.ts';
import {
  askerOf,
  type ClusterPair,
  type Clusters,
  clusterConnection,
  createClusters,
} from '../store/clusters.ts';
import { digestOf } from '../store/instances.ts';
import type { SyncRecord } from '../store/records.ts';
import {
  type Command,
  notAllowed,
  type PlainCommand,
  requireNoParameters,
} from '../store/transitions.ts';
import { readStoredState, recall, tellTopology, untilBooted } from './boot.ts';
import { CommandQueue } from './command-queue.ts';
import { progressOf } from './progress.ts';
import { checkBeforeStart, checkStart, startSync } from './start-sync.ts';
import { Sync } from './sync.ts';

/** How long after its start a process lets commands wait for the stored state. */
const openingMs = 10_000;

/** How often a paused instance reads the record. */
const pausedLookMs = 1_000;

/**
 * A sync tool: at most one sync, and the requests to it. Once created it knows nothing; `run` reads the stored state.
 *
 * Commands wait until that is read, or until waiting is pointless: the process was started a while ago, or a permanent error
 * prevents the read. They run one after the other. A command may say which sync it is for, by the digest of that sync's start
 * options: another sync accepts none (DifferentSync).
 */
export class Syncer {
  readonly monitor = new SyncMonitor();
  readonly #options: SyncerOptions;
  readonly #logger: Logger;
  readonly #clusters: Clusters;
  /** Of cluster1. */
  readonly #hostProof: HostProof;
  readonly #commands = new CommandQueue();
  /** Resolved when commands no longer wait for the stored state. */
  readonly #opening = Promise.withResolvers<undefined>();
  /** Known once the stored state has been read. */
  #pair: ClusterPair | undefined;
  #found: Sync | undefined;
  /** Resolved when the latest check has ended. */
  #checked = Promise.resolve();
  #bootError = new SyncError('NotStarted', 'the stored state has not been read yet');
  #signal = AbortSignal.abort();

  constructor(options: SyncerOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    this.#clusters = createClusters(options);
    this.#hostProof = new HostProof(clusterConnection('cluster1', options));
    registerStateMetrics(this.monitor, () => this.#sync);
  }

  /** True once the stored state has been read, so that commands are accepted. */
  get isReady(): boolean {
    return this.#pair !== undefined;
  }

  /** Reads the stored state, continues a sync that was under way, and works until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const stopped = untilAborted(signal);
    const opening = setTimeout(this.#opening.resolve, openingMs, undefined);
    const needed = (): Sync['neededOplog'] => (this.#pair ? this.#sync?.neededOplog : undefined);
    const watching = watchOplog(needed, this.#clusters, this.monitor, this.#logger, signal);
    const watchingPaused = this.#watchPaused();
    try {
      await this.#boot();
      await stopped;
      await this.#found?.stopped;
      await watching;
      await watchingPaused;
      await this.#hostProof.ended;
      // It takes back what it has written.
      await this.#checked;
    } finally {
      clearTimeout(opening);
      await this.#clusters.cluster0[Symbol.asyncDispose]();
      await this.#clusters.cluster1[Symbol.asyncDispose]();
    }
  }

  /** The body of GET /progress. @throws SyncError if there is none to return, or the sync has failed. */
  progress(): SyncerProgressAnswer {
    this.#needPair();
    const sync = this.#sync;
    if (sync?.failure) throw sync.failure;
    return progressOf(sync);
  }

  /**
   * The topology of cluster0, as it reports it now: also while the stored state cannot be read.
   * @throws SyncError if it does not report it.
   */
  async topology(): Promise<TopologyAnswer> {
    if (this.#signal.aborted) throw this.#bootError;
    return { topology: await tellTopology(this.#clusters.cluster0, this.#signal) };
  }

  /** Which sync progress reports on, or which has failed; undefined if there is none, or nothing is known of it. */
  optionsDigest(): string | undefined {
    const view = this.#sync?.view;
    return view && digestOf(view);
  }

  /**
   * The hosts of cluster1 at which this process has logged in, as {@link HostProof} has them, and which deployment that is, from
   * {@link deploymentDigest}; undefined if both clusters are not known, or another process has the sync.
   */
  destination(): { readonly hosts: string; readonly deployment: string } | undefined {
    const isSuperseded = this.#sync?.failure?.name === 'SupersededByOtherInstance';
    if (!this.#pair || isSuperseded) return undefined;
    const deployment = deploymentDigest(this.#pair.topologies.cluster1);
    return { hosts: this.#hostProof.hosts, deployment };
  }

  /**
   * POST /start. Resolves when ordinary users cannot write to the destination, if that is requested.
   * @throws SyncError for anything that forbids it; nothing has been written then, unless users could not be blocked.
   */
  async start(body: unknown, digest?: string): Promise<void> {
    await this.#opening.promise;
    await this.#commands.run(async () => {
      await startSync(body, digest, {
        known: this.#sync,
        needPair: () => this.#needPair(),
        adopt: (record, pair) => this.#adopt(record, pair),
        ...{ monitor: this.monitor, logger: this.#logger },
      });
    });
  }

  /**
   * POST /preflight: whether a start with this body would be accepted, or is the one that the sync was started with. Writes
   * nothing.
   * @throws SyncError as start does; DifferentSync if the sync was started with other options.
   */
  async preflight(body: unknown): Promise<void> {
    const request = parseStart(body);
    await this.#opening.promise;
    await this.#commands.run(async () => {
      const sync = this.#sync;
      const known = sync?.view && sync.live.stored;
      await naming(async () => {
        await checkStart(this.#needPair(), request, known, this.#logger);
      });
    });
  }

  /**
   * POST /check: everything about a start with this body that a person should know before it. Writes nothing, unless the speed of
   * the copy is to be measured.
   * @param caller - aborted once nobody waits for the answer.
   * @throws SyncError for a body that no start accepts; InvalidStateTransition if there is a sync already.
   */
  async check(body: unknown, settings: CheckSettings, caller: AbortSignal): Promise<CheckAnswer> {
    const request = parseStart(body);
    await this.#opening.promise;
    return await this.#commands.run(async () => {
      const pair = this.#needPair().until(caller);
      const known = this.#sync?.view;
      const checking = naming(
        async () => await checkBeforeStart(pair, request, known, settings, this.#logger),
      );
      this.#checked = checking.then(
        () => undefined,
        () => undefined,
      );
      return await checking;
    });
  }

  /** POST /pause. Resolves when the work has stopped and the sync is PAUSED. @throws SyncError InvalidStateTransition. */
  async pause(body: unknown, digest?: string): Promise<void> {
    await this.#tell('pause', body, async (sync) => {
      await sync.pause(digest);
    });
  }

  /** POST /resume. Resolves when the sync is RUNNING. @throws SyncError InvalidStateTransition. */
  async resume(body: unknown, digest?: string): Promise<void> {
    await this.#tell('resume', body, async (sync) => {
      await sync.resume(digest);
    });
  }

  /**
   * POST /commit. Resolves when the sync is COMMITTING.
   * @param caller - aborted once nobody waits for the answer: the commit is not started then.
   * @throws SyncError CannotCommitYet, InvalidStateTransition, FeatureVersionNotSupported.
   */
  async commit(body: unknown, digest: string | undefined, caller: AbortSignal): Promise<void> {
    await this.#commands.answerCommit(async () => {
      const work = await this.#tell(
        'commit',
        body,
        async (sync) => await sync.commit(digest, caller),
      );
      // Other commands need not wait for a slow source: they are refused by now.
      await work?.fixCommitTime();
    });
  }

  /**
   * POST /reverse. Resolves when the sync is RUNNING in the other direction. @throws SyncError for anything that forbids it.
   */
  async reverse(body: unknown, digest?: string): Promise<void> {
    await this.#tell('reverse', body, async (sync) => {
      await sync.reverse(digest);
    });
  }

  /**
   * POST /repair. Resolves when the sync starts over, from a new start time, with the documents that are on the destination.
   * @throws SyncError InvalidStateTransition, SupersededByOtherInstance.
   */
  async repair(body: unknown, digest?: string): Promise<void> {
    const comparison = parseRepairBody(body);
    await this.#give('repair', async (sync) => {
      await sync.repair(comparison, digest);
    });
  }

  /**
   * POST /limits. Resolves when the limits are stored, and hold in this process; they replace all previous ones.
   * @throws SyncError InvalidStateTransition if there is no sync, InvalidBody, ResetUnderWay.
   */
  async limits(body: unknown, digest?: string): Promise<void> {
    const limits = parseLimits(body);
    await this.#opening.promise;
    await this.#commands.run(async () => {
      this.#needPair();
      const sync = this.#sync;
      if (!sync?.view)
        throw new SyncError(
          'InvalidStateTransition',
          'limits is allowed once a sync exists: pass limits to start; the state is IDLE',
        );
      sync.requireDigest(digest);
      await naming(async () => {
        await sync.setLimits(limits);
      });
      this.#logger.info({ limits }, 'limits changed');
    });
  }

  /**
   * POST /reset. Resolves when it is stored that the sync will end for good, and immediately if there is none.
   * @throws SyncError DifferentSync, CleanNotAllowed, ResetUnderWay.
   */
  async reset(body: unknown, digest?: string): Promise<void> {
    const destination = parseResetBody(body);
    await this.#opening.promise;
    await this.#commands.run(async () => {
      const pair = this.#needPair();
      this.#sync?.requireDigest(digest);
      await this.#commands.carryOut('reset', async () => {
        await naming(async () => {
          await this.#receiveReset(pair, destination, digest);
        });
      });
    });
  }

  /** The sync of this instance, or one that other instances have been given. */
  get #sync(): Sync | undefined {
    return this.#found?.isOver === true ? undefined : this.#found;
  }

  async #tell<T>(
    command: PlainCommand,
    body: unknown,
    act: (sync: Sync) => Promise<T>,
  ): Promise<T> {
    requireNoParameters(command, body);
    return await this.#give(command, act);
  }

  /** Gives a command to the sync when its turn comes. @throws SyncError InvalidStateTransition if there is none. */
  async #give<T>(command: Exclude<Command, 'start'>, act: (sync: Sync) => Promise<T>): Promise<T> {
    await this.#opening.promise;
    return await this.#commands.run(async () => {
      this.#needPair();
      const sync = this.#sync;
      if (!sync) throw notAllowed(command, 'IDLE');
      return await act(sync);
    });
  }

  /** What this process knows may be another sync than the stored one, or none: the record in the store decides. */
  async #receiveReset(
    pair: ClusterPair,
    destination: ResetDestination,
    digest: string | undefined,
  ): Promise<void> {
    const { signal } = pair;
    let receipt: Receipt = { kind: 'received', record: undefined };
    await retrying({ signal, logger: this.#logger, monitor: this.monitor }, 'command', async () => {
      receipt = await receiveReset(pair, this.#sync?.live.stored, destination, { digest });
    });
    const record = recordOf(receipt);
    if (record && this.#sync) this.#sync.live.adopt(record);
    else if (record) this.#adopt(record, pair);
    this.#logger.info({ destination, isStored: record !== undefined }, 'reset requested');
    const sync = this.#sync;
    sync?.beginReset();
    if (!record) await sync?.ended;
  }

  /** Adopts a record from the store as that of the current sync. */
  #adopt(record: SyncRecord, pair: ClusterPair): Sync {
    const sync = new Sync(record, pair, this.monitor, this.#commands, this.#options, this.#logger);
    this.#found = sync;
    return sync;
  }

  async #boot(): Promise<void> {
    const boot = async (): Promise<void> => {
      await this.#readState();
    };
    await untilBooted(this.#logger, this.#signal, boot, (error) => {
      this.#bootError = error;
      if (!error.row.retryable) this.#opening.resolve(undefined);
    });
    this.#opening.resolve(undefined);
  }

  async #readState(): Promise<void> {
    const { id, continues } = this.#options;
    const instance = { id, ids: listedIds(this.#options) };
    const { pair, record } = await readStoredState(this.#clusters, instance, this.#signal);
    if (record) {
      pair.requireMember(record);
      await recall(this.monitor, record, pair);
      const { live } = this.#adopt(record, pair);
      if (live.isShared) await live.refresh();
    }
    this.#pair = pair;
    const deployment = pair.topologies.cluster1;
    this.#hostProof.begin({ ...askerOf(this.#options), deployment }, this.#signal);
    const view = this.#sync?.view;
    const blocked = view ? blockedClusters(view) : [];
    this.#logger.info({ state: view?.state ?? 'IDLE', blocked }, 'ready');
    // A process that only looks at a stored sync, or is meant for another one, changes nothing.
    if (!record) return;
    const digest = digestOf(record);
    if (continues === 'any' || continues === digest) this.#sync?.continue();
    else this.#logger.info({ continues, digest }, 'the stored sync is not continued');
  }

  /** Reads the record while this instance is paused, until the signal is aborted. */
  async #watchPaused(): Promise<void> {
    const signal = this.#signal;
    while (!signal.aborted) {
      await this.#sync?.commitGate.lookWhilePaused();
      await sleep(pausedLookMs, signal).catch(() => undefined);
    }
  }

  /** @throws SyncError while the stored state has not been read. */
  #needPair(): ClusterPair {
    if (!this.#pair) throw this.#bootError;
    return this.#pair;
  }
}

/** Resolves when the signal is aborted, immediately if it already is: listeners added later are not called. */
async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
