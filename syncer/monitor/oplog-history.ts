import type { Timestamp } from 'mongodb';

/** What a primary reports about its oplog at one moment. */
export interface OplogReading {
  /** When it was read, on the monotonic clock. */
  readonly atMs: number;
  /** Time of the oldest entry. */
  readonly first: Timestamp;
  /** Time of the latest entry. */
  readonly latest: Timestamp;
  readonly sizeBytes: number;
  /** The server gradually truncates what exceeds this. */
  readonly maxBytes: number;
  /** Bytes written to the oplog since the server was started: always grows, even when the oplog is truncated. */
  readonly writtenBytes: number;
  /** Younger entries are kept whatever the size; 0 if it is not set. */
  readonly minRetentionHours: number;
}

interface Point {
  readonly atMs: number;
  /** Cluster time in seconds. */
  readonly time: number;
  readonly bytes: number;
}

/** Enough for a step of ten minutes over more than a week; thinned out when full. */
const maxPoints = 1024;

/** The rate of writing is taken over the last five minutes, */
const rateWindowMs = 5 * 60_000;
/** or from the start of the readings, once that is this long ago. */
const minRateSpanMs = 8_000;

/** A younger oplog says nothing about its rate of writing in the long run. */
const minAverageSpanSeconds = 3600;

/**
 * How many bytes an oplog has written up to a given time. Between two readings, and before the first one, the bytes are assumed
 * to be spread evenly.
 */
export class OplogHistory {
  #points: Point[] = [];
  #latest: OplogReading | undefined;

  /** The last reading. */
  get latest(): OplogReading | undefined {
    return this.#latest;
  }

  add(reading: OplogReading): void {
    const { atMs, first, latest, sizeBytes, writtenBytes } = reading;
    const before = this.#points.at(-1);
    // A smaller count comes from another primary, or from the same one after a restart.
    if (before === undefined || writtenBytes < before.bytes || latest.t < before.time)
      this.#points = [{ atMs: -Infinity, time: first.t, bytes: writtenBytes - sizeBytes }];
    this.#points.push({ atMs, time: latest.t, bytes: writtenBytes });
    if (this.#points.length > maxPoints) {
      const last = this.#points.length - 1;
      this.#points = this.#points.filter((_, index) => index % 2 === 0 || index === last);
    }
    this.#latest = reading;
  }

  /** Forgets everything: the oplog is a different one now. */
  clear(): void {
    this.#points = [];
    this.#latest = undefined;
  }

  /** Bytes written to the oplog up to a cluster time, on the scale of `writtenBytes`; undefined before the first reading. */
  bytesAt({ t }: Timestamp): number | undefined {
    const points = this.#points;
    const after = points.findIndex(({ time }) => time > t);
    const left = after === -1 ? points.at(-1) : points[after - 1];
    const right = points[after];
    if (right === undefined || left === undefined) return (left ?? right)?.bytes;
    return left.bytes + ((right.bytes - left.bytes) * (t - left.time)) / (right.time - left.time);
  }

  /**
   * Bytes written to the oplog in a second: over the last minutes or over all the time that it covers, whichever is more. Null
   * while neither is known.
   */
  get bytesPerSecond(): number | null {
    const recent = this.#recentRate();
    const average = this.#averageRate();
    return recent === null && average === null ? null : Math.max(recent ?? 0, average ?? 0);
  }

  #recentRate(): number | null {
    const end = this.#points.at(-1);
    if (end === undefined) return null;
    const read = this.#points.filter(({ atMs }) => atMs > -Infinity);
    const start = read.findLast(({ atMs }) => end.atMs - atMs >= rateWindowMs) ?? read[0];
    const spanMs = end.atMs - (start?.atMs ?? end.atMs);
    if (start === undefined || spanMs < minRateSpanMs) return null;
    return ((end.bytes - start.bytes) * 1000) / spanMs;
  }

  #averageRate(): number | null {
    if (this.#latest === undefined) return null;
    const { first, latest, sizeBytes } = this.#latest;
    const seconds = latest.t - first.t;
    return seconds < minAverageSpanSeconds ? null : sizeBytes / seconds;
  }
}
