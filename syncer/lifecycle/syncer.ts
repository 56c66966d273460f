import type { SyncerProgressAnswer, TopologyAnswer } from '../../sync-api/json.ts';
import { NamespaceFilter, serverMatcher } from '../../mongo/namespace-filter.ts';
import { namedError } from '../../mongo/named-error.ts';
import { provenHosts } from '../../mongo/proven-hosts.ts';
import { retrying } from '../../mongo/retrying.ts';
import { SyncError } from '../../service/errors.ts';
import { logOnce } from '../../service/log-once.ts';
import type { Logger } from '../../service/logger.ts';
import type { ClusterName, StartOptions } from '../options/start-body.ts';
import { readStoredState, recall, tellTopology, untilBooted } from './boot.ts';
import { askerOf, createClusters, type Clusters, type Topologies } from '../store/clusters.ts';
import { SyncCommands } from './sync-commands.ts';
import { commitWord, type CommitWord } from '../monitor/commit-word.ts';
import { blockedClusters, blockedText, withBlocked } from '../destination/write-blocking.ts';
import { digestOf, instancesWithoutCommand, requireMember } from '../store/instances.ts';
import { LiveSync } from '../store/live-sync.ts';
import { registerStateMetrics } from '../monitor/metrics.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';
import { neededOplog, type NeededOplog } from '../monitor/oplog-window.ts';
import { watchOplog } from '../monitor/watch-oplog.ts';
import { idleProgress, syncProgress } from './progress.ts';
import { carryOutReset } from '../reset/carry-out-reset.ts';
import { receiveReset, recordOf, type Receipt, type RecordPlaces } from '../reset/receive-reset.ts';
import type { StartParts } from './start-sync.ts';
import type { SyncRecord } from '../store/records.ts';
import type { ResetDestination } from '../options/reset-body.ts';
import { SyncStore } from '../store/store.ts';
import { SyncWork } from './sync-work.ts';
import { watchPaused } from './watch-paused.ts';

/** How long after its start a process lets commands wait for the stored state. */
const openingMs = 10_000;

/** A sync tool: at most one sync, its commands, its progress. Created, it knows nothing; `run` reads the stored state. */
export class Syncer {
  readonly monitor = new SyncMonitor();
  readonly commands: SyncCommands;
  readonly #options: SyncerOptions;
  readonly #logger: Logger;
  readonly #clusters: Clusters;
  readonly #live: LiveSync;
  /** Resolved when commands wait for the stored state no more. */
  readonly #opening = Promise.withResolvers<undefined>();
  #topologies: Topologies | undefined;
  #provenHosts = '';
  #proving = Promise.resolve();
  #bootError = new SyncError('NotStarted', 'the stored state has not been read yet');
  #work: SyncWork | undefined;
  #workEnded = Promise.resolve();
  #failure: SyncError | undefined;
  #isResetting = false;
  #signal = AbortSignal.abort();

