import { syncDatabase } from '../../mongo/namespace.ts';
import type { WriteCommand, WriteRight } from '../../mongo/write-guard.ts';
import { SyncError } from '../../service/errors.ts';

/**
 * How long a process relies on the store's confirmation that the instance is its own. A process that takes over the instance
 * waits longer before it writes (maxHeldMs), unless the connections of this one have ended.
 */
export const reliableMs = 20_000;

/** Collections where writes are conditional on the expected content, the ownership included. */
const conditional: readonly unknown[] = ['sync', 'instances'];

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

  /** True for writes of data and of the state, except those that end a sync. */
  readonly isNeededFor = ({ db, name, target }: WriteCommand): boolean =>
    db !== syncDatabase || (name !== 'drop' && !conditional.includes(target));

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

/** A moment, in milliseconds by two clocks: one that runs while the process is stopped, and one while the machine is. */
export type Moment = readonly number[];

export function momentNow(): Moment {
  return [performance.now(), Date.now()];
}

/** The time of the moment that performance.now returned. */
export function monotonicMs([monotonic = 0]: Moment): number {
  return monotonic;
}

/** Milliseconds from one moment to another, by the clock that counts more. */
export function millisecondsBetween(earlier: Moment, later: Moment): number {
  return Math.max(...later.map((now, clock) => now - (earlier[clock] ?? 0)));
}
