import { latestWriteTime } from '../mongo/cluster-time.ts';
import { NamespaceFilter, serverMatcher } from '../mongo/namespace-filter.ts';
import { namedError, naming } from '../mongo/named-error.ts';
import { retrying } from '../mongo/retrying.ts';
import { SyncError } from '../service/errors.ts';
import type { Logger } from '../service/logger.ts';
import { Mutex } from '../service/mutex.ts';
import { backoffMs, sleep } from '../service/sleep.ts';
import { parseStartBody, type ClusterName, type StartOptions } from './api/start-body.ts';
import { readStoredState } from './boot.ts';
import { createClusters, type Clusters, type Topologies } from './clusters.ts';
import { requireNoParameters, stateAfter, type Command } from './commands/transitions.ts';
import { blockedClusters, blockedText } from './commit/write-blocking.ts';
import { requireMember } from './coordination/instances.ts';
import { LiveSync } from './live-sync.ts';
import { registerStateMetrics } from './metrics.ts';
import { SyncMonitor } from './monitor.ts';
import type { SyncerOptions } from './options.ts';
import { neededOplog, type NeededOplog } from './outlook/oplog-outlook.ts';
import { watchOplog } from './outlook/watch-oplog.ts';
import { checkReverse } from './reverse/check-reverse.ts';
import { canCommit, idleProgress, syncProgress } from './progress.ts';
import type { SyncRecord } from './state/records.ts';
import { checkStart, startSync, type StartParts } from './start-sync.ts';
import { SyncStore } from './state/store.ts';
import { SyncWork } from './sync-work.ts';

/**
 * A sync tool: at most one sync, its commands, its progress. Created, it knows nothing; `run` reads the stored state.
 *
 * Commands come one after the other. Each is carried out in the store before it is answered, so that after a crash, or
 * for a client that has gone away meanwhile, the state is either the one before the command or the one after it.
 */
export class Syncer {
  readonly monitor = new SyncMonitor();
  readonly #options: SyncerOptions;
  readonly #logger: Logger;
  readonly #clusters: Clusters;
  readonly #commands = new Mutex();
  readonly #live: LiveSync;
  #topologies: Topologies | undefined;
  #bootError = new SyncError('NotStarted', 'the stored state has not been read yet');
  #work: SyncWork | undefined;
  #workEnded = Promise.resolve();
  #failure: SyncError | undefined;
  #signal = AbortSignal.abort();

  constructor(options: SyncerOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    this.#clusters = createClusters(options);
    this.#live = new LiveSync(options.id, ({ destination }) => this.#storeOn(destination.name));
    registerStateMetrics(this.monitor, {
      record: () => this.#live.record,
      hasFailed: () => this.#failure !== undefined,
    });
  }

  /** True when the stored state has been read, so that commands are taken. */
  get isReady(): boolean {
    return this.#topologies !== undefined;
  }

  get #neededOplog(): NeededOplog | undefined {
    const { record } = this.#live;
    // No router shows the oplogs of its shards.
    if (!record || this.#topologies?.[record.source.name].kind !== 'replicaSet') return undefined;
    return neededOplog(record, this.monitor.appliedTime);
  }

  /** Reads the stored state, goes on with a sync that was under way, and works until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const stopped = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => {
        resolve(undefined);
      });
    });
    const watching = watchOplog({
      needed: () => this.#neededOplog,
      clusters: this.#clusters,
      monitor: this.monitor,
      logger: this.#logger,
      signal,
    });
    try {
      await this.#boot();
      await stopped;
      await this.#workEnded;
      await watching;
    } finally {
      await this.#clusters.cluster0[Symbol.asyncDispose]();
      await this.#clusters.cluster1[Symbol.asyncDispose]();
    }
  }

  /** The body of GET /progress. @throws SyncError when there is none to give, or the sync has failed. */
  progress(): object {
    const topologies = this.#needTopologies();
    if (this.#failure) throw this.#failure;
    const { record } = this.#live;
    if (!record) return idleProgress();
    const isWorking = this.#work?.isUnderWay ?? false;
    const isAtRest = record.state === 'PAUSED' || record.state === 'COMMITTED';
    const alone = isWorking || isAtRest ? this.#options.id : null;
    return syncProgress(record, {
      syncerId: this.#options.id,
      coordinatorId: this.#live.isShared ? this.#live.coordinator : alone,
      isWorking,
      sourceHost: topologies[record.source.name].host,
      destinationHost: topologies[record.destination.name].host,
      monitor: this.monitor,
    });
  }

  /** POST /start. @throws SyncError for whatever forbids it; nothing has been written then. */
  async start(body: unknown): Promise<void> {
    await this.#commands.run(async () => {
      this.#require('start');
      const options = parseStartBody(body);
      await naming(async () => {
        await startSync(this.#startParts, options);
      });
      this.#logger.info({ options }, 'started');
      this.#beginWork();
    });
  }

