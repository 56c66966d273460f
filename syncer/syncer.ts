import {
  connectCluster,
  createClusterClient,
  type ClusterClient,
} from '../mongo/cluster-client.ts';
import { latestWriteTime } from '../mongo/cluster-time.ts';
import { NamespaceFilter, serverMatcher } from '../mongo/namespace-filter.ts';
import { codeOf, connectionError, serverCode } from '../mongo/server-errors.ts';
import { readTopology, type Topology } from '../mongo/topology.ts';
import { messageOf, SyncError, toSyncError } from '../service/errors.ts';
import type { Logger } from '../service/logger.ts';
import { Mutex } from '../service/mutex.ts';
import { backoffMs, sleep } from '../service/sleep.ts';
import { parseStartBody, type ClusterName, type StartOptions } from './api/start-body.ts';
import { TrackedCatalog } from './catalog/tracked-catalog.ts';
import { SyncMonitor } from './monitor.ts';
import type { SyncerOptions } from './options.ts';
import { checkClusters } from './preflight.ts';
import { canCommit, idleProgress, syncProgress } from './progress.ts';
import { keepPulse } from './pulse.ts';
import { fixCommitTime, runSync, type LiveRecord } from './run-sync.ts';
import type { SyncRecord } from './state/records.ts';
import { SyncStore } from './state/store.ts';
import type { SyncContext } from './sync-context.ts';

type Clusters = Readonly<Record<ClusterName, ClusterClient>>;
type Topologies = Readonly<Record<ClusterName, Topology>>;

/** The latest warnings that are kept. */
const maxWarnings = 100;

/** A sync tool: at most one sync, its commands, its progress. Created, it knows nothing; `run` reads the stored state. */
export class Syncer {
  readonly monitor = new SyncMonitor();
  readonly #options: SyncerOptions;
  readonly #logger: Logger;
  readonly #clusters: Clusters;
  readonly #commands = new Mutex();
  readonly #started = Promise.withResolvers<undefined>();
  #topologies: Topologies | undefined;
  #bootError = new SyncError('NotStarted', 'the stored state has not been read yet');
  #record: SyncRecord | undefined;
  #context: SyncContext | undefined;
  #failure: SyncError | undefined;
  #signal = AbortSignal.abort();

  constructor(options: SyncerOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    const client = (option: ClusterName): ClusterClient =>
      createClusterClient({
        uri: options[option],
        option,
        appName: `clustersync syncer ${options.id}`,
      });
    this.#clusters = { cluster0: client('cluster0'), cluster1: client('cluster1') };
  }

  /** True when the stored state has been read, so that commands are taken. */
  get isReady(): boolean {
    return this.#topologies !== undefined;
  }

