import { once } from 'node:events';
import type { Timestamp } from 'mongodb';
import type { Phase } from '../store/records.ts';
import type { Assembly } from '../store/instances.ts';
import type { Share } from './share.ts';

/** What only one instance does of a phase, while the others wait. */
export interface LedWork {
  readonly phase: Phase;
  /** What has to come first; undefined where nothing is waited for any more. */
  readonly waitsFor?: (assembly: Assembly) => string | undefined;
  /** Brings the sync to the next phase. May be repeated, also by another instance. */
  readonly run: () => Promise<void>;
}

/** Where a change is in the change stream. */
export interface StreamPlace {
  /** As texts, places are in the order of the stream. */
  readonly text: string;
  readonly time: Timestamp;
}

/** How the instances of a sync work together. */
export interface Coordination {
  readonly share: Share;
  /** Throws where this instance may not change the catalog of the destination: LeaseLost where another one coordinates. */
  readonly requireLease: () => void;
  /** Does work of a phase, or waits until the coordinator has: resolves when the phase is over. */
  lead(work: LedWork): Promise<void>;
  /**
   * Applies a change of the catalog, or waits until the coordinator has: it does so when all instances have come to it. What
   * it made of the catalog is known then. A change that is not before the commit is left out.
   * @param place - of the change. This instance has applied all before it, and stored that.
   */
  meet(place: StreamPlace, apply: () => Promise<void>): Promise<void>;
  /** Keeps what is known of the others up to date, until the signal is aborted. */
  watch(signal: AbortSignal): Promise<void>;
}

/** The one instance of a sync: it waits for nobody. */
export class Alone implements Coordination {
  readonly share = { index: 0, count: 1 };

  readonly requireLease: () => void;

  /** @param requireClaim - throws where another process may work as the instance. */
  constructor(requireClaim: () => void) {
    this.requireLease = requireClaim;
  }

  async lead({ run }: LedWork): Promise<void> {
    await run();
  }

  async meet(_place: StreamPlace, apply: () => Promise<void>): Promise<void> {
    await apply();
  }

  async watch(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) await once(signal, 'abort');
  }
}
