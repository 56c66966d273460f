import type { WriteGuard } from '../../mongo/write-guard.ts';
import type { InstanceRecord } from './records.ts';
import type { SyncStore } from './store.ts';

/** What claims an instance on a cluster. */
export type Claimant = Pick<SyncStore, 'incarnation' | 'ownership' | 'takeOwnership'>;

/** An instance that was claimed on a cluster, which its write guard identifies. */
interface Claimed {
  readonly writeGuard: WriteGuard;
  readonly claimant: Claimant;
}

/**
 * The instance of a process, from one piece of work on its sync to the next, and the right to write that comes with it. A process
 * that has claimed it and was superseded since, as it was frozen or cut off, does not take it back, and stores nothing.
 */
export class HeldInstance {
  #claimed: Claimed | undefined;
  /** Incarnations by which the process may hold it: the answer of a claim may have been lost. */
  #incarnations = new Set<string>();
  /** True from when a claim is sent until one has succeeded. */
  #isAnswerOpen = false;
  /** The latest claim: the next one, and each write, waits for it. */
  #claiming: Promise<unknown> = Promise.resolve();
  #isWorking = false;
  #writesUnderWay = 0;

  /**
   * Claims the instance for the next work on a cluster, each of whose writes needs the right from then on. Only the first claim
   * of the process supersedes another one: in a state that a reversal has moved there is a record of the instance only if another
   * process has been there before.
   * @throws SyncError SupersededByOtherInstance.
   */
  async claim(claimant: Claimant, writeGuard: WriteGuard): Promise<InstanceRecord> {
    return await this.#inTurn(async () => {
      const record = await this.#take(claimant, writeGuard, true);
      this.#isWorking = true;
      writeGuard.right = claimant.ownership;
      return record;
    });
  }

  /** Claims the instance of a process that has nothing to work on, unless it has claimed it. */
  async takePlace(claimant: Claimant, writeGuard: WriteGuard): Promise<void> {
    await this.#inTurn(async () => {
      if (!this.#claimed) await this.#take(claimant, writeGuard, false);
    });
  }

  /** The work has ended: it no longer writes. */
  endWork(): void {
    this.#isWorking = false;
    this.#withdraw(this.#claimed);
  }

  /**
   * Writes to the state of the sync, which needs the right also while no work is under way. If a reversal has moved the state, or
   * the last claim was not answered, the instance is claimed there first.
   * @param claimantThere - for a claim on the cluster of the write guard.
   * @throws SyncError SupersededByOtherInstance.
   */
  async write(
    writeGuard: WriteGuard,
    claimantThere: () => Claimant,
    write: () => Promise<void>,
  ): Promise<void> {
    const claimed = await this.#inTurn(async () => {
      const isElsewhere = this.#claimed !== undefined && this.#claimed.writeGuard !== writeGuard;
      if (!this.#isWorking && (isElsewhere || this.#isAnswerOpen))
        await this.#take(claimantThere(), writeGuard, false);
      if (this.#claimed?.writeGuard !== writeGuard) return undefined;
      this.#writesUnderWay += 1;
      writeGuard.right ??= this.#claimed.claimant.ownership;
      return this.#claimed;
    });
    try {
      await write();
    } finally {
      if (claimed) {
        this.#writesUnderWay -= 1;
        this.#withdraw(claimed);
      }
    }
  }

  /** Forgets the instance: a reset claims it on its own. */
  forget(): void {
    this.#claimed = undefined;
    this.#isAnswerOpen = false;
  }

  async #take(
    claimant: Claimant,
    writeGuard: WriteGuard,
    isForWork: boolean,
  ): Promise<InstanceRecord> {
    const isFirst = this.#claimed === undefined;
    if (this.#claimed?.writeGuard !== writeGuard) this.#incarnations.clear();
    this.#incarnations.add(claimant.incarnation);
    // If another process is there before it, this one has nothing to store there.
    if (!isFirst) this.#claimed = { writeGuard, claimant };
    this.#isAnswerOpen = true;
    const from = isFirst ? 'anyone' : [...this.#incarnations];
    const record = await claimant.takeOwnership(from, isForWork);
    this.#claimed = { writeGuard, claimant };
    this.#incarnations = new Set([claimant.incarnation]);
    this.#isAnswerOpen = false;
    return record;
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#claiming.then(work);
    this.#claiming = turn.catch(() => undefined);
    return await turn;
  }

  /** Takes the right from the cluster, unless something needs it, or it is that of a reset. */
  #withdraw(claimed: Claimed | undefined): void {
    if (!claimed || this.#isWorking || this.#writesUnderWay > 0) return;
    const { writeGuard, claimant } = claimed;
    if (writeGuard.right === claimant.ownership) writeGuard.right = undefined;
  }
}
