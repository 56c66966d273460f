import { naming } from '../../mongo/named-error.ts';
import { retrying } from '../../mongo/retrying.ts';
import { isTransient } from '../../mongo/server-errors.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { blockedClusters } from '../destination/write-blocking.ts';
import { Pace, type PaceSituation } from '../limits/pace.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { neededOplog, type NeededOplog } from '../monitor/oplog-window.ts';
import type { Comparison } from '../options/command-bodies.ts';
import { limitsAt, unknownTimeZones, windowAt } from '../options/limit-schedule.ts';
import { requireShares } from '../options/limit-shares.ts';
import type { Limits } from '../../sync-api/json.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';
import { checkReverse } from '../reverse/check-reverse.ts';
import type { ClusterPair } from '../store/clusters.ts';
import { digestMismatch } from '../store/instances.ts';
import { LiveSync, type SentCommand } from '../store/live-sync.ts';
import type { SyncRecord, SyncView } from '../store/records.ts';
import { stateAfter, type Command } from '../store/transitions.ts';
import type { CommandQueue } from './command-queue.ts';
import { CommitGate } from './commit-gate.ts';
import { SyncWorker, type SyncWork } from './sync-work.ts';

/**
 * A sync, as one instance has it: its record, which is changed in the store first, the work on it, and the effect of commands
 * on both. It is created when a record is found, or a start is accepted, and is over when a reset has removed the record.
 *
 * A command is carried out in the store before it is answered, so that after a crash, or if the client has gone away meanwhile,
 * the state is either the one before the command or the one after it.
 */
export class Sync {
  readonly live: LiveSync;
  readonly monitor: SyncMonitor;
  readonly pair: ClusterPair;
  /** Whether a commit would be accepted. */
  readonly commitGate: CommitGate;
  /** How fast this process may work. */
  readonly pace: Pace;
  readonly #commands: CommandQueue;
  readonly #worker: SyncWorker;
  readonly #logger: Logger;

  /**
   * @param record - as it is in the store.
   * @param pair - the clusters that the sync is between.
   * @param commands - those under way decide what is reported about a commit.
   */
  constructor(
    record: SyncRecord,
    pair: ClusterPair,
    monitor: SyncMonitor,
    commands: CommandQueue,
    options: SyncerOptions,
    logger: Logger,
  ) {
    this.live = new LiveSync(pair.instanceId, record, ({ destination }) =>
      pair.recordOn(destination.name),
    );
    this.pair = pair;
    this.monitor = monitor;
    this.#commands = commands;
    this.pace = new Pace(() => this.#paceSituation());
    const { live, pace } = this;
    this.#worker = new SyncWorker({ live, pair, monitor, pace, options, logger });
    this.commitGate = new CommitGate({
      ...{ live, pair, monitor, commands, logger },
      worker: this.#worker,
    });
    this.#logger = logger;
  }

  /** The record as this instance shows it. Undefined in IDLE: this instance has been given neither its start nor a reset. */
  get view(): SyncView | undefined {
    return this.live.record;
  }

  /** Why the sync has stopped, if so. */
  get failure(): SyncError | undefined {
    return this.#worker.failure;
  }

  /** True while the sync is worked on and its stored state has been read. */
  get isWorking(): boolean {
    return this.#worker.isWorking;
  }

  /** True when nothing of the sync is stored. */
  get isOver(): boolean {
    return this.#worker.hasReset;
  }

  /** Resolves when nothing works on the sync, and any failure is known. */
  get ended(): Promise<void> {
    return this.#worker.ended;
  }

  /** Resolves when this process does nothing more for the sync, after the signal to stop. */
  get stopped(): Promise<void> {
    return this.#worker.stopped;
  }

  /** The instance that coordinates the others, as far as known. */
  get coordinatorId(): string | null {
    const { live, isWorking } = this;
    if (live.isShared) return live.coordinator;
    const { state } = live.current;
    return isWorking || state === 'PAUSED' || state === 'COMMITTED' ? this.pair.instanceId : null;
  }

  /** The oplog that has to hold what the sync needs; undefined if there is none, or none can be read. */
  get neededOplog(): NeededOplog | undefined {
    const { view } = this;
    if (!view || this.#isOplogHidden) return undefined;
    return neededOplog(view, this.monitor.appliedTime);
  }

  /** Continues what an earlier process has left: see {@link SyncWorker.continue}. */
  continue(): void {
    this.#worker.continue(async (look) => {
      await this.#commands.run(look);
    });
  }

  /** Starts to work on the sync. */
  begin(): void {
    this.#worker.begin();
  }

