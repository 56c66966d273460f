import type { Timestamp, UUID } from 'mongodb';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { sleep } from '../../service/sleep.ts';
import type { LiveSync } from './live-sync.ts';
import type { CopyEvidence, Partition, SyncRecord, TrackedCollection } from './records.ts';
import type { Checkpoint, SyncStore } from './store.ts';
import type { TrackedCatalog } from './tracked-catalog.ts';

/** How often to look for a commit time that is about to be known. */
const waitMs = 10;

/** What distinguishes a phase of a sync from the same phase before a repair or a reversal, and of another sync. */
export type EnteredPhase = Pick<SyncRecord, 'phase' | 'startedAt' | 'reversals' | 'repairs'>;

/** What storing the work on a sync needs. */
export interface WorkStoreParts extends RetryContext {
  readonly store: SyncStore;
  readonly live: LiveSync;
  readonly catalog: TrackedCatalog;
  /** Throws if this instance may not change the stored catalog because another one coordinates. */
  readonly requireLease: () => void;
}

/**
 * What the work on a sync stores about itself. Each read and write is retried until it succeeds, or fails with an error that is
 * not temporary, for example because another process has taken over the instance.
 */
export class WorkStore {
  readonly #parts: WorkStoreParts;

  constructor(parts: WorkStoreParts) {
    this.#parts = parts;
  }

  /** The same store, for work that a narrower signal ends. */
  within(signal: AbortSignal): WorkStore {
    return new WorkStore({ ...this.#parts, signal });
  }

  /** The record of the sync. */
  get live(): LiveSync {
    return this.#parts.live;
  }

  /** Retries a step that stores, and may do more, until it succeeds. @param work - its name, for the log and the warnings. */
  async step<T>(work: string, run: () => Promise<T>): Promise<T> {
    return await retrying(this.#parts, work, run);
  }

  /** Throws if another instance may coordinate. */
  requireLease(): void {
    this.#parts.requireLease();
  }

  /** Adds a warning to the progress. Not retried: it is part of steps that are. */
  async warn(warning: string): Promise<void> {
    this.#parts.logger.warn({ warning }, 'warning');
    await this.live.addWarning(warning);
  }

  /**
   * Ends a phase, unless another instance has, or the sync has started over or been reversed.
   * @param entered - the sync as it was when this instance entered the phase: a repair and a reversal lead to the same phases again,
   * and an end that was late must not end theirs.
   */
  async endPhase(
    { phase, startedAt, reversals, repairs }: EnteredPhase,
    change: Partial<SyncRecord>,
  ): Promise<void> {
    await this.#asCoordinator('state', async () => {
      await this.live.update(change, { phase, startedAt, reversals, repairs });
    });
  }

  /**
   * Forgets everything that any instance has applied and copied: the sync starts over. Not retried: it is part of a step that
   * first waits for what an attempt has left behind. If it arrived late, it would undo what the instances store next.
   */
  async resetInstances(): Promise<void> {
    await this.#parts.store.resetInstances(this.#parts.requireLease);
  }

  /** Forgets the partitions of all collections. Not retried: it is part of a step that is. */
  async forgetPartitions(): Promise<void> {
    this.requireLease();
    await this.#parts.store.partitions.deleteAll();
  }

  /** A collection as stored: another coordinator may have changed it. Not retried: callers look again later. */
  async readCollection(uuid: UUID): Promise<TrackedCollection | undefined> {
    return await this.#parts.store.readCollection(uuid);
  }

  /** Stores how far change events have been applied. */
  async saveCheckpoint(checkpoint: Checkpoint): Promise<void> {
    await this.step('checkpoint', async () => {
      await this.#parts.store.saveCheckpoint(checkpoint);
    });
  }

  /**
   * The time of the commit, for changes of the source that were read before the call. Null if all of them are before it,
   * whenever it comes: until this instance is given the commit, that is known immediately. If they may not be, it waits for the
   * time, which takes as long as a no-op on the source.
   */
  async awaitCommitTime(): Promise<Timestamp | null> {
    for (;;) {
      const commitTime = await this.step('commit', async () => await this.live.findCommitTime());
      if (commitTime !== 'awaited') return commitTime;
      await sleep(waitMs, this.#parts.signal);
    }
  }

  /** The partitions that are not copied yet: see PartitionStore.readPending. */
  async readPartitions(): Promise<ReadonlyMap<string, readonly Partition[]>> {
    return await this.step(
      'copy state',
      async () => await this.#parts.store.partitions.readPending(),
    );
  }

  /** Stores the partitions in which a collection is copied. */
  async putPartitions(
    { uuid }: Pick<TrackedCollection, 'uuid'>,
    partitions: readonly Partition[],
  ): Promise<void> {
    await this.#asCoordinator('partitioning', async () => {
      await this.#parts.store.partitions.put(uuid, partitions);
    });
  }

  /** Records that a partition is on the destination, and its size in bytes. */
  async completePartition(partition: Partition, bytes: number): Promise<void> {
    await this.step('copy state', async () => {
      await this.#parts.store.completePartition(partition, bytes);
    });
  }

  /** Records that collections are wholly on the destination, and the bytes copied since the last call. */
  async completeCollections(
    collections: readonly TrackedCollection[],
    bytes: number,
  ): Promise<void> {
    await this.step('copy state', async () => {
      await this.#parts.catalog.completeCollections(collections, bytes);
    });
  }

  /**
   * Records that this instance has begun with the last command: nothing that it sent before can still arrive. An instance that has not
   * been given the command stores nothing: its work starts again when it is.
   */
  async saveBegun(): Promise<void> {
    const { hasThisInstanceCommand, stored } = this.live;
    if (!hasThisInstanceCommand) return;
    await this.step('state', async () => {
      await this.#parts.store.saveBegun(stored.commandCount);
    });
  }

  /** Records that this instance has copied its part. */
  async completeCopy(): Promise<void> {
    await this.step('copy state', async () => {
      await this.#parts.store.completeCopy();
    });
  }

  /** The stored records of the copy of each collection, by its UUID as 32 hexadecimal digits. */
  async readCopyEvidence(): Promise<ReadonlyMap<string, CopyEvidence>> {
    return await this.step('copy state', async () => await this.#parts.store.readCopyEvidence());
  }

  /** Records a range that is on the destination by now, but had no record of its copy. */
  async putCopiedPartition(partition: Partition, bytes: number): Promise<void> {
    await this.#asCoordinator('copy state', async () => {
      await this.#parts.store.putCopiedPartition(partition, bytes);
    });
  }

  /** Records that a collection is wholly on the destination, whatever was stored about its partitions. */
  async completeUnpartitioned(collection: TrackedCollection, bytes: number): Promise<void> {
    const { store, catalog } = this.#parts;
    await this.#asCoordinator('copy state', async () => {
      await store.partitions.deleteOf(collection.uuid);
      await catalog.completeCollections([collection], bytes);
    });
  }

  /** For what only the coordinator stores. */
  async #asCoordinator(work: string, write: () => Promise<void>): Promise<void> {
    await this.step(work, async () => {
      this.requireLease();
      await write();
    });
  }
}
