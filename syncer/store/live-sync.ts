import type { Timestamp } from 'mongodb';
import { isTransient } from '../../mongo/server-errors.ts';
import { SyncError } from '../../service/errors.ts';
import type { Limits } from '../../sync-api/json.ts';
import { commitTimeIn, instancesWithoutCommand, resetError, stateOf } from './instances.ts';
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
  readonly command: 'pause' | 'resume' | 'commit' | 'reverse' | 'repair';
  /** Since when, by performance.now. */
  readonly sentMs: number;
}

/** Attempts to give a command while another instance is given it, too. */
const maxAttempts = 5;

/** A process works on the sync that it has started or found, and on no other that takes its place in the store. */
function isSameSync(one: SyncRecord, other: SyncRecord): boolean {
  return one.startedAt.getTime() === other.startedAt.getTime();
}

function anotherSync(): SyncError {
  return new SyncError(
    'SupersededByOtherInstance',
    'the stored state belongs to another sync, which was started elsewhere',
  );
}

/** The record of a sync: readable at any time, changed in the store first. */
export class LiveSync {
  readonly #id: string;
  readonly #storeOf: (record: SyncRecord) => RecordPlace;
  #stored: SyncRecord;
  /** Increases with every change: a read that began before it is outdated. */
  #version = 0;
  /** How often the store has been asked, and the latest question that was answered. */
  #asked = 0;
  #answered = 0;
  #coordinator: string | null = null;
  /** True from before the store records that this instance has been given a commit. */
  #isGivenCommit = false;
  #sent: SentCommand | null = null;

  /**
   * @param id - of this instance.
   * @param record - as it is in the store.
   * @param storeOf - returns the store that holds a record.
   */
  constructor(id: string, record: SyncRecord, storeOf: (record: SyncRecord) => RecordPlace) {
    this.#id = id;
    this.#stored = record;
    this.#storeOf = storeOf;
  }

