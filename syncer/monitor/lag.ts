import type { SyncView } from '../store/records.ts';

type Place = Pick<SyncView, 'state' | 'phase'>;

/**
 * The lag in progress and the metrics, in seconds; null if there is none to report, or it is unknown: 0 says that both sides
 * are consistent (contract 2.2).
 */
export function lagOf(
  { state, phase }: Place,
  { lagSeconds }: { readonly lagSeconds: number | null },
): number | null {
  switch (state) {
    case 'RUNNING':
      // The figures belong to the other direction.
      return phase === 'handover' ? null : lagSeconds;
    case 'COMMITTING':
      // Once everything in the commit is applied, later writes of the source do not matter.
      return phase === 'restoring' || phase === 'done' ? 0 : lagSeconds;
    case 'PAUSED':
      return null;
    case 'COMMITTED':
      return 0;
  }
}

/** The speed is known only while changes are being applied. */
export function catchUpOf(
  { state, phase }: Place,
  isWorking: boolean,
  { catchUpSeconds }: { readonly catchUpSeconds: number | null },
): number | null {
  return isWorking && phase === 'changes' && state !== 'PAUSED' ? catchUpSeconds : null;
}

/** The positions of the source and the sync at one moment, both on one scale: bytes of the source's oplog, or seconds. */
export interface CatchUpSample {
  /** On the monotonic clock. */
  readonly atMs: number;
  readonly written: number;
  readonly applied: number;
}

/** The rate is that of the last seconds, from the moment when most was left, */
const windowMs = 15_000;
/** once that is this long ago. */
const minSpanMs = 3_000;

/** A longer gap between samples means that the process was stopped: rates across it are useless. */
const maxGapMs = 5_000;

/** Anything longer than this is as good as never. */
const maxSeconds = 365 * 24 * 3600;

/** Estimates how long the sync needs to catch up with the source. */
export class CatchUpEstimator {
  readonly #now: () => number;
  #samples: CatchUpSample[] = [];

  /** @param now - the monotonic clock, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add(sample: CatchUpSample): void {
    const last = this.#samples.at(-1);
    const isContinued =
      last !== undefined &&
      sample.atMs - last.atMs <= maxGapMs &&
      sample.applied >= last.applied &&
      sample.written >= last.written;
    if (!isContinued) this.#samples = [];
    this.#samples.push(sample);
    this.#samples = this.#samples.filter(({ atMs }) => sample.atMs - atMs <= windowMs);
  }

  clear(): void {
    this.#samples = [];
  }

  /** Null while it is unknown, and while the sync does not catch up. */
  get seconds(): number | null {
    const last = this.#samples.at(-1);
    if (last === undefined || this.#now() - last.atMs > maxGapMs) return null;
    const remaining = remainingAt(last);
    if (remaining <= 0) return 0;
    const most = this.#samples.reduce((one, other) =>
      remainingAt(other) > remainingAt(one) ? other : one,
    );
    const spanMs = last.atMs - most.atMs;
    if (spanMs < minSpanMs) return null;
    const gained = remainingAt(most) - remaining;
    if (gained <= 0) return null;
    const seconds = Math.ceil((remaining * spanMs) / gained / 1000);
    return seconds > maxSeconds ? null : seconds;
  }
}

function remainingAt({ written, applied }: CatchUpSample): number {
  return written - applied;
}
