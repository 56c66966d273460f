import { naming } from '../../mongo/named-error.ts';
import type { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { Mutex } from '../../service/mutex.ts';
import { parseResetBody } from '../api/reset-body.ts';
import { parseStartBody } from '../api/start-body.ts';
import { blockedClusters } from '../commit/write-blocking.ts';
import type { LiveSync } from '../live-sync.ts';
import type { SyncMonitor } from '../monitor.ts';
import { canCommit } from '../progress.ts';
import { checkReverse } from '../reverse/check-reverse.ts';
import { checkStart, startSync, type StartParts } from '../start-sync.ts';
import type { ResetDestination } from '../state/records.ts';
import type { SyncWork } from '../sync-work.ts';
import { requireNoParameters, stateAfter, type Command } from './transitions.ts';

/** The process that is commanded. */
export interface CommandGround {
  /** @throws SyncError while the stored state has not been read. */
  readonly startParts: () => StartParts;
  readonly live: LiveSync;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  /** The work that is under way, or was last. */
  readonly work: () => SyncWork | undefined;
  /** Resolves when no work is under way, and what it failed with is known. */
  readonly workEnded: () => Promise<void>;
  readonly beginWork: () => void;
  /** Records that the sync is to be reset, and begins with that. @throws SyncError CleanNotAllowed, ResetUnderWay. */
  readonly beginReset: (destination: ResetDestination) => Promise<void>;
  /** Why the sync has stopped, if so. */
  readonly failure: () => SyncError | undefined;
}

/**
 * The commands of a sync tool. They come one after the other. Each is carried out in the store before it is answered, so
 * that after a crash, or for a client that has gone away meanwhile, the state is either the one before the command or the
 * one after it.
 */
export class SyncCommands {
  readonly #ground: CommandGround;
  readonly #live: LiveSync;
  readonly #oneByOne = new Mutex();

  constructor(ground: CommandGround) {
    this.#ground = ground;
    this.#live = ground.live;
  }

  /** POST /start. @throws SyncError for whatever forbids it; nothing has been written then. */
  async start(body: unknown): Promise<void> {
    await this.#oneByOne.run(async () => {
      this.#require('start');
      const options = parseStartBody(body);
      await naming(async () => {
        await startSync(this.#ground.startParts(), options);
      });
      this.#ground.logger.info({ options }, 'started');
      this.#ground.beginWork();
    });
  }

  /**
   * POST /preflight: whether a start of this body would be taken, or is the one that the sync was started with. Writes nothing.
   * @throws SyncError as start does; OtherStartOptions where the sync was started with others.
   */
  async preflight(body: unknown): Promise<void> {
    const options = parseStartBody(body);
    await this.#oneByOne.run(async () => {
      await naming(async () => {
        await checkStart(this.#ground.startParts(), options);
      });
    });
  }

  /** POST /pause. Resolves when the work has stopped and the sync is PAUSED. @throws SyncError InvalidStateTransition. */
  async pause(body: unknown): Promise<void> {
    await this.#carryOut('pause', body, async () => {
      await this.#ground.work()?.pause();
      await this.#untilWorkEnded();
      try {
        await this.#transition(async () => {
          await this.#live.setPaused(true);
        });
      } catch (error) {
        this.#ground.beginWork();
        throw error;
      }
      this.#ground.logger.info({ blocked: blockedClusters(this.#live.current) }, 'paused');
    });
  }

  /** POST /resume. Resolves when the sync is RUNNING. @throws SyncError InvalidStateTransition. */
  async resume(body: unknown): Promise<void> {
    await this.#carryOut('resume', body, async () => {
      await this.#transition(async () => {
        await this.#live.setPaused(false);
      });
      this.#ground.logger.info('resumed');
      this.#ground.beginWork();
    });
  }

  /** POST /commit. Resolves when the sync is COMMITTING. @throws SyncError CannotCommitYet, InvalidStateTransition. */
  async commit(body: unknown): Promise<void> {
    const work = await this.#carryOut('commit', body, async () => {
      await this.#transition(this.#live.receiving('commit', { state: 'COMMITTING' }));
      const { lagSeconds } = this.#ground.monitor;
      this.#ground.logger.info(
        { lagSeconds, blocked: blockedClusters(this.#live.current) },
        'committing',
      );
      return this.#ground.work();
    });
    // Other commands need not wait for a source that is slow: they are refused by now.
    await work?.fixCommitTime();
  }

  /** POST /reverse. Resolves when the sync is RUNNING in the other direction. @throws SyncError for whatever forbids it. */
  async reverse(body: unknown): Promise<void> {
    await this.#carryOut('reverse', body, async () => {
      // An instance may see the commit end before its own work has.
      await this.#untilWorkEnded();
      const { storeOn, ...parts } = this.#ground.startParts();
      const storeOnSource = storeOn(this.#live.current.source.name);
      await naming(async () => {
        await checkReverse({ ...parts, record: this.#live.stored, storeOnSource });
      });
      await this.#transition(
        this.#live.receiving('reverse', { state: 'RUNNING', phase: 'handover' }),
      );
      this.#ground.logger.info({ blocked: blockedClusters(this.#live.current) }, 'reversing');
      this.#ground.beginWork();
    });
  }

  /**
   * POST /reset. Resolves when it is stored that the sync is to end for good, and at once where there is none.
   * @throws SyncError CleanNotAllowed, ResetUnderWay.
   */
  async reset(body: unknown): Promise<void> {
    const destination = parseResetBody(body);
    await this.#oneByOne.run(async () => {
      // Nothing is taken before the stored state has been read.
      this.#ground.startParts();
      await naming(async () => {
        await this.#ground.beginReset(destination);
      });
    });
  }

  /** Acts when the command's turn has come, if it is taken then. */
  async #carryOut<T>(
    command: Exclude<Command, 'start'>,
    body: unknown,
    act: () => Promise<T>,
  ): Promise<T> {
    requireNoParameters(command, body);
    return await this.#oneByOne.run(async () => {
      await this.#refresh();
      this.#require(command);
      await this.#requireOwnership();
      return await act();
    });
  }

  /** @throws SyncError when a command is not taken now. */
  #require(command: Command): void {
    const { work, failure } = this.#ground;
    // Nothing is taken before the stored state has been read.
    this.#ground.startParts();
    const { record, resetUnderWay } = this.#live;
    if (resetUnderWay) throw resetUnderWay;
    stateAfter(command, {
      state: record?.state ?? 'IDLE',
      canCommit: record !== undefined && canCommit(record) && (work()?.isUnderWay ?? false),
      isReversible: record?.options.reversible ?? false,
      failure: failure(),
    });
  }

  /** @throws SyncError where the work has failed. */
  async #untilWorkEnded(): Promise<void> {
    const { workEnded, failure } = this.#ground;
    await workEnded();
    const failed = failure();
    if (failed) throw failed;
  }

  /** Finds out, before anything is changed, whether the store can be reached and is still this process's. */
  async #requireOwnership(): Promise<void> {
    await naming(async () => {
      await this.#ground.work()?.requireOwnership();
      await this.#live.requireUnchanged();
    });
  }

  async #transition(change: () => Promise<void>): Promise<void> {
    const { persisting } = this.#ground.startParts();
    await naming(async () => {
      await persisting(change);
    });
  }

  /** Finds out what other instances have been given. */
  async #refresh(): Promise<void> {
    if (!this.#live.isShared || this.#live.resetUnderWay) return;
    await naming(async () => {
      await this.#live.refresh();
    });
  }
}
