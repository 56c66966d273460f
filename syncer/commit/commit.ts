import type { Timestamp } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { isKeptForCommand } from '../../mongo/replicated-form.ts';
import type { Logger } from '../../service/logger.ts';
import type { InitialCopy } from '../copy/initial-copy.ts';
import type { LeftBuilds } from '../ddl/left-index-builder.ts';
import type { Destination } from '../destination/destination.ts';
import { setWriteBlocking } from '../destination/write-blocking.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { Source } from '../source/source.ts';
import { commitTimeWrites } from '../store/instances.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';
import type { WorkStore } from '../store/work-store.ts';
import { Restoration } from './restore.ts';
import { ShardSettlement } from './settle-destination.ts';
import { SourceSettlement } from './settle-source.ts';

/** What carrying out a commit needs. */
interface CommitParts {
  readonly source: Source;
  /** The connections to the source, where its users are blocked. */
  readonly sourceCluster: ClusterClient;
  readonly destination: Destination;
  readonly catalog: TrackedCatalog;
  readonly store: WorkStore;
  readonly copy: InitialCopy;
  readonly leftBuilds: LeftBuilds;
  readonly options: StartOptions;
  readonly monitor: SyncMonitor;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** How many collections to restore side by side. */
  readonly workers: number;
}

/** The commit of a sync: the coordinator's steps. Each may be repeated from any point. */
export class Commit {
  readonly #parts: CommitParts;
  readonly #sourceSettlement: SourceSettlement;
  readonly #shardSettlement: ShardSettlement;
  readonly #restoration: Restoration;

  constructor(parts: CommitParts) {
    const { destination, catalog, store, options, logger, workers } = parts;
    const { buildIndexes } = options;
    this.#parts = parts;
    this.#sourceSettlement = new SourceSettlement(parts);
    this.#shardSettlement = new ShardSettlement({ ...parts, buildIndexes });
    const settings = { buildIndexes, workers, logger };
    this.#restoration = new Restoration(destination, catalog, store, settings);
  }

  /**
   * Fixes the cluster time up to which changes belong to a commit, after blocking the writes of ordinary users if requested.
   * May be repeated until the time is stored.
   * @param signal - of the caller, so that a source that does not answer does not hold it up.
   */
  async fixTime(signal = this.#parts.signal): Promise<void> {
    const { sourceCluster, store } = this.#parts;
    const source = this.#parts.source.within(signal);
    const { live } = store;
    await source.ask('commit', async () => {
      if (live.current.commitTime !== null) return;
      store.requireLease();
      if (live.current.options.enableUserWriteBlocking)
        await setWriteBlocking(sourceCluster, true, signal, () => {
          store.requireLease();
        });
      const { intention, time } = commitTimeWrites;
      await live.update(intention.change, intention.expected);
      const { change, expected } = time(await source.writeNoop('commit'));
      await live.update(change, expected);
    });
  }

  /**
   * Settles the state of the source at the commit's time, once every instance has applied all changes up to it.
   * @throws SyncError ApplyOpsOnSource, CopyIncomplete, NameNotSupported, ViewRefused.
   */
  async settle(commitTime: Timestamp): Promise<void> {
    await this.#sourceSettlement.settleAppliedOps(commitTime);
    await this.#parts.copy.requireAllCopied();
    await this.#sourceSettlement.settleNames(commitTime);
  }

  /**
   * Gives the destination its true characteristics, and lets users write to it as soon as what must come before is done.
   * @throws SyncError UniqueIndexViolation, IndexBuildRefused.
   */
  async restore(): Promise<void> {
    const { destination, store, leftBuilds } = this.#parts;
    const { live } = store;
    // From that time on users may have changed what has a name.
    if (live.current.writableTime === null) {
      await destination.step('restore', async () => {
        await leftBuilds.end();
        await this.#shardSettlement.settleShardKeys();
        await this.#dropKeptForCommands();
      });
      await this.#shardSettlement.settleIndexes();
      await this.#restoration.beforeUsers();
      await destination.step('restore', async () => {
        await this.#fixWritableTime();
      });
    }
    if (!live.current.canWrite) {
      await destination.step('restore', async () => {
        await this.#letUsersWrite();
      });
    }
    await this.#restoration.besideUsers();
  }

  /** Drops on the destination what the source kept for a command at the commit's time: nobody else would drop it there. */
  async #dropKeptForCommands(): Promise<void> {
    const { destination, catalog, logger } = this.#parts;
    for (const tracked of catalog.collections()) {
      if (!isKeptForCommand(tracked.options)) continue;
      await destination.made.drop(tracked);
      await catalog.remove(tracked.uuid);
      logger.info(
        { namespace: namespaceText(tracked.namespace) },
        'dropped: created only by a command',
      );
    }
  }

  /**
   * Fixes the time before which no user of the destination wrote there, and from which a reversal takes its changes (see
   * reversedState). May be repeated: the first stored time stays. On a sharded cluster it is the time of the shard whose clock
   * is ahead: once a second no-op is written, all shards are past it, and so is what users write there.
   */
  async #fixWritableTime(): Promise<void> {
    const { destination, store } = this.#parts;
    if (store.live.current.writableTime !== null) return;
    const writableTime = await destination.timeNow();
    await destination.timeNow();
    await store.live.update({ writableTime }, { writableTime: null });
  }

  /** May be repeated. */
  async #letUsersWrite(): Promise<void> {
    const { destination, store, options, logger } = this.#parts;
    store.requireLease();
    if (options.enableUserWriteBlocking) await destination.blocking.set(false);
    await store.live.update({ canWrite: true });
    logger.info('users may write to the destination');
  }
}
