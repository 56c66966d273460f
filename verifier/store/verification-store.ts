import { UUID, type Collection, type Document } from 'mongodb';
import { SyncError } from '../../service/errors.ts';
import { leaseMs, onStore, type MetadataStore, type ProcessIdentity } from './metadata-store.ts';
import { formatVersion, type ErrorRecord, type VerificationRecord } from './records.ts';

interface Stored<T> extends Document {
  _id: T;
}

/** Another process leads the verification now, or it was begun anew: what this one would write counts no more. */
export class LeadLost extends Error {
  override readonly name = 'LeadLost';
}

/** What is stored of one verification as a whole, and who leads it. */
export class VerificationStore {
  readonly #store: MetadataStore;
  readonly #verifications: Collection<Stored<string>>;
  readonly #identity: ProcessIdentity;
  /** What this process verifies, once that is on record: whatever else is there later is not its own. */
  #subject: string | undefined;

  constructor(store: MetadataStore, identity: ProcessIdentity) {
    this.#store = store;
    this.#identity = identity;
    this.#verifications = store.db.collection('verifications');
  }

  /**
   * @throws SyncError CheckFailed where it was written by another version, SupersededByOtherInstance where it is of
   * another attempt, or of other clusters or namespaces by now.
   */
  async read(): Promise<VerificationRecord | undefined> {
    const { signal } = this.#store;
    const found = await onStore(this.#store, async () => {
      const { verification: _id } = this.#identity;
      return await this.#verifications.findOne({ _id }, { signal });
    });
    if (!found) return undefined;
    const { verification, attempt } = this.#identity;
    if (found['formatVersion'] !== formatVersion) {
      throw new SyncError(
        'CheckFailed',
        `the metadata store holds the verification ${verification} of another version of clustersync; start with --clean, or under another name`,
      );
    }
    const record = found as unknown as VerificationRecord;
    if (attempt !== undefined && attempt !== record.attempt) {
      throw new SyncError(
        'SupersededByOtherInstance',
        `the metadata store holds the attempt ${record.attempt} at the verification ${verification}, this process is of the attempt ${attempt}`,
      );
    }
    if (this.#subject !== undefined && ![this.#subject, null].includes(record.subject)) {
      throw new SyncError(
        'SupersededByOtherInstance',
        `the verification ${verification} is one of other clusters or namespaces now: another process has begun it, under the same name`,
      );
    }
    return record;
  }

  /**
   * Makes this process's attempt the one that is on record: begun anew where an earlier one is.
   * @throws SyncError as `read`.
   */
  async openAttempt(): Promise<void> {
    const { verification: _id, attempt } = this.#identity;
    await this.#create();
    await onStore(this.#store, async () => {
      const former = { _id, attempt: { $lt: attempt } };
      await this.#verifications.replaceOne(former, { ...this.#fresh() });
    });
    await this.read();
  }

  /** The runs of all verifications that are on record. */
  async runs(): Promise<string[]> {
    return await onStore(this.#store, async () => {
      const found = await this.#verifications.find({}, { projection: { run: 1 } }).toArray();
      return found.map(({ run }) => String(run));
    });
  }

  /** Forgets the verification: its run is replaced by one that has not begun. */
  async clean(): Promise<void> {
    const { verification } = this.#identity;
    await onStore(this.#store, async () => {
      const fresh = { ...this.#fresh() };
      await this.#verifications.replaceOne({ _id: verification }, fresh, { upsert: true });
    });
  }

  /**
   * Lets the verification begin, where it has not; lets one that failed go on, or begin anew where changes are lost. Does
   * nothing while it runs and when it is complete.
   * @throws SyncError as `read`.
   */
  async begin(): Promise<void> {
    const startedAt = new Date();
    const { subject: _subject, writesOff: _writesOff, ...fresh } = this.#fresh();
    await this.#create();
    const lost = { ...this.#key(), 'error.isFinal': true };
    const idle = { ...this.#key(), status: 'idle' };
    await onStore(this.#store, async () => {
      const anew = { $set: { ...fresh, status: 'running', startedAt } };
      await this.#verifications.updateOne(lost, anew);
      await this.#verifications.updateOne(idle, { $set: { status: 'running', startedAt } });
      await this.#verifications.updateOne(
        { ...this.#key(), status: 'running', 'error.isFinal': false },
        { $set: { error: null } },
      );
    });
    await this.read();
  }

  /** @returns false when that was known. @throws SyncError as `read`. */
  async setWritesOff(): Promise<boolean> {
    await this.#create();
    const isNew = await onStore(this.#store, async (attempt) => {
      const unset = { ...this.#key(), writesOff: false };
      const { modifiedCount } = await this.#verifications.updateOne(unset, {
        $set: { writesOff: true },
      });
      return modifiedCount > 0 || attempt > 0;
    });
    await this.read();
    return isNew;
  }

  /**
   * Records what a verification is about, where that is not on record, or is something else that has not begun: of that nothing
   * is left. @returns what is on record.
   */
  async claimSubject(subject: string): Promise<string> {
    await this.#create();
    const recorded = await onStore(this.#store, async () => {
      // One that failed before it was known what it is about has nothing that could be taken for something else.
      const hasNotBegun = { $or: [{ status: 'idle' }, { scope: null, error: { $ne: null } }] };
      const isOther = { ...hasNotBegun, subject: { $nin: [null, subject] } };
      const fresh = { ...this.#fresh(), subject };
      await this.#verifications.replaceOne({ ...this.#key(), ...isOther }, fresh);
      const unclaimed = { ...this.#key(), subject: null };
      await this.#verifications.updateOne(unclaimed, { $set: { subject } });
      const found = await this.#verifications.findOne(this.#key());
      return String(found?.['subject']);
    });
    if (recorded === subject) this.#subject = subject;
    return recorded;
  }

  /** Records why a run cannot go on. The first reason stays. */
  async fail(run: string, error: ErrorRecord): Promise<void> {
    const filter = { ...this.#key(), run, status: 'running', error: null };
    await onStore(this.#store, async () => {
      await this.#verifications.updateOne(filter, { $set: { error } });
    });
  }

  /** Takes the lead of a run where nobody has it, or its lease has ended. @returns the lead's epoch. */
  async takeLead(run: string): Promise<number | undefined> {
    const { incarnation } = this.#identity;
    return await onStore(this.#store, async () => {
      const mine = await this.#verifications.findOne({
        ...this.#key(),
        run,
        'lead.holder': incarnation,
      });
      const isFree = { $lte: [{ $ifNull: ['$lead.until', new Date(0)] }, '$$NOW'] };
      const taken = await this.#verifications.findOneAndUpdate(
        mine
          ? { ...this.#key(), run, 'lead.holder': incarnation }
          : { ...this.#key(), run, $expr: isFree },
        [
          {
            $set: {
              lead: {
                holder: incarnation,
                until: { $add: ['$$NOW', leaseMs] },
                epoch: { $add: [{ $ifNull: ['$lead.epoch', 0] }, 1] },
              },
            },
          },
        ],
        { returnDocument: 'after' },
      );
      return taken ? Number((taken['lead'] as Document)['epoch']) : undefined;
    });
  }

  /** Prolongs the lead and writes a change. @throws LeadLost */
  async updateAsLead(
    run: string,
    epoch: number,
    change: Partial<VerificationRecord> = {},
  ): Promise<void> {
    const { incarnation } = this.#identity;
    await onStore(this.#store, async () => {
      const { matchedCount } = await this.#verifications.updateOne(
        { ...this.#key(), run, 'lead.holder': incarnation, 'lead.epoch': epoch },
        [
          {
            $set: {
              ...literals(change),
              'lead.until': { $add: ['$$NOW', leaseMs] },
            },
          },
        ],
      );
      if (matchedCount === 0) throw new LeadLost('another process leads the verification');
    });
  }

  /** Ends the lead of a process that is gone, so that nobody need wait for the end of its lease. */
  async endLead(incarnation: string): Promise<void> {
    await onStore(this.#store, async () => {
      await this.#freeLead(incarnation);
    });
  }

  /** Gives the lead of this process back, at its end. Not repeated. */
  async releaseLead(): Promise<void> {
    await this.#freeLead(this.#identity.incarnation);
  }

  async #freeLead(incarnation: string): Promise<void> {
    const held = { _id: this.#identity.verification, 'lead.holder': incarnation };
    await this.#verifications.updateOne(held, { $set: { 'lead.until': new Date(0) } });
  }

  async #create(): Promise<void> {
    const { verification: _id } = this.#identity;
    await onStore(this.#store, async () => {
      const fresh = { $setOnInsert: { ...this.#fresh() } };
      await this.#verifications.updateOne({ _id }, fresh, { upsert: true });
    });
  }

  #fresh(): VerificationRecord {
    const { attempt = 0 } = this.#identity;
    return { ...freshRecord(), attempt };
  }

  /** Of this attempt and subject alone: what one that is over has to say counts no more. */
  #key(): { _id: string; attempt?: number; subject?: string } {
    const { verification: _id, attempt } = this.#identity;
    const subject = this.#subject;
    return {
      _id,
      ...(attempt !== undefined && { attempt }),
      ...(subject !== undefined && { subject }),
    };
  }
}

function freshRecord(): Omit<VerificationRecord, 'attempt'> {
  return {
    formatVersion,
    run: new UUID().toHexString(),
    status: 'idle',
    writesOff: false,
    subject: null,
    scope: null,
    starts: null,
    positions: { source: null, destination: null },
    noted: [],
    generation: null,
    totals: { documents: 0, bytes: 0 },
    verdict: null,
    proof: null,
    error: null,
    startedAt: null,
    completedAt: null,
  };
}

/** Values as a pipeline takes them for themselves. */
function literals(change: Partial<VerificationRecord>): Document {
  return Object.fromEntries(
    Object.entries(change).map(([name, value]) => [name, { $literal: value }]),
  );
}
