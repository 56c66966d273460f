import type { Timestamp } from 'mongodb';
import { isTransient } from '../../mongo/server-errors.ts';
import { SyncError } from '../../service/errors.ts';
import { instancesWithoutCommand, resetError, stateOf } from './instances.ts';
import type { GroupCommand, SyncRecord, SyncView } from './records.ts';
import type { LeaseStore } from './lease-store.ts';
import type { RecordStore } from './record-store.ts';

/** Where a record is kept. */
export type RecordPlace = Pick<
  RecordStore,
  'readSync' | 'updateSync' | 'addWarning' | 'setPaused' | 'receiveCommand'
> & { readonly lease: Pick<LeaseStore, 'read'> };

/** A command that is on its way to the store. */
export interface SentCommand {
  readonly command: 'pause' | 'resume' | 'commit' | 'reverse';
  /** Since when, by performance.now. */
  readonly sentMs: number;
}

/** Attempts to give a command beside another instance that is given it, too. */
const maxAttempts = 5;

/** A process works on the sync that it has begun or found, and on no other that takes its place in the store. */
function isSameSync(one: SyncRecord, other: SyncRecord): boolean {
  return one.startedAt.getTime() === other.startedAt.getTime();
}

function anotherSync(): SyncError {
  return new SyncError(
    'SupersededByOtherInstance',
    'the stored state belongs to another sync, which was started elsewhere',
  );
}

/** The record of a sync: read at any time, changed in the store first. */
export class LiveSync {
  readonly #id: string;
  readonly #storeOf: (record: SyncRecord) => RecordPlace;
  #stored: SyncRecord;
  /** Goes up with every change: what was read before it is older. */
  #version = 0;
  /** How often the store has been asked, and the latest question that was answered. */
  #asked = 0;
  #answered = 0;
  #coordinator: string | null = null;
  /** True from before it is stored that this instance has been given a commit. */
  #isGivenCommit = false;
  #sent: SentCommand | null = null;

  /**
   * @param id - of this instance.
   * @param record - as it is in the store.
   * @param storeOf - the store that holds a record.
   */
  constructor(id: string, record: SyncRecord, storeOf: (record: SyncRecord) => RecordPlace) {
    this.#id = id;
    this.#stored = record;
    this.#storeOf = storeOf;
  }