  /**
   * POST /preflight: whether a start of this body would be taken, or is the one that the sync was started with. Writes nothing.
   * @throws SyncError as start does; OtherStartOptions where the sync was started with others.
   */
  async preflight(body: unknown): Promise<void> {
    const options = parseStartBody(body);
    await this.#commands.run(async () => {
      await naming(async () => {
        await checkStart(this.#startParts, options);
      });
    });
  }

  /** POST /pause. Resolves when the work has stopped and the sync is PAUSED. @throws SyncError InvalidStateTransition. */
  async pause(body: unknown): Promise<void> {
    requireNoParameters('pause', body);
    await this.#commands.run(async () => {
      await this.#refresh();
      this.#require('pause');
      await this.#requireOwnership();
      await this.#work?.pause();
      await this.#workEnded;
      if (this.#failure) throw this.#failure;
      try {
        await this.#transition(async () => {
          await this.#live.setPaused(true);
        });
      } catch (error) {
        this.#beginWork();
        throw error;
      }
      this.#logger.info({ blocked: blockedClusters(this.#live.current) }, 'paused');
    });
  }

  /** POST /resume. Resolves when the sync is RUNNING. @throws SyncError InvalidStateTransition. */
  async resume(body: unknown): Promise<void> {
    requireNoParameters('resume', body);
    await this.#commands.run(async () => {
      await this.#refresh();
      this.#require('resume');
      await this.#requireOwnership();
      await this.#transition(async () => {
        await this.#live.setPaused(false);
      });
      this.#logger.info('resumed');
      this.#beginWork();
    });
  }

  /** POST /commit. Resolves when the sync is COMMITTING. @throws SyncError CannotCommitYet, InvalidStateTransition. */
  async commit(body: unknown): Promise<void> {
    requireNoParameters('commit', body);
    const work = await this.#commands.run(async () => {
      await this.#refresh();
      this.#require('commit');
      await this.#requireOwnership();
      await this.#transition(async () => {
        await this.#live.receive('commit', { state: 'COMMITTING' });
      });
      const { lagSeconds } = this.monitor;
      this.#logger.info({ lagSeconds, blocked: blockedClusters(this.#live.current) }, 'committing');
      return this.#work;
    });
    // Other commands need not wait for a source that is slow: they are refused by now.
    await work?.fixCommitTime();
  }

  /** POST /reverse. Resolves when the sync is RUNNING in the other direction. @throws SyncError for whatever forbids it. */
  async reverse(body: unknown): Promise<void> {
    requireNoParameters('reverse', body);
    await this.#commands.run(async () => {
      await this.#refresh();
      this.#require('reverse');
      await this.#requireOwnership();
      const { current } = this.#live;
      const storeOnSource = this.#storeOn(current.source.name);
      await naming(async () => {
        await checkReverse({
          record: this.#live.stored,
          clusters: this.#clusters,
          topologies: this.#needTopologies(),
          storeOnSource,
          signal: this.#signal,
        });
      });
      await this.#transition(async () => {
        await this.#live.receive('reverse', { state: 'RUNNING', phase: 'handover' });
      });
      this.#logger.info({ blocked: blockedClusters(this.#live.current) }, 'reversing');
      this.#beginWork();
    });
  }

  /** @throws SyncError when a command is not taken now. */
  #require(command: Command): void {
    this.#needTopologies();
    const { record } = this.#live;
    stateAfter(command, {
      state: record?.state ?? 'IDLE',
      canCommit: record !== undefined && canCommit(record) && (this.#work?.isUnderWay ?? false),
      isReversible: record?.options.reversible ?? false,
      failure: this.#failure,
    });
  }

  /** Finds out, before anything is changed, whether the store can be reached and is still this process's. */
  async #requireOwnership(): Promise<void> {
    await naming(async () => {
      await this.#work?.requireOwnership();
      await this.#live.requireUnchanged();
    });
  }

  async #transition(change: () => Promise<void>): Promise<void> {
    await naming(async () => {
      await this.#persisting(change);
    });
  }

  /** Finds out what other instances have been given. */
  async #refresh(): Promise<void> {
    if (!this.#live.isShared) return;
    await naming(async () => {
      await this.#live.refresh();
    });
  }

  /** Repeats a write to the store until it is known what has become of it. */
  async #persisting(write: () => Promise<void>): Promise<void> {
    const context = { signal: this.#signal, logger: this.#logger, monitor: this.monitor };
    await retrying(context, 'command', write);
  }

  async #boot(): Promise<void> {
    for (let attempt = 0; !this.#signal.aborted; attempt++) {
      try {
        const storeOn = (name: ClusterName): SyncStore => this.#storeOn(name);
        const { topologies, record: stored } = await readStoredState(
          this.#clusters,
          storeOn,
          this.#signal,
        );
        if (stored) {
          requireMember(stored, this.#options.id);
          await this.#recall(stored);
          this.#live.adopt(stored);
          if (this.#live.isShared) await this.#live.refresh();
        }
        this.#topologies = topologies;
        const { record } = this.#live;
        const blocked = record ? blockedClusters(record) : [];
        this.#logger.info({ state: record?.state ?? 'IDLE', blocked }, 'ready');
        if (record?.state === 'RUNNING' || record?.state === 'COMMITTING') this.#beginWork();
        return;
      } catch (error) {
        await this.#cannotBoot(error, attempt);
      }
    }
  }

  async #cannotBoot(error: unknown, attempt: number): Promise<void> {
    if (this.#signal.aborted) return;
    this.#bootError = namedError(error);
    const { name, message } = this.#bootError;
    this.#logger.warn({ attempt, error: name, reason: message }, 'cannot read the stored state');
    await sleep(backoffMs(attempt, { baseMs: 500, maxMs: 10_000 }), this.#signal).catch(
      () => undefined,
    );
  }

  /** Shows the figures of a stored sync as they were, so that progress tells the truth from its first answer on. */
  async #recall({ source, destination, startTime }: SyncRecord): Promise<void> {
    const instance = await this.#storeOn(destination.name).readInstance();
    if (instance) {
      this.monitor.beginWork({ ...instance, restarts: instance.claims - 1 });
    }
    this.monitor.appliedTime = instance?.appliedTime ?? startTime;
    this.monitor.latestTime = await latestWriteTime(this.#clusters[source.name], this.#signal);
  }

  #beginWork(): void {
    const work = new SyncWork({
      options: this.#options,
      logger: this.#logger,
      clusters: this.#clusters,
      topologies: this.#needTopologies(),
      monitor: this.monitor,
      live: this.#live,
      storeOn: (name, signal) => this.#storeOn(name, signal),
      filterOf: (options) => this.#filterOf(options),
      signal: this.#signal,
    });
    this.#work = work;
    this.#workEnded = work.ended.then(async (failure) => {
      if (failure) await this.#fail(failure);
    });
  }

  async #fail(error: SyncError): Promise<void> {
    const { name } = error;
    const blocked = blockedText(this.#live.current);
    const description = blocked === undefined ? error.message : `${error.message}; ${blocked}`;
    this.monitor.addError(error);
    this.#failure = new SyncError(name, description, { cause: error });
    this.#logger.error({ error: name, err: error, blocked }, 'the sync has stopped');
    if (name === 'SupersededByOtherInstance') return;
    await this.#live
      .update({ failure: { instance: this.#options.id, name, description, at: new Date() } })
      .catch((storeError: unknown) => {
        this.#logger.warn({ err: storeError }, 'the failure could not be stored');
      });
  }

  get #startParts(): StartParts {
    return {
      id: this.#options.id,
      clusters: this.#clusters,
      topologies: this.#needTopologies(),
      live: this.#live,
      storeOn: (name) => this.#storeOn(name),
      filterOf: (options) => this.#filterOf(options),
      persisting: async (write) => {
        await this.#persisting(write);
      },
      signal: this.#signal,
    };
  }

  #filterOf(options: StartOptions): NamespaceFilter {
    return new NamespaceFilter(
      options,
      serverMatcher(this.#clusters[options.source], this.#signal),
    );
  }

  #storeOn(destination: ClusterName, signal = this.#signal): SyncStore {
    return new SyncStore(this.#clusters[destination], this.#options.id, signal);
  }

  #needTopologies(): Topologies {
    if (!this.#topologies) throw this.#bootError;
    return this.#topologies;
  }
}
