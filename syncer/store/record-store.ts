import { type Collection, type Db, type Document, UUID } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { syncDatabase } from '../../mongo/namespace.ts';
import { SyncError } from '../../service/errors.ts';
import { type ResetDestination, resetDestinations } from '../options/command-bodies.ts';
import { type Stored, storedSync } from './encoding.ts';
import { LeaseStore } from './lease-store.ts';
import type { SyncRecord } from './records.ts';
import { syncRecordIn } from './stored-records.ts';

/** How many of the latest warnings are kept. */
const maxWarnings = 100;

/** What distinguishes a sync from any other, and from itself before a reversal. */
export type SyncIdentity = Pick<SyncRecord, 'startedAt' | 'reversals'>;

/** The database of the state on a cluster: every write is acknowledged by a majority, and in its journal. */
export function stateDatabase(cluster: ClusterClient): Db {
  return cluster.decoded.db(syncDatabase, { writeConcern: { w: 'majority', journal: true } });
}

/** The record of a sync where it is stored: one document, `_id: 'sync'`, in the collection `sync`. The lease of the coordinator is beside it. */
export class RecordStore {
  readonly #sync: Collection<Stored<string>>;
  readonly #instance: { readonly id: string; readonly incarnation: string };
  readonly #signal: AbortSignal;

  /** @param incarnation - of the process that reads and writes it as the instance `id`. */
  constructor(
    cluster: ClusterClient,
    id: string,
    signal: AbortSignal,
    incarnation = new UUID().toHexString(),
  ) {
    this.#sync = stateDatabase(cluster).collection('sync');
    this.#instance = { id, incarnation };
    this.#signal = signal;
  }

