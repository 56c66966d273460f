import { naming } from '../../mongo/named-error.ts';
import { SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { isTransient } from '../../mongo/server-errors.ts';
import { Mutex } from '../../service/mutex.ts';
import { optionsDigest } from '../../service/options-digest.ts';
import { sleep } from '../../service/sleep.ts';
import { parseResetBody } from '../options/reset-body.ts';
import { parseStartBody, type StartOptions } from '../options/start-body.ts';
import type { CommitWord } from '../monitor/commit-word.ts';
import { checkFeatureVersion } from '../preflight/check-feature-version.ts';
import { blockedClusters } from '../destination/write-blocking.ts';
import { digestOf, requireSameOptions } from '../store/instances.ts';
import type { LiveSync, SentCommand } from '../store/live-sync.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { checkReverse } from '../reverse/check-reverse.ts';
import { blockDestination, checkStart, startSync, type StartParts } from './start-sync.ts';
import type { ResetDestination } from '../options/reset-body.ts';
import type { SyncWork } from './sync-work.ts';
import { requireNoParameters, stateAfter, type Command } from '../store/transitions.ts';

/** The process that is commanded. */
export interface CommandGround {
  /**
   * Resolves when the stored state has been read, or commands are to wait for it no longer: the process was started a while ago, or
   * something keeps it from reading that does not pass.
   */
  readonly opened: () => Promise<void>;
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
  /** What is known of a commit of the sync that there is. */
  readonly commitWord: () => CommitWord;
  /** Records that the sync is to be reset, and begins with that. @throws SyncError CleanNotAllowed, ResetUnderWay. */
  readonly beginReset: (destination: ResetDestination) => Promise<void>;
  /** Why the sync has stopped, if so. */
  readonly failure: () => SyncError | undefined;
}

/** A commit waits for so long for proofs that it would be taken, where they are older than progress takes them for. */
const proofDeadlineMs = 5_000;
const proofPollMs = 100;

/** Commands to a sync that there is. */
type CarriedOut = Exclude<Command, 'start'> | 'reset';

/** What a client sends. */
interface CommandRequest {
  readonly body: unknown;
  /** Which sync it is for; undefined for whichever there is. */
  readonly digest: string | undefined;
}

/**
 * The commands of a sync tool. They come one after the other. Each is carried out in the store before it is answered, so
 * that after a crash, or for a client that has gone away meanwhile, the state is either the one before the command or the
 * one after it.
 *
 * A command may say which sync it is for, by the digest of that one's start options: another sync takes none (DifferentSync).
 */
export class SyncCommands {
  readonly #ground: CommandGround;
  readonly #live: LiveSync;
  readonly #oneByOne = new Mutex();
  #commitsInHand = 0;
  #otherInHand: Exclude<CarriedOut, 'commit'> | null = null;

  constructor(ground: CommandGround) {
    this.#ground = ground;
    this.#live = ground.live;
  }

  /** True while a commit request has come that is not answered. */
  get isCommitInHand(): boolean {
    return this.#commitsInHand > 0;
  }

  /** The command that is being carried out, where it is not a commit: what comes meanwhile waits, and finds what it has led to. */
  get otherInHand(): string | null {
    return this.#otherInHand;
  }

  /**
   * POST /start. Resolves when ordinary users cannot write to the destination, where that is asked for.
   * @throws SyncError for whatever forbids it; nothing has been written then, unless users could not be blocked.
   */
  async start(body: unknown, digest?: string): Promise<void> {
    await this.#ground.opened();
    await this.#oneByOne.run(async () => {
      this.#requireSameStart(body);
      this.#requireSameSync(digest);
      this.#require('start');
      const options = parseStartBody(body);
      requireDigest(digest, options);
      await naming(async () => {
        await startSync(this.#ground.startParts(), options);
      });
      this.#ground.logger.info({ options }, 'started');
      try {
        await naming(async () => {
          await blockDestination(this.#ground.startParts(), options);
        });
      } finally {
        // The sync is stored: where its users could not be blocked, the work says so too.
        this.#ground.beginWork();
      }
    });
  }

  /**
   * POST /preflight: whether a start of this body would be taken, or is the one that the sync was started with. Writes nothing.
   * @throws SyncError as start does; DifferentSync where the sync was started with others.
   */
  async preflight(body: unknown): Promise<void> {
    const options = parseStartBody(body);
    await this.#ground.opened();
    await this.#oneByOne.run(async () => {
      await naming(async () => {
        await checkStart(this.#ground.startParts(), options);
      });
    });
  }

  /** POST /pause. Resolves when the work has stopped and the sync is PAUSED. @throws SyncError InvalidStateTransition. */
  async pause(body: unknown, digest?: string): Promise<void> {
    await this.#carryOut('pause', { body, digest }, async () => {
      await this.#ground.work()?.pause();
      await this.#untilWorkEnded();
      try {
        await this.#transition('pause', async () => {
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
  async resume(body: unknown, digest?: string): Promise<void> {
    await this.#carryOut('resume', { body, digest }, async () => {
      await this.#transition('resume', async () => {
        await this.#live.setPaused(false);
      });
      this.#ground.logger.info('resumed');
      this.#ground.beginWork();
    });
  }

  /**
   * POST /commit. Resolves when the sync is COMMITTING.
   * @param caller - aborted when nobody waits for the answer any more: the commit is not begun then.
   * @throws SyncError CannotCommitYet, InvalidStateTransition, FeatureVersionNotSupported.
   */
  async commit(body: unknown, digest: string | undefined, caller: AbortSignal): Promise<void> {
    this.#commitsInHand++;
    try {
      await this.#commit({ body, digest }, caller);
    } finally {
      this.#commitsInHand--;
    }
  }

  async #commit(request: CommandRequest, caller: AbortSignal): Promise<void> {
    const act = async (): Promise<SyncWork | undefined> => {
      await this.#requireFeatureVersions();
      // The clusters were asked meanwhile, and another instance may have been given the commit.
      await this.#untilProven(caller);
      this.#require('commit', caller);
      await this.#transition(
        'commit',
        this.#live.receiving('commit', { state: 'COMMITTING' }),
        isOutcomeUnknown,
      );
      const { lagSeconds } = this.#ground.monitor;
      this.#ground.logger.info(
        { lagSeconds, blocked: blockedClusters(this.#live.current) },
        'committing',
      );
      return this.#ground.work();
    };
    const work = await this.#carryOut('commit', request, act, caller);
    // Other commands need not wait for a source that is slow: they are refused by now.
    await work?.fixCommitTime();
  }

  /** POST /reverse. Resolves when the sync is RUNNING in the other direction. @throws SyncError for whatever forbids it. */
  async reverse(body: unknown, digest?: string): Promise<void> {
    await this.#carryOut('reverse', { body, digest }, async () => {
      // An instance may see the commit end before its own work has.
      await this.#untilWorkEnded();
      const { storeOn, ...parts } = this.#ground.startParts();
      const storeOnSource = storeOn(this.#live.current.source.name);
      await naming(async () => {
        await checkReverse({ ...parts, record: this.#live.stored, storeOnSource });
      });
      await this.#transition(
        'reverse',
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
  async reset(body: unknown, digest?: string): Promise<void> {
    const destination = parseResetBody(body);
    await this.#ground.opened();
    await this.#oneByOne.run(async () => {
      // Nothing is taken before the stored state has been read.
      this.#ground.startParts();
      this.#requireSameSync(digest);
      await this.#inHand('reset', async () => {
        await naming(async () => {
          await this.#ground.beginReset(destination);
        });
      });
    });
  }

  async #inHand<T>(command: CarriedOut, act: () => Promise<T>): Promise<T> {
    if (command === 'commit') return await act();
    this.#otherInHand = command;
    try {
      return await act();
    } finally {
      this.#otherInHand = null;
    }
  }

  /** Acts when the command's turn has come, if it is taken then. */
  async #carryOut<T>(
    command: Exclude<Command, 'start'>,
    { body, digest }: CommandRequest,
    act: () => Promise<T>,
    caller?: AbortSignal,
  ): Promise<T> {
    requireNoParameters(command, body);
    await this.#ground.opened();
    return await this.#oneByOne.run(async () => {
      await this.#refresh();
      this.#requireSameSync(digest);
      if (caller) await this.#untilProven(caller);
      this.#require(command, caller);
      return await this.#inHand(command, async () => {
        await this.#requireOwnership();
        return await act();
      });
    });
  }

  /** @throws SyncError DifferentSync where the sync that there is was started by another body. */
  #requireSameStart(body: unknown): void {
    const { record, resetUnderWay } = this.#live;
    if (!record || resetUnderWay) return;
    let options: StartOptions;
    try {
      options = parseStartBody(body);
    } catch {
      // What no sync could be started with is refused for the state.
      return;
    }
    requireSameOptions(options, record);
  }

  /** @throws SyncError DifferentSync where there is another sync than the one that a command is for. */
  #requireSameSync(digest: string | undefined): void {
    const { record } = this.#live;
    if (digest === undefined || !record || digest === digestOf(record)) return;
    throw new SyncError(
      'DifferentSync',
      'the command is for a sync with other start options than those of the one that there is',
    );
  }

  /** @throws SyncError when a command is not taken now. */
  #require(command: Command, caller?: AbortSignal): void {
    const { commitWord, failure } = this.#ground;
    // Nothing is taken before the stored state has been read.
    this.#ground.startParts();
    const { record, resetUnderWay } = this.#live;
    if (resetUnderWay) throw resetUnderWay;
    const word = record && commitWord();
    stateAfter(command, {
      state: record?.state ?? 'IDLE',
      canCommit: word?.canCommit ?? false,
      commitWarnings: word?.warnings ?? [],
      versionRefusal: this.#ground.monitor.commitProofs.versionRefusal,
      isCallerGone: caller?.aborted ?? false,
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

  /** Waits for newer proofs where those are too old that a commit would be taken. */
  async #untilProven(caller: AbortSignal): Promise<void> {
    const deadline = AbortSignal.any([caller, AbortSignal.timeout(proofDeadlineMs)]);
    const { record } = this.#live;
    if (record?.state !== 'RUNNING' || record.phase !== 'changes') return;
    // It does not pass by itself; what was seen a second ago need not be so any more.
    const { versionRefusal } = this.#ground.monitor.commitProofs;
    if (versionRefusal && !this.#ground.commitWord().canCommit)
      await this.#requireFeatureVersions();
    while (!deadline.aborted && !this.#ground.commitWord().canCommit && !this.#ground.failure()) {
      await sleep(proofPollMs, deadline).catch(() => undefined);
      // Another instance may have been given the commit meanwhile: it is on its way to a majority, and this one is to join.
      await this.#refresh();
    }
  }

  /** Finds out, before anything is changed, whether the store can be reached and is still this process's. */
  async #requireOwnership(): Promise<void> {
    await naming(async () => {
      await this.#ground.work()?.requireOwnership();
      await this.#live.requireUnchanged();
    });
  }

  /** A commit that began with an older featureCompatibilityVersion would fail where it cannot be taken back any more. */
  async #requireFeatureVersions(): Promise<void> {
    const { clusters, topologies, signal } = this.#ground.startParts();
    const { source, destination } = this.#live.current;
    await naming(async () => {
      for (const { name } of [source, destination])
        await checkFeatureVersion(clusters[name], name, topologies[name], signal);
    });
  }

  async #transition(
    command: SentCommand['command'],
    change: () => Promise<void>,
    isPassing?: (error: unknown) => boolean,
  ): Promise<void> {
    const { persisting } = this.#ground.startParts();
    await naming(async () => {
      await this.#live.sending(command, async () => {
        await persisting(change, isPassing);
      });
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

/** Otherwise every other command of the same client would be refused. @throws SyncError InvalidBody. */
function requireDigest(digest: string | undefined, options: StartOptions): void {
  if (digest === undefined || digest === optionsDigest(options)) return;
  throw new SyncError(
    'InvalidBody',
    'the header Clustersync-Options-Digest is not the digest of this body: leave it out, or use a client of the same version',
  );
}

/** A commit that was sent cannot be taken back: whatever the destination answers, it is asked again what has become of it. */
function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof SyncError) || isTransient(error);
}