  constructor(options: SyncerOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    this.#clusters = createClusters(options);
    this.#live = new LiveSync(options.id, ({ destination }) => this.#storeOn(destination.name));
    this.commands = new SyncCommands({
      opened: async () => {
        await this.#opening.promise;
      },
      startParts: () => this.#startParts,
      live: this.#live,
      monitor: this.monitor,
      logger,
      work: () => this.#work,
      workEnded: async () => {
        await this.#workEnded;
      },
      beginWork: () => {
        this.#beginWork();
      },
      commitWord: () => this.#commitWord,
      beginReset: async (destination) => {
        await this.#receiveReset(destination);
      },
      failure: () => this.#failure,
    });
    registerStateMetrics(this.monitor, {
      record: () => this.#live.record,
      isWorking: () => this.#work?.isUnderWay ?? false,
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
    const opening = setTimeout(this.#opening.resolve, openingMs, undefined);
    const watching = watchOplog({
      needed: () => this.#neededOplog,
      clusters: this.#clusters,
      monitor: this.monitor,
      logger: this.#logger,
      signal,
    });
    const watchingPaused = watchPaused({
      live: this.#live,
      storeOf: ({ destination }) => this.#storeOn(destination.name),
      monitor: this.monitor,
      logger: this.#logger,
      signal,
    });
    try {
      await this.#boot();
      await stopped;
      await this.#workEnded;
      await watching;
      await watchingPaused;
      await this.#proving;
    } finally {
      clearTimeout(opening);
      await this.#clusters.cluster0[Symbol.asyncDispose]();
      await this.#clusters.cluster1[Symbol.asyncDispose]();
    }
  }

  /** The body of GET /progress. @throws SyncError when there is none to give, or the sync has failed. */
  progress(): SyncerProgressAnswer {
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
      commit: this.#commitWord,
      sent: this.#live.sent,
      monitor: this.monitor,
    });
  }

  /**
   * What cluster0 is, as it says now: also while the stored state cannot be read.
   * @throws SyncError where it does not say.
   */
  async topology(): Promise<TopologyAnswer> {
    if (this.#signal.aborted) throw this.#bootError;
    return { topology: await tellTopology(this.#clusters.cluster0, this.#signal) };
  }

  /** Which sync it is that progress tells of, or has failed; undefined where there is none, or nothing is known of it. */
  optionsDigest(): string | undefined {
    const { record } = this.#live;
    return record && digestOf(record);
  }

  /**
   * At which hosts of cluster1 this process has logged in, as {@link provenHosts} has it; undefined where both clusters are not known,
   * or another process has the sync.
   */
  destination(): string | undefined {
    const isSuperseded = this.#failure?.name === 'SupersededByOtherInstance';
    return this.#topologies && !isSuperseded ? this.#provenHosts : undefined;
  }

  get #commitWord(): CommitWord {
    const { current, stored, sent } = this.#live;
    const isHalfGiven = stored.state === 'COMMITTING' && current.state !== 'COMMITTING';
    const evidence = {
      ...this.monitor.commitProofs.evidence,
      sentAgeMs: sent?.command === 'commit' ? performance.now() - sent.sentMs : null,
      isCommitInHand: this.commands.isCommitInHand,
      otherCommand: this.commands.otherInHand,
      troubles: this.monitor.troubles.warnings(),
      leftIndexes: this.monitor.leftIndexes,
      isWorking: this.#work?.isUnderWay ?? false,
      isShared: this.#live.isShared,
    };
    return commitWord(current, evidence, isHalfGiven ? instancesWithoutCommand(stored) : undefined);
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
    const storeOn = (name: ClusterName): SyncStore => this.#storeOn(name);
    const { topologies, record: stored } = await readStoredState(
      this.#clusters,
      storeOn,
      this.#signal,
    );
    if (stored) {
      requireMember(stored, this.#options.id);
      const { source, destination } = stored;
      const store = this.#storeOn(destination.name);
      await recall(this.monitor, stored, store, this.#clusters[source.name], this.#signal);
      this.#live.adopt(stored);
      if (this.#live.isShared) await this.#live.refresh();
    }
    this.#topologies = topologies;
    this.#proving = this.#proveHosts(topologies);
    const { record } = this.#live;
    const blocked = record ? blockedClusters(record) : [];
    this.#logger.info({ state: record?.state ?? 'IDLE', blocked }, 'ready');
    if (!stored || !this.#continues(stored)) return;
    if (stored.reset?.received.includes(this.#options.id)) this.#beginReset();
    else if (record?.state === 'RUNNING' || record?.state === 'COMMITTING') this.#beginWork();
  }

  /** Whether this process was started to continue a stored sync: one that only looks at it, or has another in mind, changes nothing. */
  #continues(record: SyncRecord): boolean {
    const { continues } = this.#options;
    return continues === 'any' || continues === digestOf(record);
  }

  async #proveHosts({ cluster1: deployment }: Topologies): Promise<void> {
    const question = { ...askerOf(this.#options), deployment };
    this.#provenHosts = await provenHosts(this.#options.cluster1, question, this.#signal);
  }

  async #receiveReset(destination: ResetDestination): Promise<void> {
    const { persisting } = this.#startParts;
    let receipt: Receipt = { kind: 'received', record: undefined };
    await persisting(async () => {
      receipt = await receiveReset(this.#recordPlaces, destination);
    });
    const stored = recordOf(receipt);
    if (stored) this.#live.adopt(stored);
    this.#logger.info({ destination, isStored: stored !== undefined }, 'told to reset');
    if (stored || this.#live.storedOrNone) this.#beginReset();
    if (!stored) await this.#workEnded;
  }

  /** Ends the work, then the sync, unless that is being done. */
  #beginReset(): void {
    if (this.#isResetting) return;
    this.#isResetting = true;
    this.#failure = undefined;
    const [work, workEnded] = [this.#work, this.#workEnded];
    const reset = async (): Promise<void> => {
      await work?.stop();
      await workEnded;
      this.#work = undefined;
      this.#failure = undefined;
      await carryOutReset({
        ...this.#recordPlaces,
        clusters: this.#clusters,
        monitor: this.monitor,
        logger: this.#logger,
        isPreferred: this.#options.preferCoordinator,
        signal: this.#signal,
      });
      this.#live.forget();
      this.monitor.forget();
    };
    this.#workEnded = reset()
      .catch((error: unknown) => {
        if (this.#signal.aborted) return;
        this.#failure = namedError(error);
        this.monitor.addError(error);
        this.#logger.error({ error: this.#failure.name, err: error }, 'the reset has stopped');
      })
      .finally(() => {
        this.#isResetting = false;
      });
  }

  get #recordPlaces(): RecordPlaces {
    return {
      id: this.#options.id,
      topologies: this.#needTopologies(),
      live: this.#live,
      storeOn: (name) => this.#storeOn(name),
    };
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
    this.monitor.addError(error);
    const failure = withBlocked(error, blocked);
    this.#failure = failure;
    logOnce(this.#logger, failure, { error: name, err: error, blocked }, 'the sync has stopped');
    if (name === 'SupersededByOtherInstance') return;
    await this.#live
      .update({
        failure: {
          instance: this.#options.id,
          name,
          description: failure.message,
          at: new Date(),
        },
      })
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
      persisting: async (write, isPassing) => {
        const context = { signal: this.#signal, logger: this.#logger, monitor: this.monitor };
        await retrying(context, 'command', write, isPassing);
      },
      logger: this.#logger,
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
