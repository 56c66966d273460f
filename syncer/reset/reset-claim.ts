import { SyncError } from '../../service/errors.ts';
import type { ClusterName } from '../options/command-bodies.ts';
import type { ClusterPair } from '../store/clusters.ts';
import type { SyncStore } from '../store/store.ts';

/** How long a process leaves the rest of a reset to another one that has claimed its instance. */
export const othersTurnMs = 120_000;

/** The part of the state in which this process claims its instance. */
interface ClaimableStore extends Pick<SyncStore, 'heartbeat'> {
  /** Undefined if nothing of the instance is stored. */
  readInstance(): Promise<unknown>;
  takeOwnership(): Promise<unknown>;
}

/** What a claim needs. */
interface ClaimParts {
  readonly pair: Pick<ClusterPair, 'forgetFormerConnections' | 'takeOver'>;
  /** Called when another process is found to have claimed the instance. */
  readonly onLost: () => void;
  readonly nowMs?: () => number;
}

/**
 * This process's claim of its instance during a reset, on the cluster where the record of the sync is. From another process that has
 * claimed it, which carries out the same reset, it is taken back only after a time.
 */
export class ResetClaim {
  readonly #pair: ClaimParts['pair'];
  readonly #onLost: () => void;
  readonly #nowMs: () => number;
  /** Where this process has claimed its instance, and when it found that another process had claimed it. */
  #claimed: { readonly name: ClusterName; readonly lostAtMs?: number } | undefined;

  constructor({ pair, onLost, nowMs = () => performance.now() }: ClaimParts) {
    this.#pair = pair;
    this.#onLost = onLost;
    this.#nowMs = nowMs;
  }

  /**
   * Claims this instance, or keeps it.
   * @returns false if another process may have had it: its writes may still arrive, and this process has to wait for them again.
   * @throws SyncError SupersededByOtherInstance as long as it is the turn of the other one.
   */
  async keepOrTake(name: ClusterName, store: ClaimableStore): Promise<boolean> {
    if (this.#claimed?.name === name) {
      try {
        await store.heartbeat();
        this.#claimed = { name };
        return true;
      } catch (error) {
        if (!isSuperseded(error)) throw error;
        const { lostAtMs = this.#nowMs() } = this.#claimed;
        this.#claimed = { name, lostAtMs };
        this.#onLost();
        // It has no record if an earlier attempt, of this process or another one, has removed it.
        const isTheirs = (await store.readInstance()) !== undefined;
        if (isTheirs && this.#nowMs() - lostAtMs < othersTurnMs) throw error;
      }
    }
    this.#pair.forgetFormerConnections();
    await store.takeOwnership();
    this.#pair.takeOver();
    this.#claimed = { name };
    return false;
  }
}

/** True if another process has claimed the instance. */
export function isSuperseded(error: unknown): boolean {
  return error instanceof SyncError && error.name === 'SupersededByOtherInstance';
}