  /** As this instance shows it. Undefined in IDLE: it has not been given its start. */
  get record(): SyncView | undefined {
    const state = stateOf(this.#stored, this.#id);
    if (state === 'IDLE') return undefined;
    return { ...this.#stored, state: this.#isToldToReset ? 'PAUSED' : state };
  }

  /** Why nothing else is done, where the sync is being reset. */
  get resetUnderWay(): SyncError | undefined {
    return resetError(this.#stored);
  }

  /** As this instance shows it, when it has been given its start. */
  get current(): SyncView {
    const { record } = this;
    if (!record) throw new SyncError('InternalError', 'there is no sync');
    return record;
  }

  /** As it is in the store. */
  get stored(): SyncRecord {
    return this.#stored;
  }

  /** True where several instances work on it. */
  get isShared(): boolean {
    return this.#stored.instances.length > 1;
  }

  /** True when every instance has been given the last command. */
  get hasEveryInstanceCommand(): boolean {
    return instancesWithoutCommand(this.stored).length === 0;
  }

  /** The command that is on its way to the store: it may be taken by now. Null where none is. */
  get sent(): SentCommand | null {
    return this.#sent;
  }

  /** The instance that coordinates the others, as far as is known. */
  get coordinator(): string | null {
    return this.#coordinator;
  }

  /** Takes over a record as it is in the store. */
  adopt(record: SyncRecord): void {
    this.#version++;
    this.#stored = record;
  }

  /**
   * Changes the record, in the store first, where it is as expected there. Otherwise another instance has changed it, and what
   * it is now is known then.
   * @throws SyncError ResetUnderWay where the sync is being reset: nothing is changed then.
   */
  async update(change: Partial<SyncRecord>, expected?: Partial<SyncRecord>): Promise<void> {
    if (await this.#store.updateSync(change, expected)) {
      this.adopt({ ...this.stored, ...change });
      return;
    }
    await this.refresh();
    const { resetUnderWay } = this;
    if (resetUnderWay) throw resetUnderWay;
  }

  /** Keeps a warning for the people who look at progress. */
  async addWarning(warning: string): Promise<void> {
    await this.#store.addWarning(warning);
    const others = this.stored.warnings.filter((one) => one !== warning);
    this.adopt({ ...this.stored, warnings: [...others, warning] });
  }

  /** Pauses or resumes this instance. */
  async setPaused(isPaused: boolean): Promise<void> {
    await this.#store.setPaused(isPaused);
    const others = this.stored.paused.filter((id) => id !== this.#id);
    this.adopt({ ...this.stored, paused: isPaused ? [...others, this.#id] : others });
  }

  /**
   * Gives what records that this instance has been given a command, which may be repeated where it failed.
   * @param change - what the first instance that is given it changes.
   * @throws SyncError SupersededByOtherInstance where something else has changed the sync: only then is it known that it is
   *   not received. After any other error it may be.
   */
  receiving(command: GroupCommand, change: Partial<SyncRecord>): () => Promise<void> {
    const receive = this.#receiving(command, change);
    return async () => {
      this.#isGivenCommit = command === 'commit';
      await receive();
    };
  }

  /**
   * Runs what sends a command to the store, as often as it takes to know what has become of it: from the first attempt on it
   * cannot be taken back. A commit that failed by what leaves that open stays sent.
   */
  async sending(command: SentCommand['command'], send: () => Promise<void>): Promise<void> {
    this.#sent = { command, sentMs: performance.now() };
    try {
      await send();
      this.#sent = null;
    } catch (error) {
      const isRefused = error instanceof SyncError && !isTransient(error);
      if (isRefused || command !== 'commit') this.#sent = null;
      throw error;
    }
  }

  #receiving(command: GroupCommand, change: Partial<SyncRecord>): () => Promise<void> {
    const before = this.#receivedCount;
    let isReceived = false;
    return async () => {
      for (let attempt = 1; attempt <= maxAttempts; attempt++) {
        const { stored } = this;
        if (this.#receivedCount !== before) {
          if (isReceived) return;
          // By another process of this name.
          break;
        }
        const isFirst = before === stored.commandCount;
        const first = { ...change, command, formerState: stored.state };
        // Where the answer is lost it may be.
        isReceived = true;
        isReceived = await this.#store.receiveCommand(stored, isFirst ? first : undefined);
        await this.refresh();
        if (isReceived) return;
        if (this.resetUnderWay) break;
      }
      throw new SyncError(
        'SupersededByOtherInstance',
        'the sync has received other commands elsewhere',
      );
    };
  }

  /**
   * The time of the commit. Null where there is none that is not later than all that was read of the source before the call:
   * it is taken only when it is stored that it is about to be, and that is not until every instance has been given the commit.
   * `awaited` where it may be earlier, and is about to be known.
   */
  async findCommitTime(): Promise<Timestamp | 'awaited' | null> {
    const { commitTime: known } = this.stored;
    if (known !== null) return known;
    if (!this.#isGivenCommit && this.record?.state !== 'COMMITTING') return null;
    await this.refresh();
    const { commitTime, isFixingCommitTime } = this.stored;
    if (commitTime !== null) return commitTime;
    return isFixingCommitTime ? 'awaited' : null;
  }

  /**
   * Reads what is stored, again where this process has changed it meanwhile.
   * @throws SyncError SupersededByOtherInstance where nothing is, or another sync.
   */
  async refresh(): Promise<void> {
    for (;;) {
      const version = this.#version;
      const number = ++this.#asked;
      const stored = await this.#find(this.stored);
      if (this.isShared) this.#coordinator = await this.#store.lease.read();
      if (!stored) throw new SyncError('SupersededByOtherInstance', 'the stored state is gone');
      if (version !== this.#version) continue;
      if (!isSameSync(stored, this.stored)) throw anotherSync();
      // What was asked for later may have been answered before.
      if (number > this.#answered) this.#stored = stored;
      this.#answered = Math.max(this.#answered, number);
      return;
    }
  }

  /**
   * Makes sure that what this process knows of the state is still so in the store.
   * @throws SyncError SupersededByOtherInstance when another process has changed it, or somebody has dropped it.
   */
  async requireUnchanged(): Promise<void> {
    const { state } = this.current;
    const stored = await this.#store.readSync();
    if (stored && !isSameSync(stored, this.stored)) throw anotherSync();
    const now = stored ? stateOf(stored, this.#id) : 'gone';
    if (now === state) return;
    throw new SyncError(
      'SupersededByOtherInstance',
      `the stored state is ${now}, not ${state}: something else has changed it`,
    );
  }

  /** A reversal moves the record to the other cluster; it is removed from this one when all instances have found it there. */
  async #find(known: SyncRecord): Promise<SyncRecord | undefined> {
    const stored = await this.#store.readSync();
    if (stored && stored.phase !== 'handover') return stored;
    const moved = await this.#storeOf({ ...known, destination: known.source }).readSync();
    if (!moved || !isSameSync(moved, known)) return stored;
    return moved.reversals > known.reversals ? moved : stored;
  }

  /** What it does for the sync is only that. */
  get #isToldToReset(): boolean {
    return this.#stored.reset?.received.includes(this.#id) ?? false;
  }

  get #receivedCount(): number | undefined {
    return this.stored.received[this.stored.instances.indexOf(this.#id)];
  }

  get #store(): RecordPlace {
    return this.#storeOf(this.stored);
  }
}
