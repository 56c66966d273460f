import { SyncError } from '../service/errors.ts';
import type { SyncRecord } from './state/records.ts';
import type { SyncStore } from './state/store.ts';

/** The record of a sync: read at any time, changed in the store first. */
export class LiveSync {
  readonly #storeOf: (record: SyncRecord) => SyncStore;
  #record: SyncRecord | undefined;

  /** @param storeOf - the store that holds a record. */
  constructor(storeOf: (record: SyncRecord) => SyncStore) {
    this.#storeOf = storeOf;
  }

  /** Undefined in IDLE. */
  get record(): SyncRecord | undefined {
    return this.#record;
  }

  /** The record of a sync that there is. */
  get current(): SyncRecord {
    if (!this.#record) throw new SyncError('InternalError', 'there is no sync');
    return this.#record;
  }

  /** Takes over a record as it is in the store. */
  adopt(record: SyncRecord): void {
    this.#record = record;
  }

  /** Changes the record, in the store first. */
  async update(change: Partial<SyncRecord>): Promise<void> {
    await this.#storeOf(this.current).updateSync(change);
    this.#record = { ...this.current, ...change };
  }

  /**
   * Makes sure that what this process knows of the state is still so in the store.
   * @throws SyncError SupersededByOtherInstance when another process has changed it, or somebody has dropped it.
   */
  async requireUnchanged(): Promise<void> {
    const { state } = this.current;
    const stored = await this.#storeOf(this.current).readSync();
    if (stored?.state === state) return;
    throw new SyncError(
      'SupersededByOtherInstance',
      `the stored state is ${stored?.state ?? 'gone'}, not ${state}: something else has changed it`,
    );
  }
}