  /** Reads the stored state, goes on with a sync that was under way, and works until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    const stopped = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => {
        resolve(undefined);
      });
    });
    try {
      await this.#boot();
      await Promise.race([this.#started.promise, stopped]);
      if (!this.#isStopped()) await this.#work();
      await stopped;
    } finally {
      await this.#clusters.cluster0[Symbol.asyncDispose]();
      await this.#clusters.cluster1[Symbol.asyncDispose]();
    }
  }

  /** The body of GET /progress. @throws SyncError when there is none to give, or the sync has failed. */
  progress(): object {
    const topologies = this.#needTopologies();
    if (this.#failure) throw this.#failure;
    if (!this.#record) return idleProgress();
    const { source, destination } = this.#record;
    return syncProgress(this.#record, {
      syncerId: this.#options.id,
      coordinatorId:
        this.#context === undefined && this.#record.state !== 'COMMITTED' ? null : this.#options.id,
      isWorking: this.#context !== undefined,
      sourceHost: topologies[source.name].host,
      destinationHost: topologies[destination.name].host,
      monitor: this.monitor,
    });
  }

  /** POST /start. @throws SyncError for whatever forbids it; nothing has been written then. */
  async start(body: unknown): Promise<void> {
    await this.#commands.run(async () => {
      const topologies = this.#needTopologies();
      if (this.#record) {
        throw new SyncError(
          'InvalidStateTransition',
          `start is allowed in IDLE; the state is ${this.#record.state}`,
        );
      }
      const options = parseStartBody(body);
      const source = this.#clusters[options.source];
      const destination = this.#clusters[options.destination];
      await namingConnectionErrors(async () => {
        await checkClusters({
          source,
          destination,
          sourceTopology: topologies[options.source],
          destinationTopology: topologies[options.destination],
          options,
          filter: this.#filterOf(options),
          signal: this.#signal,
        });
        const record = newRecord(options, topologies);
        await this.#storeOn(options.destination).createSync(record);
        this.#record = record;
      });
      this.#logger.info({ options }, 'started');
      this.#started.resolve(undefined);
    });
  }

  /** POST /commit. Resolves when the sync is COMMITTING. @throws SyncError CannotCommitYet, InvalidStateTransition. */
  async commit(body: unknown): Promise<void> {
    if (typeof body !== 'object' || body === null || Object.keys(body).length > 0) {
      throw new SyncError('InvalidBody', 'commit takes no parameters: the body is {}');
    }
    await this.#commands.run(async () => {
      this.#needTopologies();
      if (this.#failure) throw this.#failure;
      const context = this.#context;
      if (this.#record?.state !== 'RUNNING') {
        const state = this.#record?.state ?? 'IDLE';
        throw new SyncError(
          'InvalidStateTransition',
          `commit is allowed in RUNNING; the state is ${state}`,
        );
      }
      if (!canCommit(this.#record) || !context) {
        throw new SyncError('CannotCommitYet', 'the initial copy is not complete');
      }
      const live = this.#live(context.store);
      await namingConnectionErrors(async () => {
        await live.update({ state: 'COMMITTING' });
      });
      await fixCommitTime(context, live);
      this.#logger.info('committing');
    });
  }

  #isStopped(): boolean {
    return this.#signal.aborted;
  }

  async #boot(): Promise<void> {
    for (let attempt = 0; !this.#isStopped(); attempt++) {
      try {
        for (const cluster of [this.#clusters.cluster0, this.#clusters.cluster1])
          await connectCluster(cluster, this.#signal);
        const topologies = {
          cluster0: await readTopology(this.#clusters.cluster0, this.#signal),
          cluster1: await readTopology(this.#clusters.cluster1, this.#signal),
        };
        this.#record =
          (await this.#storedSync(topologies, 'cluster1')) ??
          (await this.#storedSync(topologies, 'cluster0'));
        if (this.#record) await this.#recall(this.#record);
        this.#topologies = topologies;
        if (this.#record) this.#started.resolve(undefined);
        this.#logger.info({ state: this.#record?.state ?? 'IDLE' }, 'ready');
        return;
      } catch (error) {
        if (this.#isStopped()) return;
        this.#bootError = namedError(error);
        this.#logger.warn(
          { attempt, error: this.#bootError.name, reason: this.#bootError.message },
          'cannot read the stored state',
        );
        await sleep(backoffMs(attempt, { baseMs: 500, maxMs: 10_000 }), this.#signal).catch(
          () => undefined,
        );
      }
    }
  }

  /** The sync whose state is on a cluster, when it is one between these two clusters. */
  async #storedSync(
    topologies: Topologies,
    destination: ClusterName,
  ): Promise<SyncRecord | undefined> {
    const record = await this.#storeOn(destination).readSync();
    const isOurs =
      record?.destination.name === destination &&
      topologies[destination].clusterId === record.destination.clusterId &&
      topologies[record.source.name].clusterId === record.source.clusterId;
    return isOurs ? record : undefined;
  }

  /** Shows the figures of a stored sync as they were, so that progress tells the truth from its first answer on. */
  async #recall({ source, destination, startTime }: SyncRecord): Promise<void> {
    const instance = await this.#storeOn(destination.name).readInstance();
    if (instance) {
      this.monitor.copiedBytes = instance.copiedBytes;
      this.monitor.eventsApplied = instance.eventsApplied;
    }
    this.monitor.appliedTime = instance?.appliedTime ?? startTime;
    this.monitor.latestTime = await latestWriteTime(this.#clusters[source.name], this.#signal);
  }

  /** Works on the sync until it is committed, has failed for good, or the program stops. */
  async #work(): Promise<void> {
    const own = new AbortController();
    const signal = AbortSignal.any([this.#signal, own.signal]);
    try {
      const context = await this.#createContext(signal);
      if (!context) return;
      const live = this.#live(context.store);
      if (live.current.failure) await live.update({ failure: null });
      const instance = await context.store.claimInstance();
      this.monitor.copiedBytes = instance.copiedBytes;
      this.monitor.eventsApplied = instance.eventsApplied;
      this.#context = context;
      const pulse = keepPulse(context);
      try {
        await Promise.race([
          runSync(context, live, instance),
          pulse.then(async () => await new Promise<never>(() => undefined)),
        ]);
      } finally {
        own.abort(new Error('the sync has ended'));
        await pulse.catch(() => undefined);
      }
    } catch (error) {
      if (this.#isStopped()) return;
      await this.#fail(namedError(error));
    }
  }

  async #createContext(signal: AbortSignal): Promise<SyncContext | undefined> {
    if (!this.#record) return undefined;
    const { options } = this.#record;
    const store = this.#storeOn(options.destination, signal);
    return {
      source: this.#clusters[options.source],
      destination: this.#clusters[options.destination],
      store,
      catalog: await TrackedCatalog.load(store),
      filter: this.#filterOf(options),
      options,
      tuning: this.#options,
      monitor: this.monitor,
      logger: this.#logger,
      warn: async (warning) => {
        this.#logger.warn({ warning }, 'warning');
        const live = this.#live(store);
        const warnings = [...live.current.warnings, warning].slice(-maxWarnings);
        await live.update({ warnings });
      },
      signal,
    };
  }

  async #fail(error: SyncError): Promise<void> {
    this.#failure = error;
    this.#logger.error({ error: error.name, err: error }, 'the sync has stopped');
    const failure = { name: error.name, description: error.message, at: new Date() };
    if (this.#record && error.name !== 'SupersededByOtherInstance') {
      await this.#storeOn(this.#record.destination.name)
        .updateSync({ failure })
        .catch((storeError: unknown) => {
          this.#logger.warn({ err: storeError }, 'the failure could not be stored');
        });
    }
  }

  #live(store: SyncStore): LiveRecord {
    const read = (): SyncRecord => {
      if (!this.#record) throw new SyncError('InternalError', 'there is no sync');
      return this.#record;
    };
    return {
      get current() {
        return read();
      },
      update: async (change) => {
        await store.updateSync(change);
        this.#record = { ...read(), ...change };
      },
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

function newRecord(options: StartOptions, topologies: Topologies): SyncRecord {
  const cluster = (name: ClusterName): SyncRecord['source'] => ({
    name,
    clusterId: topologies[name].clusterId,
  });
  return {
    state: 'RUNNING',
    phase: 'catalog',
    options,
    source: cluster(options.source),
    destination: cluster(options.destination),
    startedAt: new Date(),
    startTime: null,
    catalogTimes: [],
    estimatedTotalBytes: null,
    commitTime: null,
    canWrite: false,
    failure: null,
    warnings: [],
  };
}

/** Any error under a name that says what to do. */
function namedError(error: unknown): SyncError {
  if (codeOf(error) === serverCode.unauthorized)
    return new SyncError('MissingPrivileges', messageOf(error), { cause: error });
  return toSyncError(connectionError(error) ?? error);
}

async function namingConnectionErrors(run: () => Promise<void>): Promise<void> {
  try {
    await run();
  } catch (error) {
    throw connectionError(error) ?? error;
  }
}
