import { isDeepStrictEqual } from 'node:util';
import { naming } from '../../mongo/named-error.ts';
import { messageOf, type SyncError } from '../../service/errors.ts';
import type { Logger } from '../../service/logger.ts';
import { sleep } from '../../service/sleep.ts';
import { commitWord, type CommitWord } from '../monitor/commit-word.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import { requireFeatureVersions } from '../preflight/check-versions.ts';
import type { ClusterPair } from '../store/clusters.ts';
import { instancesWithoutCommand } from '../store/instances.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { CommandQueue } from './command-queue.ts';

/** How long a commit waits for newer proofs that it would be accepted, if they are too old for progress. */
const proofDeadlineMs = 5_000;
const proofPollMs = 100;

interface CommitGateParts {
  readonly live: LiveSync;
  readonly pair: ClusterPair;
  readonly monitor: SyncMonitor;
  /** Those under way decide what is reported about a commit. */
  readonly commands: CommandQueue;
  readonly worker: { readonly isWorking: boolean; readonly failure: SyncError | undefined };
  readonly logger: Logger;
}

/** Whether this instance would accept a commit now, by proofs that it has seen, and how it gets newer ones. */
export class CommitGate {
  readonly #parts: CommitGateParts;

  constructor(parts: CommitGateParts) {
    this.#parts = parts;
  }

  /** What is known about a commit. */
  get word(): CommitWord {
    const { live, monitor, commands, worker } = this.#parts;
    const { current, stored, sent, isShared } = live;
    const isHalfGiven = stored.state === 'COMMITTING' && current.state !== 'COMMITTING';
    const evidence = {
      ...monitor.commitProofs.evidence,
      sentAgeMs: sent?.command === 'commit' ? performance.now() - sent.sentMs : null,
      isCommitInHand: commands.isCommitInHand,
      otherCommand: commands.otherInHand,
      retryWarnings: monitor.retryWarnings.obstacles(),
      leftIndexes: monitor.leftIndexes,
      isWorking: worker.isWorking,
      isShared,
    };
    return commitWord(current, evidence, isHalfGiven ? instancesWithoutCommand(stored) : undefined);
  }

  /** Waits for newer proofs if those are too old to accept a commit. */
  async untilProven(caller: AbortSignal): Promise<void> {
    const { live, monitor, worker } = this.#parts;
    const deadline = AbortSignal.any([caller, AbortSignal.timeout(proofDeadlineMs)]);
    const view = live.record;
    if (view?.state !== 'RUNNING' || view.phase !== 'changes') return;
    // A refusal does not pass without a change, but what was seen a second ago may already have changed.
    const { versionRefusal } = monitor.commitProofs;
    if (versionRefusal && !this.word.canCommit) await this.requireFeatureVersions();
    while (!deadline.aborted && !this.word.canCommit && !worker.failure) {
      await sleep(proofPollMs, deadline).catch(() => undefined);
      // Another instance may have been given the commit meanwhile: it is on its way to a majority, and this instance should
      // join.
      await this.refresh();
    }
  }

  /**
   * A commit that started with an older featureCompatibilityVersion would fail when it can no longer be taken back.
   * @throws SyncError FeatureVersionNotSupported.
   */
  async requireFeatureVersions(): Promise<void> {
    const { live, pair } = this.#parts;
    const { clients, topologies, signal } = pair;
    const { source, destination } = live.current;
    const names = { source: source.name, destination: destination.name };
    await naming(async () => {
      await requireFeatureVersions(clients, topologies, names, signal);
    });
  }

  /** Finds out which commands other instances have been given. */
  async refresh(): Promise<void> {
    const { live } = this.#parts;
    if (!live.isShared || live.resetUnderWay) return;
    await naming(async () => {
      await live.refresh();
    });
  }

  /**
   * Reads the record while this instance of several is paused: none of its work does so then, and others may be given a commit.
   * It never fails.
   */
  async lookWhilePaused(): Promise<void> {
    const { live, pair, monitor, logger } = this.#parts;
    if (!live.isShared || live.record?.state !== 'PAUSED' || live.resetUnderWay) return;
    try {
      const { commitProofs } = monitor;
      const store = pair.recordOn(live.stored.destination.name);
      const record = await commitProofs.by('record', async () => await store.readSyncOfPrimary());
      if (record) commitProofs.setCommandsOnPrimary(record.commandCount);
      const isOutdated =
        record?.commandCount !== live.stored.commandCount ||
        !isDeepStrictEqual(record.limits, live.stored.limits);
      if (isOutdated) await live.refresh();
    } catch (error) {
      if (!pair.signal.aborted)
        logger.debug({ reason: messageOf(error) }, 'the record could not be read');
    }
  }
}