  get lease(): LeaseStore {
    return new LeaseStore(this.#sync, this.#instance, this.#signal);
  }

  /** The sync; undefined if none was started. */
  async readSync(): Promise<SyncRecord | undefined> {
    const found = await this.#sync.findOne({ _id: 'sync' }, { signal: this.#signal });
    return found === null ? undefined : syncRecordIn(this.#sync, found);
  }

  /** The sync as the primary has it: a majority may not have that yet. */
  async readSyncOfPrimary(): Promise<SyncRecord | undefined> {
    const found = await this.#sync.findOne(
      { _id: 'sync' },
      { readConcern: { level: 'local' }, signal: this.#signal },
    );
    return found === null ? undefined : syncRecordIn(this.#sync, found);
  }

  /**
   * Records a new sync. May be repeated with the same object if the answer was lost.
   * @throws SyncError OtherSyncUnfinished if there is one already.
   */
  async createSync(record: SyncRecord): Promise<void> {
    const stored = await this.#sync.findOneAndUpdate(
      { _id: 'sync' },
      { $setOnInsert: { ...storedSync(record), createdBy: this.#instance.incarnation } },
      { upsert: true, returnDocument: 'after' },
    );
    const createdBy: unknown = stored?.['createdBy'];
    // The existing record may be from this very call: nothing is certain before the answer says so.
    if (typeof createdBy !== 'string')
      throw new MalformedAnswer('an answer to findAndModify without the record of the sync');
    if (createdBy !== this.#instance.incarnation)
      throw new SyncError('OtherSyncUnfinished', 'the destination holds another sync');
  }

  /**
   * Changes the sync if it is as expected, and is not being reset. What another process has changed stays.
   * @returns false if it is not as expected, or is gone.
   */
  async updateSync(
    change: Partial<SyncRecord>,
    expected: Partial<SyncRecord> = {},
  ): Promise<boolean> {
    const result = await this.#sync.updateOne(
      { _id: 'sync', reset: null, ...storedSync(expected), ...repairsFilter(expected) },
      { $set: storedSync(change) },
    );
    return result.matchedCount > 0;
  }

  /** Keeps a warning, only once if work is repeated: the latest ones stay. */
  async addWarning(warning: string): Promise<void> {
    const push: Document = { warnings: { $each: [warning], $slice: -maxWarnings } };
    await this.#sync.updateOne({ _id: 'sync', warnings: { $ne: warning } }, { $push: push });
  }

  /** Records that an instance is paused, or no longer is. */
  async setPaused(isPaused: boolean): Promise<void> {
    const change: Document = { paused: this.#instance.id };
    await this.#sync.updateOne(
      { _id: 'sync' },
      isPaused ? { $addToSet: change } : { $pull: change },
    );
  }

  /**
   * Records that an instance has been given a command. The first such instance moves the sync to another state. May be
   * repeated if the answer was lost.
   * @param first - the change of the sync that the command makes; undefined if another instance was given it before.
   * @returns false if another instance has been given another command meanwhile.
   */
  async receiveCommand(
    record: Pick<SyncRecord, 'instances' | 'commandCount'>,
    first: Partial<SyncRecord> | undefined,
  ): Promise<boolean> {
    const { received, expected, change } = commandWrite(record, this.#instance.id, first);
    const isReceived = { _id: 'sync', ...received };
    if (await this.#holds(isReceived)) return true;
    const result = await this.#sync.updateOne(
      { _id: 'sync', reset: null, ...expected },
      { $set: change },
    );
    if (result.matchedCount > 0) return true;
    // An earlier attempt may be what keeps it from matching, though a majority did not have that when it was looked for: an
    // update that changes nothing waits until a majority has what it has seen (6.0.27).
    return await this.#holds(isReceived);
  }

  async #holds(fields: Readonly<Document>): Promise<boolean> {
    return (await this.#sync.findOne(fields, { signal: this.#signal })) !== null;
  }

  /**
   * Records that this instance has been given a reset; the first such instance gives the sync its reset. A reset that is under
   * way can be made to do less, not more. May be repeated if the answer was lost.
   * @param cleanable - the conditions on a sync for cleaning its destination.
   * @returns false if the sync is another by now, is being reset to do less, or must not be cleaned.
   */
  async receiveReset(
    { startedAt, reversals }: SyncIdentity,
    destination: ResetDestination,
    cleanable: Readonly<Document>,
  ): Promise<boolean> {
    const same = { _id: 'sync', startedAt, reversals };
    const id = this.#instance.id;
    const begun = await this.#sync.updateOne(
      { ...same, reset: null, ...(destination === 'Clean' ? cleanable : {}) },
      { $set: { reset: { destination, received: [id], ended: [] } } },
    );
    if (begun.matchedCount > 0) return true;
    const asMuch = resetDestinations.slice(resetDestinations.indexOf(destination));
    const joined = await this.#sync.updateOne(
      { ...same, 'reset.destination': { $in: asMuch } },
      { $set: { 'reset.destination': destination }, $addToSet: { 'reset.received': id } },
    );
    return joined.matchedCount > 0;
  }

  /** Records that nothing more can arrive of what this instance did before it was given a reset. */
  async endForReset({ startedAt, reversals }: SyncIdentity): Promise<void> {
    await this.#sync.updateOne(
      { _id: 'sync', startedAt, reversals, 'reset.received': this.#instance.id },
      { $addToSet: { 'reset.ended': this.#instance.id } },
    );
  }
}

/** The record of a previous release has no count of repairs, for none. */
function repairsFilter({ repairs }: Partial<SyncRecord>): Document {
  return repairs === 0 ? { repairs: { $in: [0, null] } } : {};
}

/** The write that records that an instance has been given a command. */
export interface CommandWrite {
  /** What the record has if the instance was given it before. */
  readonly received: Readonly<Record<string, number>>;
  /** The condition on the record for giving the command. */
  readonly expected: Pick<SyncRecord, 'commandCount'>;
  /** By field paths. */
  readonly change: Readonly<Record<string, unknown>>;
}

/**
 * The write by which an instance is given a command: of all that are sent for one command, by any process and however often,
 * only one takes effect.
 * @param first - the change of the sync that the command makes; undefined if another instance was given it before.
 */
export function commandWrite(
  { instances, commandCount }: Pick<SyncRecord, 'instances' | 'commandCount'>,
  instance: string,
  first: Partial<SyncRecord> | undefined,
): CommandWrite {
  const number = first ? commandCount + 1 : commandCount;
  const received = {
    commandCount: number,
    [`received.${instances.indexOf(instance)}`]: number,
  };
  return {
    received,
    expected: { commandCount },
    change: { ...(first && storedSync(first)), ...received },
  };
}