  /** Ends the work, then the sync for good, unless that is already under way. */
  beginReset(): void {
    this.#worker.beginReset();
  }

  /** Joins a sync whose start another instance has been given. */
  async join(): Promise<void> {
    await this.#persist(this.live.receiving('start', {}));
  }

  /** Resolves when the work has stopped and the sync is PAUSED. */
  async pause(digest: string | undefined): Promise<void> {
    await this.#carryOut('pause', digest, async () => {
      await this.#worker.work?.pause();
      await this.#worker.untilEnded();
      try {
        await this.#transition('pause', async () => {
          await this.live.setPaused(true);
        });
        this.pace.update();
      } catch (error) {
        this.begin();
        throw error;
      }
      this.#logger.info({ blocked: blockedClusters(this.live.current) }, 'paused');
    });
  }

  /** Resolves when the sync is RUNNING. */
  async resume(digest: string | undefined): Promise<void> {
    await this.#carryOut('resume', digest, async () => {
      // The work may have found only now that the previous process stored a pause.
      await this.#worker.work?.stop();
      await this.#transition('resume', async () => {
        await this.live.setPaused(false);
      });
      this.#logger.info('resumed');
      this.begin();
    });
  }

  /**
   * Resolves when the sync is COMMITTING, with the work that will fix the time of the commit.
   * @param caller - aborted once nobody waits for the answer: the commit is not started then.
   * @throws SyncError CannotCommitYet, FeatureVersionNotSupported.
   */
  async commit(digest: string | undefined, caller: AbortSignal): Promise<SyncWork | undefined> {
    const act = async (): Promise<SyncWork | undefined> => {
      await this.commitGate.requireFeatureVersions();
      // While the clusters were asked, another instance may have been given the commit.
      await this.commitGate.untilProven(caller);
      this.requireTaken('commit', caller);
      await this.#transition(
        'commit',
        this.live.receiving('commit', { state: 'COMMITTING' }),
        isOutcomeUnknown,
      );
      // Nothing that the commit waits for is held back.
      this.pace.update();
      const { lagSeconds } = this.monitor;
      const blocked = blockedClusters(this.live.current);
      const lifted = this.pace.measuredBrakes.map(({ limit }) => limit);
      this.#logger.info({ lagSeconds, blocked, lifted }, 'committing');
      return this.#worker.work;
    };
    return await this.#carryOut('commit', digest, act, caller);
  }

  /** Resolves when the sync is RUNNING in the other direction. @throws SyncError for anything that forbids it. */
  async reverse(digest: string | undefined): Promise<void> {
    await this.#carryOut('reverse', digest, async () => {
      // An instance may see the commit end before its own work has.
      await this.#worker.untilEnded();
      const { clients: clusters, topologies, signal } = this.pair;
      const recordOnSource = this.pair.recordOn(this.live.current.source.name);
      const record = this.live.stored;
      await naming(async () => {
        await checkReverse({ record, clusters, topologies, recordOnSource, signal });
      });
      await this.#transition(
        'reverse',
        this.live.receiving('reverse', { state: 'RUNNING', phase: 'handover' }),
      );
      this.#logger.info({ blocked: blockedClusters(this.live.current) }, 'reversing');
      this.begin();
    });
  }

  /**
   * Resolves when the sync is RUNNING and starts over: from a new start time, with the documents that are on the destination.
   * @throws SyncError InvalidStateTransition while a reversal moves the state.
   */
  async repair(comparison: Comparison, digest: string | undefined): Promise<void> {
    await this.#carryOut('repair', digest, async () => {
      const { phase, repairs, isPresentSettled } = this.live.stored;
      if (phase === 'handover' || phase === 'preparing')
        throw new SyncError(
          'InvalidStateTransition',
          'repair is allowed once the reversal is prepared: wait until changes are applied',
        );
      this.live.requireReceivable('repair');
      this.#requireSameComparison(comparison);
      await this.#worker.work?.stop();
      await this.#worker.ended;
      const begun = { state: 'RUNNING', phase: 'catalog', failure: null } as const;
      try {
        await this.#transition(
          'repair',
          this.live.receiving('repair', {
            ...begun,
            ...{ startTime: null, catalogEvent: null, collectionCount: null },
            repairs: repairs + 1,
            // A process of a previous release does not store it.
            isPresentSettled: isPresentSettled || phase !== 'catalog',
            comparison,
          }),
        );
      } catch (error) {
        this.begin();
        throw error;
      }
      this.monitor.forgetSource();
      this.monitor.forgetOplog();
      this.#logger.info({ repairs: repairs + 1, comparison }, 'repairing');
      this.begin();
    });
  }

  /**
   * Stores limits, which replace all previous ones, and takes them up.
   * @throws SyncError ResetUnderWay; InvalidStateTransition while a reversal moves the state; InvalidBody for limits that leave an instance too little.
   */
  async setLimits(limits: Limits): Promise<void> {
    const { resetUnderWay, stored } = this.live;
    if (resetUnderWay) throw resetUnderWay;
    requireShares(limits, stored.instances.length);
    await this.#persist(async () => {
      await this.live.setLimits(limits);
    });
    this.pace.update();
  }

  /** No router shows the oplogs of its shards. */
  get #isOplogHidden(): boolean {
    const { source } = this.view ?? this.live.stored;
    return this.pair.topologies[source.name].kind !== 'replicaSet';
  }

  #paceSituation(): PaceSituation {
    const { monitor, live, view } = this;
    const { limits, estimatedTotalBytes, instances } = live.stored;
    const oplogState = this.#isOplogHidden ? 'hidden' : monitor.oplogState;
    const nowMs = Date.now();
    return {
      ...{ limits: limitsAt(limits, nowMs), view, oplogState },
      unknownTimeZones: unknownTimeZones(limits),
      window: windowAt(limits.schedule ?? [], nowMs),
      oplogSecondsLeft: monitor.oplogSecondsLeft,
      copyBytes: estimatedTotalBytes === null ? null : estimatedTotalBytes / instances.length,
      copiedBytes: monitor.copiedBytes,
    };
  }

  /** @throws SyncError InvalidStateTransition if other instances have been given the repair with another comparison. */
  #requireSameComparison(comparison: Comparison): void {
    const { stored, hasThisInstanceCommand } = this.live;
    if (hasThisInstanceCommand || stored.comparison === comparison) return;
    throw new SyncError(
      'InvalidStateTransition',
      `the other instances received repair with comparison ${stored.comparison}`,
    );
  }

  /** @throws SyncError DifferentSync if a command is for another sync; never for undefined, which matches any. */
  requireDigest(digest: string | undefined): void {
    const mismatch = this.view && digestMismatch(digest, this.view);
    if (mismatch) throw mismatch;
  }

  /** @throws SyncError if a command is not accepted now. */
  requireTaken(command: Command, caller?: AbortSignal): void {
    const { record, resetUnderWay } = this.live;
    if (resetUnderWay) throw resetUnderWay;
    const word = record && this.commitGate.word;
    stateAfter(command, {
      state: record?.state ?? 'IDLE',
      canCommit: word?.canCommit ?? false,
      commitWarnings: word?.warnings ?? [],
      versionRefusal: this.monitor.commitProofs.versionRefusal,
      isCallerGone: caller?.aborted ?? false,
      isReversible: record?.options.reversible ?? false,
      failure: this.failure,
    });
  }

  /** Carries out a command if it is accepted. */
  async #carryOut<T>(
    command: Exclude<Command, 'start'>,
    digest: string | undefined,
    act: () => Promise<T>,
    caller?: AbortSignal,
  ): Promise<T> {
    await this.commitGate.refresh();
    this.requireDigest(digest);
    if (caller) await this.commitGate.untilProven(caller);
    this.requireTaken(command, caller);
    return await this.#commands.carryOut(command, async () => {
      await this.#requireOwnership();
      return await act();
    });
  }

  async #transition(
    command: SentCommand['command'],
    change: () => Promise<void>,
    isPassing?: (error: unknown) => boolean,
  ): Promise<void> {
    await naming(async () => {
      await this.live.sending(command, async () => {
        await this.#persist(change, isPassing);
      });
    });
  }

  /**
   * Repeats a write to the store until its outcome is known.
   * @param isPassing - which errors to retry after; by default the temporary ones.
   */
  async #persist(
    write: () => Promise<void>,
    isPassing?: (error: unknown) => boolean,
  ): Promise<void> {
    const { monitor, pair } = this;
    await retrying(
      { signal: pair.signal, logger: this.#logger, monitor },
      'command',
      async () => {
        await this.#worker.write(write);
      },
      isPassing,
    );
  }

  /** Finds out, before anything is changed, whether the store can be reached and still belongs to this process. */
  async #requireOwnership(): Promise<void> {
    await naming(async () => {
      await this.#worker.work?.requireOwnership();
      await this.live.requireUnchanged();
    });
  }
}

/**
 * A commit that was sent cannot be taken back: whatever error the destination returns, it has to be asked for the outcome
 * again.
 */
function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof SyncError) || isTransient(error);
}
