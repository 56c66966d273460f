import type { Timestamp } from 'mongodb';
import { Registry } from 'prom-client';
import { secondsBetween } from '../../mongo/cluster-time.ts';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { errorNameOf } from '../../mongo/server-errors.ts';
import { CommitProofs, type LeftIndex } from './commit-word.ts';
import { CopyTally } from './copy-tally.ts';
import { CatchUpEstimator } from './lag.ts';
import { OplogHistory, type OplogReading } from './oplog-history.ts';
import { isLost, oplogSecondsLeft, oplogState, type OplogState } from './oplog-window.ts';
import { WorkCounters } from './work-counters.ts';

/** How far the building of indexes after the copy is. */
export interface IndexBuilding {
  readonly indexesBuilt: number;
  readonly totalIndexesToBuild: number;
  readonly collectionsFinished: number;
  readonly collectionsTotal: number;
}

/** The latest write of the source is asked for more often than this. */
const maxQuietSeconds = 3;

/** Readings of the oplog come more often than this. */
const maxReadingAgeMs = 4_000;

/** What was not read for so long is not known any more. */
const maxOplogUnknownMs = 30_000;

/** Change events that are being applied: one batch of the change stream. */
export interface EventBatch {
  /** All changes up to here are applied when it is, and those before it are. */
  readonly time: Timestamp;
  readonly events: number;
  /** Memory that is held as long as one of them is not finished. */
  readonly bytes: number;
  /** Events that need no looking at any more, applied or not. */
  finished: number;
}

/** The figures of a running sync: what progress and /metrics show. Changed while the work runs, never waited for. */
export class SyncMonitor {
  readonly registry = new Registry();
  readonly retryWarnings: RetryWarnings;
  readonly copyTally = new CopyTally();
  readonly commitProofs: CommitProofs;
  /** Change events up to here have been applied. */
  appliedTime: Timestamp | null = null;
  /** Change events up to here have been read. */
  receivedTime: Timestamp | null = null;
  /** The oplog of a source that is a replica set was looked at up to here for writes of which no change stream tells. */
  appliedOpsTime: Timestamp | null = null;
  /** The user may not look at it. */
  isOplogUnreadable = false;
  copiedBytes = 0;
  copiedDocuments = 0;
  eventsApplied = 0;
  /** How often work on the sync has been taken up again, by a restarted process or by a resume. */
  restarts = 0;
  /** Null while no indexes are being built after a copy. */
  indexBuilding: IndexBuilding | null = null;
  /** Indexes of the source that the destination does not have for now: the commit would have to build them. */
  leftIndexes: readonly LeftIndex[] = [];
  /** Change events that were read and are not applied yet. */
  bufferedEvents = 0;
  bufferedBytes = 0;

  readonly #now: () => number;
  readonly #counters = new WorkCounters(this.registry);
  readonly #oplog = new OplogHistory();
  readonly #catchUp: CatchUpEstimator;
  /** Those that are not applied, in the order of the stream, and when each was begun. */
  #batches: { readonly batch: EventBatch; readonly atMs: number }[] = [];
  #oplogState: OplogState | null = null;
  /** Since when nothing is known of the oplog that is needed; null where none is. */
  #oplogUnknownMs: number | null = null;
  #oplogSecondsLeft: number | null = null;
  #latest: { readonly time: Timestamp; readonly atMs: number } | null = null;

  /** @param now - the monotonic clock, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.retryWarnings = new RetryWarnings(now);
    this.commitProofs = new CommitProofs(now);
    this.#catchUp = new CatchUpEstimator(now);
  }

  /** The source's latest write that is known of. */
  get latestTime(): Timestamp | null {
    return this.#latest?.time ?? null;
  }

  set latestTime(time: Timestamp | null) {
    this.#latest = time && { time, atMs: this.#now() };
  }

