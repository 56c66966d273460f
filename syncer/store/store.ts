import {
  Binary,
  UUID,
  type Collection,
  type Db,
  type Document,
  type Timestamp,
  type UpdateOptions,
} from 'mongodb';
import type { CheckedValue } from '../../mongo/checked-value.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import { storedDocument } from '../../mongo/stored-document.ts';
import { boundedDocuments, readWhole } from '../../mongo/whole-reading.ts';
import { throwWriteErrors, writeAnswer } from '../../mongo/write-answer.ts';
import { checkedWhenSent } from '../../mongo/write-guard.ts';
import { SyncError } from '../../service/errors.ts';
import { inGroupsOf } from '../../service/groups.ts';
import { momentNow, type Moment } from '../../service/moment.ts';
import { InstanceOwnership } from './instance-ownership.ts';
import { collectionNames, encodeCollection, stored, type Stored } from './encoding.ts';
import { collectionIn, instanceIn, viewIn } from './stored-records.ts';
import type { LeaseStore } from './lease-store.ts';
import { LeftIndexStore } from './left-index-store.ts';
import { PartitionStore } from './partition-store.ts';
import { RecordStore, stateDatabase, type SyncIdentity } from './record-store.ts';
import {
  type CopyEvidence,
  type InstanceRecord,
  type Partition,
  type TrackedCollection,
  type TrackedView,
} from './records.ts';

/** How many collections are encoded or decoded at a time: 10,000 would keep progress from answering for a second. */
const maxBatch = 250;

/** The initial work of an instance. */
const nothingDone = {
  resumeToken: null,
  appliedTime: null,
  appliedOpsTime: null,
  copiedBytes: 0,
  eventsApplied: 0,
  isCopied: false,
  arrivedAt: null,
} as const satisfies Partial<InstanceRecord>;

/** A checkpoint of an instance: what a restarted process needs to continue. */
export interface Checkpoint {
  readonly resumeToken: RawDocument;
  readonly appliedTime: Timestamp;
  readonly appliedOpsTime: Timestamp | null;
  readonly eventsApplied: number;
}

/**
 * The state of a sync that survives its processes: the database `clustersync_internal` on the destination. Collections are read
 * completely; if one does not end, this rejects with SyncError ServerRefused.
 * Every write but the heartbeat is acknowledged by a majority before the promise resolves.
 */
export class SyncStore {
  /** The record of the sync. */
  readonly record: RecordStore;
  readonly leftIndexes: LeftIndexStore;
  readonly partitions: PartitionStore;
  /** The right of this process to its instance. */
  readonly ownership: InstanceOwnership;
  readonly #instances: Collection<Stored<string>>;
  readonly #collections: Collection<Stored<UUID>>;
  readonly #views: Collection<Stored<string>>;
  readonly #db: Db;
  readonly #instanceId: string;
  /** By which the state knows the process that has claimed the instance by this store. */
  readonly incarnation = new UUID().toHexString();
  readonly #signal: AbortSignal;
  readonly #now: () => Moment;

  /** @param now - the clocks that limit how long the ownership is relied on. */
  constructor(
    destination: ClusterClient,
    instanceId: string,
    signal: AbortSignal,
    now: () => Moment = momentNow,
  ) {
    const db = stateDatabase(destination);
    this.#now = now;
    this.ownership = new InstanceOwnership(async () => {
      await this.heartbeat();
    }, now);
    this.#db = db;
    this.#instances = db.collection('instances');
    this.#collections = db.collection('collections');
    this.#views = db.collection('views');
    this.#instanceId = instanceId;
    this.#signal = signal;
    this.record = new RecordStore(destination, instanceId, signal, this.incarnation);
    this.leftIndexes = new LeftIndexStore(db.collection('leftIndexes'), signal);
    this.partitions = new PartitionStore(db.collection('partitions'), signal);
  }

  /** The lease of the coordinator. */
  get lease(): LeaseStore {
    return this.record.lease;
  }

