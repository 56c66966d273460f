import { UUID, type Collection, type Document } from 'mongodb';
import { storedDocument } from '../../mongo/stored-document.ts';
import { readWhole } from '../../mongo/whole-reading.ts';
import { SyncError } from '../../service/errors.ts';
import { hasLeaseEnded, leaseEnd } from '../../mongo/lease.ts';
import { leaseMs, onStore, type MetadataStore, type ProcessIdentity } from './metadata-store.ts';
import { formatVersion, type ErrorRecord, type VerificationRecord } from './records.ts';
import { verificationIn } from './stored-records.ts';

interface Stored<T> extends Document {
  _id: T;
}

/** Another process coordinates the verification now, or it was started over: writes of this one no longer count. */
export class CoordinatorLeaseLost extends Error {
  override readonly name = 'CoordinatorLeaseLost';
}

/** The stored state of one verification as a whole, and who coordinates it. */
export class VerificationStore {
  readonly #store: MetadataStore;
  readonly #verifications: Collection<Stored<string>>;
  readonly #identity: ProcessIdentity;
  /** What this process verifies, once that is on record: any other subject that is stored later is not its own. */
  #subject: string | undefined;

  constructor(store: MetadataStore, identity: ProcessIdentity) {
    this.#store = store;
    this.#identity = identity;
    this.#verifications = store.db.collection('verifications');
  }

  /**
   * @throws SyncError CheckFailed if another version has written it, SupersededByOtherInstance if it is now of
   * another attempt, or of other clusters or namespaces.
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
        `the metadata store holds the verification ${verification} of another version of clustersync; start with --clean or under another name`,
      );
    }
    const record = verificationIn(this.#verifications, found);
    if (attempt !== undefined && attempt !== record.attempt) {
      throw new SyncError(
        'SupersededByOtherInstance',
        `the metadata store holds attempt ${record.attempt} of the verification ${verification}, but this process belongs to attempt ${attempt}`,
      );
    }
    if (this.#subject !== undefined && ![this.#subject, null].includes(record.subject)) {
      throw new SyncError(
        'SupersededByOtherInstance',
        `the verification ${verification} is now of other clusters or namespaces: another process has started it under the same name`,
      );
    }
    return record;
  }

  /**
   * Makes this process's attempt the recorded one: starts over if an earlier one is on record.
   * @throws SyncError like `read`.
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

  /** The runs of all recorded verifications. */
  async runs(): Promise<string[]> {
    return await onStore(this.#store, async () => {
      const found = await readWhole(this.#verifications.find({}, { projection: { run: 1 } }));
      return found.map((one) => storedDocument(this.#verifications, one).field('run').text());
    });
  }

  /** Resets the verification: its run is replaced by one that has not begun. */
  async clean(): Promise<void> {
    const { verification } = this.#identity;
    await onStore(this.#store, async () => {
      const fresh = { ...this.#fresh() };
      await this.#verifications.replaceOne({ _id: verification }, fresh, { upsert: true });
    });
  }

  /**
   * Starts the verification if it has not begun; lets a failed one continue, or start over if changes are lost or something is not
   * proven. Does nothing while it runs and when it is complete.
   * @throws SyncError like `read`.
   */
  async begin(): Promise<void> {
    const startedAt = new Date();
    const { subject: _subject, writesOff: _writesOff, ...fresh } = this.#fresh();
    await this.#create();
    const lost = { ...this.#key(), 'error.isFinal': true };
    const idle = { ...this.#key(), status: 'idle' };
    await onStore(this.#store, async () => {
      const startOver = { $set: { ...fresh, status: 'running', startedAt } };
      await this.#verifications.updateOne(lost, startOver);
      await this.#verifications.updateOne(idle, { $set: { status: 'running', startedAt } });
      await this.#verifications.updateOne(
        { ...this.#key(), status: 'running', 'error.isFinal': false },
        { $set: { error: null } },
      );
    });
    await this.read();
  }

  /** @returns false if that was known. @throws SyncError like `read`. */
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
   * Records what a verification is about, unless that is on record. Replaces another subject whose verification has not begun, of which
   * nothing is kept. @returns what is on record.
   */
  async claimSubject(subject: string): Promise<string> {
    await this.#create();
    const recorded = await onStore(this.#store, async () => {
      // One that failed before its subject was known has nothing that could be mistaken for another subject's.
      const hasNotBegun = { $or: [{ status: 'idle' }, { scope: null, error: { $ne: null } }] };
      const isOther = { ...hasNotBegun, subject: { $nin: [null, subject] } };
      const fresh = { ...this.#fresh(), subject };
      await this.#verifications.replaceOne({ ...this.#key(), ...isOther }, fresh);
      const unclaimed = { ...this.#key(), subject: null };
      await this.#verifications.updateOne(unclaimed, { $set: { subject } });
      const found = await this.#verifications.findOne(this.#key());
      if (found === null) return '';
      return storedDocument(this.#verifications, found).field('subject').text();
    });
    if (recorded === subject) this.#subject = subject;
    return recorded;
  }

  /** Records why a run cannot continue. The first reason stays. */
  async fail(run: string, error: ErrorRecord): Promise<void> {
    const filter = { ...this.#key(), run, status: 'running', error: null };
    await onStore(this.#store, async () => {
      await this.#verifications.updateOne(filter, { $set: { error } });
    });
  }

  /** Takes the lease of a run if nobody holds it, or if it has ended. @returns its epoch. */
  async takeLease(run: string): Promise<number | undefined> {
    const { incarnation } = this.#identity;
    return await onStore(this.#store, async () => {
      const mine = await this.#verifications.findOne({
        ...this.#key(),
        run,
        'lead.holder': incarnation,
      });
      const taken = await this.#verifications.findOneAndUpdate(
        mine
          ? { ...this.#key(), run, 'lead.holder': incarnation }
          : { ...this.#key(), run, $expr: hasLeaseEnded('$lead.until') },
        [
          {
            $set: {
              lead: {
                holder: incarnation,
                until: leaseEnd(leaseMs),
                epoch: { $add: [{ $ifNull: ['$lead.epoch', 0] }, 1] },
              },
            },
          },
        ],
        { returnDocument: 'after' },
      );
      if (taken === null) return undefined;
      return storedDocument(this.#verifications, taken).field('lead').field('epoch').count();
    });
  }

  /** Renews the lease and writes a change. @throws CoordinatorLeaseLost */
  async updateAsCoordinator(
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
              'lead.until': leaseEnd(leaseMs),
            },
          },
        ],
      );
      if (matchedCount === 0)
        throw new CoordinatorLeaseLost('another process is coordinating the verification');
    });
  }

  /** Ends the lease of a process that is gone, so that nobody has to wait for its end. */
  async endLease(incarnation: string): Promise<void> {
    await onStore(this.#store, async () => {
      await this.#freeLead(incarnation);
    });
  }

  /** Releases the lease of this process at its end. Not repeated. */
  async releaseLease(): Promise<void> {
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

  /** Matches only this attempt and subject: writes of an obsolete one no longer count. */
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
    lastPass: null,
    totals: { documents: 0, bytes: 0 },
    verdict: null,
    proof: null,
    error: null,
    startedAt: null,
    completedAt: null,
  };
}

/** Values as literals of a pipeline. */
function literals(change: Partial<VerificationRecord>): Document {
  return Object.fromEntries(
    Object.entries(change).map(([name, value]) => [name, { $literal: value }]),
  );
}
