import type { Timestamp, UUID } from 'mongodb';
import { retrying, type RetryContext } from '../../mongo/retrying.ts';
import { sleep } from '../../service/sleep.ts';
import type { LiveSync } from './live-sync.ts';
import type { CopyEvidence, Partition, Phase, SyncRecord, TrackedCollection } from './records.ts';
import type { Checkpoint, SyncStore } from './store.ts';
import type { TrackedCatalog } from './tracked-catalog.ts';

/** How often a commit time is looked for that is about to be known. */
const waitMs = 10;

/** What the work on a sync stores by. */
export interface WorkStoreParts extends RetryContext {
  readonly store: SyncStore;
  readonly live: LiveSync;
  readonly catalog: TrackedCatalog;
  /** Throws where this instance may not change what is stored of the catalog: another one coordinates. */
  readonly requireLease: () => void;
}

/**
 * What the work on a sync stores of itself. Each read and write is repeated until it succeeds, or fails by what does not pass, as
 * where another process has taken the instance over.
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

  /** Repeats a step that stores, and may do more, until it succeeds. @param work - what it is, for the log and the warnings. */
  async step<T>(work: string, run: () => Promise<T>): Promise<T> {
    return await retrying(this.#parts, work, run);
  }

  /** Throws where another instance may coordinate. */
  requireLease(): void {
    this.#parts.requireLease();
  }

  /** Keeps a warning for the people who look at progress. Not repeated: it is a part of steps that are. */
  async warn(warning: string): Promise<void> {
    this.#parts.logger.warn({ warning }, 'warning');
    await this.live.addWarning(warning);
  }

  /** Ends a phase, unless another instance has. */
  async endPhase(phase: Phase, change: Partial<SyncRecord>): Promise<void> {
    await this.step('state', async () => {
      await this.live.update(change, { phase });
    });
  }

  /**
   * Forgets all that any instance has applied and copied: the sync begins again. Not repeated: it is a part of a step that first waits
   * for what an attempt has left behind. Carried out late, that would take back what the instances store next.
   */
  async resetInstances(): Promise<void> {
    await this.#parts.store.resetInstances();
  }

  /** A collection as it is stored: another coordinator may have changed it. Not repeated: who asks looks again later. */
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
   * The time of the commit, for changes of the source that were read before the call. Null where all of them are before it,
   * whenever it comes: that is so at once until this instance is given the commit. Where they may not be, it is waited for, which
   * takes as long as a no-op on the source.
   */
  async awaitCommitTime(): Promise<Timestamp | null> {
    for (;;) {
      const commitTime = await this.step('commit', async () => await this.live.findCommitTime());
      if (commitTime !== 'awaited') return commitTime;
      await sleep(waitMs, this.#parts.signal);
    }
  }

  /** The partitions that are not copied yet: see SyncStore.readPartitions. */
  async readPartitions(): Promise<ReadonlyMap<string, readonly Partition[]>> {
    return await this.step('copy state', async () => await this.#parts.store.readPartitions());
  }

  /** Stores in which partitions a collection is to be copied. */
  async putPartitions(
    { uuid }: Pick<TrackedCollection, 'uuid'>,
    partitions: readonly Partition[],
  ): Promise<void> {
    await this.#asCoordinator('partitioning', async () => {
      await this.#parts.store.putPartitions(uuid, partitions);
    });
  }

  /** Records that a partition is on the destination, and the bytes it had. */
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

  /** Records that this instance has copied its part. */
  async completeCopy(): Promise<void> {
    await this.step('copy state', async () => {
      await this.#parts.store.completeCopy();
    });
  }

  /** What is stored of the copy of each collection, by its UUID as 32 hexadecimal digits. */
  async readCopyEvidence(): Promise<ReadonlyMap<string, CopyEvidence>> {
    return await this.step('copy state', async () => await this.#parts.store.readCopyEvidence());
  }

  /** Records a range that had no record of its copy, and is on the destination by now. */
  async putCopiedPartition(partition: Partition, bytes: number): Promise<void> {
    await this.#asCoordinator('copy state', async () => {
      await this.#parts.store.putCopiedPartition(partition, bytes);
    });
  }

  /** Records that a collection is wholly on the destination, whatever was stored of its partitions. */
  async completeUnpartitioned(collection: TrackedCollection, bytes: number): Promise<void> {
    const { store, catalog } = this.#parts;
    await this.#asCoordinator('copy state', async () => {
      await store.deletePartitions(collection.uuid);
      await catalog.completeCollections([collection], bytes);
    });
  }

  /** What the coordinator alone stores. */
  async #asCoordinator(work: string, write: () => Promise<void>): Promise<void> {
    await this.step(work, async () => {
      this.requireLease();
      await write();
    });
  }
}
