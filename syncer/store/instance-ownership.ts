import { syncDatabase } from '../../mongo/namespace.ts';
import type { WriteCommand, WriteRight } from '../../mongo/write-guard.ts';
import { SyncError } from '../../service/errors.ts';
import { millisecondsBetween, momentNow, monotonicMs, type Moment } from '../../service/moment.ts';

/**
 * How long a process relies on the store's confirmation that the instance is its own. A process that takes over the instance
 * waits longer before it writes (maxHeldMs), unless the connections of this one have ended.
 */
export const reliableMs = 20_000;

/** Writes of an instance's own record are conditional on the ownership, and confirm it. */
const confirming = 'instances';

/**
 * The right of a process to work as its instance. The process relies on it for a time after the store has confirmed it, by two
 * clocks, and only on connections that existed then: the process that takes over the instance does not wait longer if there are
 * none. So a process that was frozen, or cut off, does not send its pending writes over what another one has written in its
 * place since.
 */
export class InstanceOwnership implements WriteRight {
  readonly #ask: () => Promise<void>;
  readonly #now: () => Moment;
  #asking: Promise<void> | undefined;
  #confirmedAt: Moment | undefined;

  /** @param ask - asks the store, within {@link confirmedBy}. */
  constructor(ask: () => Promise<void>, now: () => Moment = momentNow) {
    this.#ask = ask;
    this.#now = now;
  }

  /** Runs a question that fails if the instance belongs to another process. */
  async confirmedBy<T>(ask: () => Promise<T>): Promise<T> {
    const at = this.#now();
    const answer = await ask();
    this.#confirmedAt = at;
    return answer;
  }

  /**
   * True for writes of data and of the state, except those that end a sync. It is needed for the record of the sync, too: a command
   * that was in hand when the process was frozen would still fit there if the sync has not received another one since.
   */
  readonly isNeededFor = ({ db, name, target }: WriteCommand): boolean =>
    db !== syncDatabase || (name !== 'drop' && target !== confirming);

  /**
   * The right that a reset needs: the record of the sync, and the lease beside it, are written without it. Another instance may have
   * removed what confirms it, and died: this one has to become the coordinator then. Only what is as expected there is changed.
   */
  get forReset(): WriteRight {
    const { confirm, require } = this;
    const isOfRecord = ({ db, target }: WriteCommand): boolean =>
      db === syncDatabase && target === 'sync';
    const isNeededFor = (command: WriteCommand): boolean =>
      !isOfRecord(command) && this.isNeededFor(command);
    return { isNeededFor, confirm, require };
  }

  /** @throws SyncError SupersededByOtherInstance; ClusterUnreachable if the store does not answer in time. */
  readonly confirm = async (connectedAtMs: number): Promise<void> => {
    // A question that is already under way may have been asked too early.
    for (let asked = 0; asked < 2 && !this.#isConfirmed(connectedAtMs); asked++) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
      await this.#asking;
    }
    this.require(connectedAtMs);
  };

  /**
   * @throws SyncError ClusterUnreachable if the store has not confirmed it for too long: this is temporary, or the instance is
   * another's.
   */
  readonly require = (connectedAtMs = 0): void => {
    if (this.#isConfirmed(connectedAtMs)) return;
    throw new SyncError(
      'ClusterUnreachable',
      'the destination has not recently confirmed that no other process works as this instance',
    );
  };

  #isConfirmed(connectedAtMs: number): boolean {
    const at = this.#confirmedAt;
    if (at === undefined || millisecondsBetween(at, this.#now()) >= reliableMs) return false;
    return monotonicMs(at) >= connectedAtMs;
  }
}
