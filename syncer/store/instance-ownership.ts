import { syncDatabase } from '../../mongo/namespace.ts';
import type { WriteCommand, WriteRight } from '../../mongo/write-guard.ts';
import { SyncError } from '../../service/errors.ts';

/**
 * How long a process relies on the store's word that the instance is its own. One that takes the instance over waits for
 * longer before it writes (maxHeldMs), unless the connections of this one have ended.
 */
const reliableMs = 20_000;

/** What is written there only where it is as expected, the ownership itself among it. */
const conditional: readonly unknown[] = ['sync', 'instances'];

/**
 * The right of a process to work as its instance. It relies on it for a time after the store has confirmed it, by two clocks,
 * and on connections alone that were there then: the process that takes the instance over waits no longer where there are none.
 * So a process that was frozen, or cut off, does not send what it had in hand over what another one has written in its place
 * since.
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

  /** Runs what rejects where the instance is another's. */
  async confirmedBy<T>(ask: () => Promise<T>): Promise<T> {
    const at = this.#now();
    const answer = await ask();
    this.#confirmedAt = at;
    return answer;
  }

  /** True for what is written of data and of what is known of it, by whatever else but the end of a sync. */
  readonly isNeededFor = ({ db, name, target }: WriteCommand): boolean =>
    db !== syncDatabase || (name !== 'drop' && !conditional.includes(target));

  /** @throws SyncError SupersededByOtherInstance; ClusterUnreachable where the store does not answer in time. */
  readonly confirm = async (connectedAtMs: number): Promise<void> => {
    // What is being asked may have been asked for before.
    for (let asked = 0; asked < 2 && !this.#isConfirmed(connectedAtMs); asked++) {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = undefined;
      });
      await this.#asking;
    }
    this.require(connectedAtMs);
  };

  /** @throws SyncError ClusterUnreachable where the store has not confirmed it for too long: it passes, or the instance is another's. */
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

/** A moment, in milliseconds by two clocks: one that runs while the process is stopped, one while the machine is. */
export type Moment = readonly number[];

export function momentNow(): Moment {
  return [performance.now(), Date.now()];
}

/** The one of its times that performance.now has given. */
export function monotonicMs([monotonic = 0]: Moment): number {
  return monotonic;
}

/** Milliseconds from one moment to another, by the clock on which they are more. */
export function millisecondsBetween(earlier: Moment, later: Moment): number {
  return Math.max(...later.map((now, clock) => now - (earlier[clock] ?? 0)));
}
