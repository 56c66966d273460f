import { sleep } from '../../service/sleep.ts';
import type { VerificationRecord } from '../store/records.ts';
import type { Stores } from '../store/stores.ts';
import type { Wakeup } from '../wakeup.ts';

/** How often the lease is renewed, and what other processes have done is looked for. */
const renewMs = 3_000;
const pollMs = 500;

/** What holding the lease works with. */
export interface CoordinatorLeaseContext {
  readonly stores: Pick<Stores, 'verifications' | 'processes' | 'tasks'>;
  /** Of this process. */
  readonly incarnation: string;
  /** Woken by what happens in this process: commands, passes that are worked off, changes that are noted. */
  readonly wakeup: Wakeup;
  /** What is on record, as it was last read. */
  readonly latest: () => VerificationRecord | undefined;
  readonly signal: AbortSignal;
}

/** The lease of the coordinator of a verification, and its record, which nobody else writes as long as this process holds it. */
export class CoordinatorLease {
  readonly #context: CoordinatorLeaseContext;
  readonly epoch: number;
  #record: VerificationRecord;

  constructor(context: CoordinatorLeaseContext, record: VerificationRecord, epoch: number) {
    this.#context = context;
    this.epoch = epoch;
    this.#record = record;
  }

  /** What is on record, with all that was written here. */
  get record(): VerificationRecord {
    return this.#record;
  }

  get run(): string {
    return this.#record.run;
  }

  get isWritesOff(): boolean {
    return this.#record.writesOff || this.#context.latest()?.writesOff === true;
  }

  /** Renews the lease and writes a change. @throws CoordinatorLeaseLost where another process has taken over. */
  async update(change: Partial<VerificationRecord> = {}): Promise<void> {
    await this.#context.stores.verifications.updateAsCoordinator(this.run, this.epoch, change);
    this.#record = { ...this.#record, ...change };
  }

  /** Keeps the lease, and gives back what processes have taken that are gone. */
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

  /** Lets all that waits in this process look again. */
  wake(): void {
    this.#context.wakeup.wake();
  }

  /** Waits until a condition holds; it may come to hold by what happens here, or in another process. */
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