  /** The store of the same instance on another cluster. */
  on(cluster: ClusterClient): SyncStore {
    return new SyncStore(cluster, this.#instanceId, this.#signal, this.#now);
  }

  /** Removes everything, the sync first. */
  async clear(): Promise<void> {
    for (const name of collectionNames) await this.#db.collection(name).drop();
  }

  /**
   * Forgets a sync, its record last: as long as the record exists, the leftovers are known to be from a reset. May be repeated.
   * @param assertMaySend - checked when each command is sent.
   */
  async forget(sync: SyncIdentity | undefined, assertMaySend: () => void): Promise<void> {
    for (const name of collectionNames.toReversed()) {
      if (name === 'sync') continue;
      try {
        await this.#runDurably({ drop: name }, assertMaySend);
      } catch (error) {
        if (codeOf(error) !== serverCode.namespaceNotFound) throw error;
      }
    }
    if (sync === undefined) return;
    const { startedAt, reversals } = sync;
    const coordinator = { q: { _id: 'coordinator' }, limit: 1 };
    const record = { q: { _id: 'sync', startedAt, reversals }, limit: 1 };
    await this.#write({ delete: 'sync', deletes: [coordinator, record] }, assertMaySend);
  }

  /** The stored records of the instances, by id. */
  async readInstances(): Promise<ReadonlyMap<string, InstanceRecord>> {
    const found = await readWhole(this.#instances.find({}, { signal: this.#signal }));
    return new Map(found.map((stored) => [stored._id, instanceIn(this.#instances, stored)]));
  }

  /** The stored record of this instance; undefined if it never worked on the sync. */
  async readInstance(): Promise<InstanceRecord | undefined> {
    const found = await this.#instances.findOne(
      { _id: this.#instanceId },
      { signal: this.#signal },
    );
    return found === null ? undefined : instanceIn(this.#instances, found);
  }

  /**
   * Claims this instance: a process that held it before can no longer save anything.
   * @param from - the incarnations that it may be taken from; a new record is made where there is none.
   * @param isForWork - whether that counts as a start of work.
   * @throws SyncError SupersededByOtherInstance if it is another's.
   */
  async takeOwnership(
    from: readonly string[] | 'anyone' = 'anyone',
    isForWork = true,
  ): Promise<InstanceRecord> {
    const filter = { _id: this.#instanceId };
    const claimed = await this.ownership.confirmedBy(async () => {
      const claiming = this.#instances.findOneAndUpdate(
        from === 'anyone' ? filter : { ...filter, incarnation: { $in: [...from] } },
        {
          $set: { incarnation: this.incarnation, heartbeatAt: new Date() },
          $setOnInsert: { ...nothingDone },
          $inc: { claims: isForWork ? 1 : 0 },
        },
        { upsert: true, returnDocument: 'after' },
      );
      return await claiming.catch((error: unknown) => {
        throw codeOf(error) === serverCode.duplicateKey ? this.#superseded() : error;
      });
    });
    return instanceIn(this.#instances, claimed ?? filter);
  }

  #superseded(): SyncError {
    return new SyncError(
      'SupersededByOtherInstance',
      `another process runs as --id ${this.#instanceId}`,
    );
  }

  /** Saves what has been applied. @throws SyncError SupersededByOtherInstance. */
  async saveCheckpoint({ resumeToken, ...figures }: Checkpoint): Promise<void> {
    await this.#updateInstance({ $set: { resumeToken: new Binary(resumeToken), ...figures } });
  }

  /** Records that this instance has reached a catalog change. @throws SyncError SupersededByOtherInstance. */
  async saveArrival(arrivedAt: string): Promise<void> {
    await this.#updateInstance({ $set: { arrivedAt } });
  }

  /**
   * Records that this instance has begun with a command, by its number: nothing that it sent before can still arrive. A reset
   * of the instances keeps it, because the coordinator may repeat that.
   * @throws SyncError SupersededByOtherInstance.
   */
  async saveBegun(begunWith: number): Promise<void> {
    await this.#updateInstance({ $set: { begunWith } });
  }

  /** Records that this instance has copied its part. @throws SyncError SupersededByOtherInstance. */
  async completeCopy(): Promise<void> {
    await this.#updateInstance({ $set: { isCopied: true } });
  }

  /**
   * Forgets everything that any instance has applied and copied: the sync starts over.
   * @param requireLease - throws if another instance may coordinate.
   * @throws SyncError SupersededByOtherInstance.
   */
  async resetInstances(requireLease: () => void): Promise<void> {
    await this.heartbeat();
    requireLease();
    const forgetting = { q: {}, u: { $set: { ...nothingDone } }, multi: true };
    // It names no incarnation, so nothing else keeps a process that was frozen here from sending it.
    await this.#write({ update: 'instances', updates: [forgetting] }, this.ownership.require);
  }

  /**
   * Records that this instance is alive, acknowledged only by the primary: members that are far behind must not make it seem
   * dead.
   * @throws SyncError SupersededByOtherInstance.
   */
  async heartbeat(): Promise<void> {
    await this.#updateInstance({}, { writeConcern: { w: 1 } });
  }

  /** Unlike the driver's methods, a command that fails for some of its documents is answered without an error. */
  async #write(command: Document, assertMaySend: () => void): Promise<void> {
    const answer = await this.#runDurably(command, assertMaySend);
    throwWriteErrors(writeAnswer(answer), () => false);
  }

  async #runDurably(command: Document, assertMaySend: () => void): Promise<CheckedValue> {
    const durable = { ...command, writeConcern: { w: 'majority', j: true } };
    return await runCommand(this.#db, checkedWhenSent(durable, assertMaySend), {
      signal: this.#signal,
      deadlineMs: 'none',
    });
  }

  async #updateInstance(
    update: { $set?: Document; $inc?: Document },
    options: UpdateOptions = {},
  ): Promise<void> {
    await this.ownership.confirmedBy(async () => {
      const result = await this.#instances.updateOne(
        { _id: this.#instanceId, incarnation: this.incarnation },
        { ...update, $set: { ...update.$set, heartbeatAt: new Date() } },
        options,
      );
      if (result.matchedCount > 0) return;
      throw this.#superseded();
    });
  }

  async readCollections(): Promise<TrackedCollection[]> {
    const collections: TrackedCollection[] = [];
    const options = { signal: this.#signal, batchSize: maxBatch };
    for await (const stored of boundedDocuments(this.#collections.find({}, options)))
      collections.push(collectionIn(this.#collections, stored));
    return collections;
  }

  async readCollection(uuid: UUID): Promise<TrackedCollection | undefined> {
    const found = await this.#collections.findOne({ _id: uuid }, { signal: this.#signal });
    return found === null ? undefined : collectionIn(this.#collections, found);
  }

  async putCollections(collections: readonly TrackedCollection[]): Promise<void> {
    for (const group of inGroupsOf(collections, maxBatch)) {
      const replacements = group.map((collection) => ({
        replaceOne: {
          filter: { _id: collection.uuid },
          replacement: encodeCollection(collection),
          upsert: true,
        },
      }));
      await this.#collections.bulkWrite(replacements, { ordered: false });
    }
  }

  async deleteCollection(uuid: UUID): Promise<void> {
    await this.#collections.deleteOne({ _id: uuid });
    await this.partitions.deleteOf(uuid);
  }

  async readViews(): Promise<TrackedView[]> {
    const stored = await readWhole(this.#views.find({}, { signal: this.#signal }));
    return stored.map((view) => viewIn(this.#views, view));
  }

  async putView({ namespace, options, ...times }: TrackedView): Promise<void> {
    const replacement = { namespace, options: stored(options), ...times };
    await this.#views.replaceOne({ _id: namespaceText(namespace) }, replacement, { upsert: true });
  }

  async deleteView(namespace: Namespace): Promise<void> {
    await this.#views.deleteOne({ _id: namespaceText(namespace) });
  }

  /** Forgets collections, views and partitions. */
  async deleteCatalog(): Promise<void> {
    await this.partitions.deleteAll();
    await this.#views.deleteMany({});
    await this.#collections.deleteMany({});
  }

  /**
   * Records that a partition is on the destination, and its size in bytes. A partition that is not stored with these bounds is
   * not recorded: the proof of the copy finds that.
   */
  async completePartition(partition: Partition, bytes: number): Promise<void> {
    await this.partitions.complete(partition);
    await this.#updateInstance({ $inc: { copiedBytes: bytes } });
  }

  /** Records a range that is on the destination by now, but had no record of its copy. */
  async putCopiedPartition(partition: Partition, bytes: number): Promise<void> {
    await this.partitions.putCopied(partition);
    await this.#updateInstance({ $inc: { copiedBytes: bytes } });
  }

  /**
   * Records that collections are wholly on the destination, and the bytes copied since the last call.
   * @throws SyncError CopyIncomplete if one of them is not stored.
   */
  async completeCollections(uuids: readonly UUID[], bytes: number): Promise<void> {
    const { matchedCount } = await this.#collections.updateMany(
      { _id: { $in: [...uuids] } },
      { $set: { isCopied: true } },
    );
    if (matchedCount !== uuids.length) {
      throw new SyncError(
        'CopyIncomplete',
        `the stored state has ${matchedCount} of ${uuids.length} copied collections`,
      );
    }
    if (bytes > 0) await this.#updateInstance({ $inc: { copiedBytes: bytes } });
  }

  /** The stored records of the copy of each collection, by its UUID as 32 hexadecimal digits. */
  async readCopyEvidence(): Promise<ReadonlyMap<string, CopyEvidence>> {
    const [partitions, copied] = await Promise.all([
      this.partitions.readAll(),
      readWhole(this.#collections.find({}, { signal: this.#signal, projection: { isCopied: 1 } })),
    ]);
    return new Map(
      copied.map((stored) => {
        const collection = storedDocument(this.#collections, stored).field('_id').uuid();
        const key = collection.toHexString(false);
        const isCopied = stored['isCopied'] === true;
        return [key, { collection, isCopied, partitions: partitions.get(key) ?? null }];
      }),
    );
  }
}