  /**
   * The record as this instance shows it. Undefined in IDLE: it has been given neither its start nor a reset, which it shows until it is
   * done, as it accepts no other start until then.
   */
  get record(): SyncView | undefined {
    if (this.#isToldToReset) return { ...this.#stored, state: 'PAUSED' };
    const state = stateOf(this.#stored, this.#id);
    return state === 'IDLE' ? undefined : { ...this.#stored, state };
  }

  /** Why the sync accepts nothing else, if it is being reset. */
  get resetUnderWay(): SyncError | undefined {
    return resetError(this.#stored);
  }

  /** The record as this instance shows it, once it has been given its start or a reset. */
  get current(): SyncView {
    const { record } = this;
    if (!record) throw new SyncError('InternalError', 'there is no sync');
    return record;
  }

  /** The record as it is in the store. */
  get stored(): SyncRecord {
    return this.#stored;
  }

  /** True if several instances work on it. */
  get isShared(): boolean {
    return this.#stored.instances.length > 1;
  }

  /** True when every instance has been given the last command. */
  get hasEveryInstanceCommand(): boolean {
    return instancesWithoutCommand(this.stored).length === 0;
  }

  /** True when this instance has been given the last command. */
  get hasThisInstanceCommand(): boolean {
    return this.#receivedCount === this.stored.commandCount;
  }

  /** The command that is on its way to the store: it may be accepted by now. Null if there is none. */
  get sent(): SentCommand | null {
    return this.#sent;
  }

  /** The instance that coordinates the others, as far as known. */
  get coordinator(): string | null {
    return this.#coordinator;
  }

  /** Adopts a record from the store. */
  adopt(record: SyncRecord): void {
    this.#version++;
    this.#stored = record;
  }

  /**
   * Changes the record, in the store first, if it is as expected there. Otherwise another instance has changed it, and its new
   * content is read.
   * @returns whether this has changed it.
   * @throws SyncError ResetUnderWay if the sync is being reset: nothing is changed then.
   */
  async update(change: Partial<SyncRecord>, expected?: Partial<SyncRecord>): Promise<boolean> {
    if (await this.#store.updateSync(change, expected)) {
      this.adopt({ ...this.stored, ...change });
      return true;
    }
    await this.refresh();
    const { resetUnderWay } = this;
    if (resetUnderWay) throw resetUnderWay;
    return false;
  }

  /**
   * Changes the limits. It may be repeated if it failed.
   * @throws SyncError InvalidStateTransition while a reversal moves the record: the one that it has read would be stored without them;
   * ResetUnderWay; SupersededByOtherInstance if another sync is stored by now.
   */
  async setLimits(limits: Limits): Promise<void> {
    let isStored = false;
    while (!isStored) {
      const { phase, startedAt } = this.stored;
      if (phase === 'handover')
        throw new SyncError(
          'InvalidStateTransition',
          'limits is allowed once the reversal has moved the state: try again soon',
        );
      isStored = await this.update({ limits }, { phase, startedAt });
    }
  }

  /** Adds a warning to the progress. */
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
   * Makes sure that this instance can be given a command of the group: none that the others have not been given, while there is
   * a command that it has not been given; and no repair while others have not been given the start, which would be refused from then on.
   * @throws SyncError InvalidStateTransition.
   */
  requireReceivable(command: GroupCommand): void {
    const { command: last } = this.stored;
    if (last === command) return;
    if (!this.hasThisInstanceCommand)
      throw new SyncError(
        'InvalidStateTransition',
        `another instance received ${last}, and this one did not: send it ${last}, not ${command}`,
      );
    const missing = instancesWithoutCommand(this.stored);
    if (command !== 'repair' || missing.length === 0) return;
    throw new SyncError(
      'InvalidStateTransition',
      `repair is allowed once every instance received ${last}: send ${last} to ${missing.join(' and ')} first`,
    );
  }

  /**
   * Returns what records that this instance has been given a command; it may be repeated if it failed.
   * @param change - the change that the first instance to be given it makes.
   * @throws SyncError SupersededByOtherInstance if something else has changed the sync: only then is it certain that the
   * command is not recorded. After any other error it may be.
   */
  receiving(command: GroupCommand, change: Partial<SyncRecord>): () => Promise<void> {
    const receive = this.#receiving(command, change);
    return async () => {
      this.#isGivenCommit = command === 'commit';
      await receive();
    };
  }

  /**
   * Runs what sends a command to the store, as often as needed to know the outcome: from the first attempt on the command
   * cannot be taken back. A commit that failed with its outcome open stays sent.
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
          // Another process of this name was given it.
          break;
        }
        const isFirst = before === stored.commandCount;
        if (!isFirst) this.requireReceivable(command);
        const first = { ...change, command, formerState: stored.state };
        // If the answer is lost, it may be recorded.
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
   * The time of the commit. Null if there is none, or it is certain to be later than everything read of the source before the
   * call: the time is taken only after the record says that it is about to be, which needs every instance to have been given
   * the commit. `awaited` if it may be earlier, and is about to be known.
   */
  async findCommitTime(): Promise<Timestamp | 'awaited' | null> {
    const { commitTime: known } = this.stored;
    if (known !== null) return known;
    if (!this.#isGivenCommit && this.record?.state !== 'COMMITTING') return null;
    await this.refresh();
    return commitTimeIn(this.stored);
  }

  /**
   * Reads the stored record, again if this process has changed it meanwhile.
   * @throws SyncError SupersededByOtherInstance if there is none, or another sync's.
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
      // A later question may have been answered first.
      if (number > this.#answered) this.#stored = stored;
      this.#answered = Math.max(this.#answered, number);
      return;
    }
  }

  /**
   * Makes sure that the store still agrees with what this process knows of the state.
   * @throws SyncError SupersededByOtherInstance if another process has changed it, or somebody has dropped it.
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

  /** A reversal moves the record to the other cluster; it is removed from this one once all instances have found it there. */
  async #find(known: SyncRecord): Promise<SyncRecord | undefined> {
    const stored = await this.#store.readSync();
    if (stored && stored.phase !== 'handover') return stored;
    const moved = await this.#storeOf({ ...known, destination: known.source }).readSync();
    if (!moved || !isSameSync(moved, known)) return stored;
    return moved.reversals > known.reversals ? moved : stored;
  }

  /** True once this instance has been given a reset: it does nothing else for the sync. */
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
