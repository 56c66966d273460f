import { SyncError } from '../../service/errors.ts';
import { millisecondsBetween, momentNow, type Moment } from './two-clocks.ts';

/**
 * How long a process relies on the store's word that the instance is its own. One that takes the instance over waits for
 * longer before it writes (maxHeldMs), unless the connections of this one have ended.
 */
const reliableMs = 20_000;

/**
 * The right of a process to work as its instance. It relies on it for a time after the store has confirmed it, by two clocks.
 * So a process that was frozen does not send what it had in hand over what another one has written in its place since.
 */
export class Claim {
  readonly #now: () => Moment;
  #confirmedAt: Moment | undefined;

  constructor(now: () => Moment = momentNow) {
    this.#now = now;
  }

  /** Runs what rejects where the instance is another's. */
  async confirmedBy<T>(ask: () => Promise<T>): Promise<T> {
    const at = this.#now();
    const answer = await ask();
    this.#confirmedAt = at;
    return answer;
  }

  /** @throws SyncError ClusterUnreachable where the store has not confirmed it for too long: it passes, or the instance is another's. */
  readonly require = (): void => {
    const at = this.#confirmedAt;
    if (at !== undefined && millisecondsBetween(at, this.#now()) < reliableMs) return;
    throw new SyncError(
      'ClusterUnreachable',
      'the destination has not confirmed lately that no other process works as this instance',
    );
  };
}
