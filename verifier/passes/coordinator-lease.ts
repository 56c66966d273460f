import { sleep } from '../../service/sleep.ts';
import type { VerificationRecord } from '../store/records.ts';
import type { Stores } from '../store/stores.ts';
import type { Wakeup } from '../wakeup.ts';

/** How often the lease is renewed, and how often the record is checked for changes by other processes. */
const renewMs = 3_000;
const pollMs = 500;

/** What holding the lease needs. */
export interface CoordinatorLeaseContext {
  readonly stores: Pick<Stores, 'verifications' | 'processes' | 'tasks'>;
  /** Of this process. */
  readonly incarnation: string;
  /** Woken by events in this process: commands, completed passes, noted changes. */
  readonly wakeup: Wakeup;
  /** The record, as last read. */
  readonly latest: () => VerificationRecord | undefined;
  readonly signal: AbortSignal;
}

/** The lease of a verification's coordinator, and its record, which nobody else writes while this process holds the lease. */
export class CoordinatorLease {
  readonly #context: CoordinatorLeaseContext;
  readonly epoch: number;
  #record: VerificationRecord;

  constructor(context: CoordinatorLeaseContext, record: VerificationRecord, epoch: number) {
    this.#context = context;
    this.epoch = epoch;
    this.#record = record;
  }

  /** The record, including everything written here. */
  get record(): VerificationRecord {
    return this.#record;
  }

  get run(): string {
    return this.#record.run;
  }

  get isWritesOff(): boolean {
    return this.#record.writesOff || this.#context.latest()?.writesOff === true;
  }

  /** Renews the lease and writes a change. @throws CoordinatorLeaseLost if another process has taken over. */
  async update(change: Partial<VerificationRecord> = {}): Promise<void> {
    await this.#context.stores.verifications.updateAsCoordinator(this.run, this.epoch, change);
    this.#record = { ...this.#record, ...change };
  }

  /** Keeps the lease, and releases the tasks of processes that are gone. */
  async keep(): Promise<never> {
    const { signal, stores, incarnation } = this.#context;
    for (;;) {
      const living = await stores.processes.living();
      const others = living.map((each) => each.incarnation);
      await stores.tasks.releaseOthers(this.run, [incarnation, ...others]);
      await sleep(renewMs, signal);
      await this.update();
    }
  }

  /** Wakes everything that waits in this process. */
  wake(): void {
    this.#context.wakeup.wake();
  }

  /** Waits for a condition, which may become true by events here or in another process. */
  async until(
    condition: () => Promise<boolean> | boolean,
    signal = this.#context.signal,
  ): Promise<void> {
    const { wakeup } = this.#context;
    for (;;) {
      const { count } = wakeup;
      if (await condition()) return;
      await wakeup.since(count, pollMs, signal);
    }
  }
}