  /**
   * Seconds between the last applied event and the source's latest one; null before anything is applied, and before the source
   * was heard of: our clock may be behind its. A source that has not been heard of for some seconds is taken to write all the
   * time. A change that was read and is not applied counts since then: it may be the source's latest, or of the same second.
   */
  get lagSeconds(): number | null {
    if (this.appliedTime === null || this.#latest === null) return null;
    const quietSeconds = Math.floor((this.#now() - this.#latest.atMs) / 1000);
    const lagSeconds = secondsBetween(this.appliedTime, this.#latest.time);
    if (quietSeconds > maxQuietSeconds) return lagSeconds + quietSeconds;
    const pending = this.#batches.find(({ batch: { events, finished } }) => finished < events);
    const pendingMs = pending ? this.#now() - pending.atMs : 0;
    return Math.max(lagSeconds, Math.floor(pendingMs / 1000));
  }

  /** Seconds until everything is applied, at the present rates; null when that is not known or comes no nearer. */
  get catchUpSeconds(): number | null {
    const { lagSeconds } = this;
    return lagSeconds !== null && lagSeconds <= 1 ? 0 : this.#catchUp.seconds;
  }

  /** Seconds until the oplog that the sync needs no longer holds all that it needs; null when that is not known. */
  get oplogSecondsLeft(): number | null {
    const { latest } = this.#oplog;
    if (this.#oplogSecondsLeft === null || latest === undefined) return null;
    const ageSeconds = Math.floor((this.#now() - latest.atMs) / 1000);
    // Only a reading says that it is lost: a full oplog is truncated by and by.
    return this.#oplogSecondsLeft === 0 ? 0 : Math.max(1, this.#oplogSecondsLeft - ageSeconds);
  }

  /** Seconds from the oldest to the latest entry of that oplog; null when that is not known. */
  get oplogWindowSeconds(): number | null {
    const { latest } = this.#oplog;
    return latest === undefined ? null : secondsBetween(latest.first, latest.latest);
  }

  /** Null where no oplog is needed, and as long as it may take to find out. */
  get oplogState(): OplogState | null {
    const state = this.#oplogState;
    if (this.#oplogUnknownMs === null || state === 'short' || state === 'lost') return state;
    return this.#now() - this.#oplogUnknownMs >= maxOplogUnknownMs ? 'unknown' : state;
  }

  /** An oplog matters, and is about to be read. To be called before each attempt. */
  seekOplog(): void {
    this.#oplogUnknownMs ??= this.#now();
  }

  /** The user may not read the oplog that matters. */
  refuseOplog(): void {
    this.forgetOplog();
    this.#oplogUnknownMs = -Infinity;
  }

  /** The source is another one now: what was applied, and is its latest write, was by the clock of the former. */
  forgetSource(): void {
    this.appliedTime = null;
    this.latestTime = null;
  }

  /** The oplog that was looked at matters no more. */
  forgetOplog(): void {
    this.#oplog.clear();
    this.#catchUp.clear();
    this.#oplogSecondsLeft = null;
    this.#oplogState = null;
    this.#oplogUnknownMs = null;
  }

  /** Takes in what a cluster tells of the oplog that the sync needs from a time on. */
  addOplogReading(reading: OplogReading, from: Timestamp): void {
    // Samples of bytes and of seconds do not go together.
    if (this.#oplog.latest === undefined) this.#catchUp.clear();
    this.#oplog.add(reading);
    this.#oplogSecondsLeft = oplogSecondsLeft(this.#oplog, from);
    const lagSeconds = secondsBetween(from, reading.latest);
    this.#oplogState = oplogState(this.#oplogSecondsLeft, lagSeconds, this.#oplogState);
    if (this.#oplogState !== null) this.#oplogUnknownMs = this.#now();
  }

  /** True when the oplog has been seen not to hold the changes after `time` any more. */
  isForgotten(time: Timestamp): boolean {
    return isLost(this.#oplog, time);
  }

  /** Looks at how far changes have been applied. To be called every second while they are. */
  sampleCatchUp(): void {
    const { appliedTime, latestTime } = this;
    if (appliedTime === null || latestTime === null) return;
    const { latest } = this.#oplog;
    const atMs = this.#now();
    // After the process was stopped for a while: what was written meanwhile would count as written just now.
    if (latest !== undefined && atMs - latest.atMs > maxReadingAgeMs) return;
    const onScale = (time: Timestamp): number =>
      latest === undefined ? time.t : (this.#oplog.bytesAt(time) ?? 0);
    const written = latest?.writtenBytes ?? latestTime.t;
    let from = onScale(appliedTime);
    let applied = from;
    for (const { batch } of this.#batches) {
      const { time, events, finished } = batch;
      const to = onScale(time);
      if (events > 0) applied += ((to - from) * finished) / events;
      from = to;
    }
    this.#catchUp.add({ atMs, written, applied });
  }

  /** Begins work on a sync with what is stored of it. */
  beginWork(stored: {
    readonly copiedBytes: number;
    readonly eventsApplied: number;
    readonly restarts: number;
    readonly appliedOpsTime?: Timestamp | null;
  }): void {
    this.copiedBytes = stored.copiedBytes;
    this.eventsApplied = stored.eventsApplied;
    this.restarts = stored.restarts;
    this.indexBuilding = null;
    this.commitProofs.clear();
    // Of another cluster, after a reversal.
    this.receivedTime = null;
    this.appliedOpsTime = stored.appliedOpsTime ?? null;
    this.isOplogUnreadable = false;
    this.forgetBuffered();
    this.#catchUp.clear();
  }

  /** There is no sync any more. */
  forget(): void {
    this.beginWork({ copiedBytes: 0, eventsApplied: 0, restarts: 0 });
    this.copyTally.begin([]);
    this.copiedDocuments = 0;
    this.forgetSource();
    this.forgetOplog();
  }

  addCopied(documents: number, bytes: number): void {
    this.#counters.copiedDocuments.inc(documents);
    this.#counters.copiedBytes.inc(bytes);
    this.copiedDocuments += documents;
    this.copiedBytes += bytes;
  }

  /** Change events that were read from the source. */
  addReceived({ events, bytes }: { readonly events: readonly unknown[]; bytes: number }): void {
    this.bufferedEvents += events.length;
    this.bufferedBytes += bytes;
  }

  /** What was read will be read again. */
  forgetBuffered(): void {
    this.#batches = [];
    this.bufferedEvents = 0;
    this.bufferedBytes = 0;
  }

  /** Begins to apply a batch of events, after those that are being applied already. */
  beginBatch(batch: EventBatch): void {
    this.receivedTime = batch.time;
    this.#batches.push({ batch, atMs: this.#now() });
  }

  /** Ends the first of the batches: everything up to its time is applied. */
  endBatch(): void {
    const ended = this.#batches.shift();
    if (!ended) return;
    const { batch } = ended;
    this.appliedTime = batch.time;
    this.bufferedEvents -= batch.events;
    this.bufferedBytes -= batch.bytes;
  }

  /** Events that have been applied. */
  addEvents(kind: string, count: number): void {
    this.#counters.events.inc({ kind }, count);
    this.eventsApplied += count;
  }

  addRetry(work: string, error: unknown): void {
    this.#counters.retries.inc({ work });
    this.addError(error);
  }

  addError(error: unknown): void {
    this.#counters.errors.inc({ error: errorNameOf(error) });
  }

  /** Begins to build indexes after a copy. */
  beginIndexBuilding(collections: number, indexes: number): void {
    this.indexBuilding = {
      indexesBuilt: 0,
      totalIndexesToBuild: indexes,
      collectionsFinished: 0,
      collectionsTotal: collections,
    };
  }

  /** All indexes of a collection are built. */
  addIndexesBuilt(indexes: number): void {
    if (this.indexBuilding === null) return;
    const { indexesBuilt, collectionsFinished } = this.indexBuilding;
    this.indexBuilding = {
      ...this.indexBuilding,
      indexesBuilt: indexesBuilt + indexes,
      collectionsFinished: collectionsFinished + 1,
    };
  }
}
