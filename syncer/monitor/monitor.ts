import type { Timestamp } from 'mongodb';
import { Registry } from 'prom-client';
import { secondsBetween } from '../../mongo/cluster-time.ts';
import { RetryWarnings } from '../../mongo/retry-warnings.ts';
import { errorNameOf } from '../../mongo/server-errors.ts';
import { CommitProofs, type LeftIndex } from './commit-word.ts';
import { CopyTally } from './copy-tally.ts';
import { Backlog, type ChangeStage } from './backlog.ts';
import { CatchUpEstimator } from './lag.ts';
import { OplogHistory, type OplogReading } from './oplog-history.ts';
import { isLost, oplogSecondsLeft, oplogState, type OplogState } from './oplog-window.ts';
import { WorkCounters } from './work-counters.ts';

/** The progress of building indexes after the copy. */
export interface IndexBuilding {
  readonly indexesBuilt: number;
  readonly totalIndexesToBuild: number;
  readonly collectionsFinished: number;
  readonly collectionsTotal: number;
}

/** The source is asked for its latest write at shorter intervals than this. */
const maxQuietSeconds = 3;

/** The oplog is read at shorter intervals than this. */
const maxReadingAgeMs = 4_000;

/** After this long without a reading, the oplog's state counts as unknown. */
const maxOplogUnknownMs = 30_000;

/** Change events that are being applied: one batch of the change stream. */
export interface EventBatch {
  /** Once the batch is applied, so are all changes up to here and before. */
  readonly time: Timestamp;
  readonly events: number;
  /** The memory that they hold until each of them is finished. */
  readonly bytes: number;
  /** How many events need no more attention, applied or not. */
  finished: number;
}

/** The figures of a running sync, which progress and /metrics show. Changed while the work runs, never waited for. */
export class SyncMonitor {
  readonly registry = new Registry();
  readonly retryWarnings: RetryWarnings;
  readonly copyTally = new CopyTally();
  readonly commitProofs = new CommitProofs();
  /** Change events up to here have been applied. */
  appliedTime: Timestamp | null = null;
  /** Change events up to here have been read. */
  receivedTime: Timestamp | null = null;
  /** The oplog of a source that is a replica set was checked up to here for writes that no change stream reports. */
  appliedOpsTime: Timestamp | null = null;
  /** The user may not read the oplog. */
  isOplogUnreadable = false;
  copiedBytes = 0;
  copiedDocuments = 0;
  /** Documents that were on the destination before the copy, by the source's count, and how many of them differed. */
  comparedDocuments = 0;
  changedDocuments = 0;
  eventsApplied = 0;
  /** How often work on the sync was resumed, by a restarted process or by a resume. */
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
  readonly #backlog = new Backlog();
  /** The ones that are not applied yet, in the order of the stream, and when each was begun. */
  #batches: { readonly batch: EventBatch; readonly atMs: number }[] = [];
  #oplogState: OplogState | null = null;
  /** Since when nothing is known of the needed oplog; null if none is needed. */
  #oplogUnknownMs: number | null = null;
  #oplogSecondsLeft: number | null = null;
  #latest: { readonly time: Timestamp; readonly atMs: number } | null = null;

  /** @param now - the monotonic clock, in milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
    this.retryWarnings = new RetryWarnings(now);
    this.#catchUp = new CatchUpEstimator(now);
  }

  /** The latest known write of the source. */
  get latestTime(): Timestamp | null {
    return this.#latest?.time ?? null;
  }

  set latestTime(time: Timestamp | null) {
    this.#latest = time && { time, atMs: this.#now() };
    if (time) this.#backlog.reaches(time);
  }

  /**
   * Seconds between the last applied event and the source's latest one; null before anything is applied, and before the source
   * has answered: our clock may be behind its clock. A source that has not answered for some seconds is assumed to write all
   * the time. A change that was read and is not applied counts from when it was read: it may be the source's latest, or of the
   * same second.
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

  /** Which changes are being applied; null while that is unknown, and before any are. */
  get changeStage(): ChangeStage | null {
    return this.#backlog.stageAt(this.appliedTime);
  }

  /** Seconds until everything is applied, at the present rates; null if that is unknown or does not come nearer. */
  get catchUpSeconds(): number | null {
    const { lagSeconds } = this;
    return lagSeconds !== null && lagSeconds <= 1 ? 0 : this.#catchUp.seconds;
  }

  /** Seconds until the oplog that the sync needs no longer holds everything that it needs; null if unknown. */
  get oplogSecondsLeft(): number | null {
    const { latest } = this.#oplog;
    if (this.#oplogSecondsLeft === null || latest === undefined) return null;
    const ageSeconds = Math.floor((this.#now() - latest.atMs) / 1000);
    // Only a reading can show that it is lost: a full oplog is truncated gradually.
    return this.#oplogSecondsLeft === 0 ? 0 : Math.max(1, this.#oplogSecondsLeft - ageSeconds);
  }

  /** Seconds from the oldest to the latest entry of that oplog; null if unknown. */
  get oplogWindowSeconds(): number | null {
    const { latest } = this.#oplog;
    return latest === undefined ? null : secondsBetween(latest.first, latest.latest);
  }

  /** Null if no oplog is needed, and while it may still take time to find out. */
  get oplogState(): OplogState | null {
    const state = this.#oplogState;
    if (this.#oplogUnknownMs === null || state === 'short' || state === 'lost') return state;
    return this.#now() - this.#oplogUnknownMs >= maxOplogUnknownMs ? 'unknown' : state;
  }

  /** Notes that an oplog matters and is about to be read. To be called before each attempt. */
  seekOplog(): void {
    this.#oplogUnknownMs ??= this.#now();
  }

  /** Notes that the user may not read the oplog that matters. */
  refuseOplog(): void {
    this.forgetOplog();
    this.#oplogUnknownMs = -Infinity;
  }

  /** The source is a different one now: the applied time and the latest write were by the clock of the previous one. */
  forgetSource(): void {
    this.appliedTime = null;
    this.latestTime = null;
  }

  /** The oplog that was read no longer matters. */
  forgetOplog(): void {
    this.#oplog.clear();
    this.#catchUp.clear();
    this.#oplogSecondsLeft = null;
    this.#oplogState = null;
    this.#oplogUnknownMs = null;
  }

  /** Adds a cluster's report about the oplog that the sync needs from a time on. */
  addOplogReading(reading: OplogReading, from: Timestamp): void {
    // Samples of bytes and of seconds cannot be mixed.
    if (this.#oplog.latest === undefined) this.#catchUp.clear();
    this.#oplog.add(reading);
    this.#oplogSecondsLeft = oplogSecondsLeft(this.#oplog, from);
    const lagSeconds = secondsBetween(from, reading.latest);
    this.#oplogState = oplogState(this.#oplogSecondsLeft, lagSeconds, this.#oplogState);
    if (this.#oplogState !== null) this.#oplogUnknownMs = this.#now();
  }

  /** True if the oplog was seen to have lost changes after `time`. */
  isForgotten(time: Timestamp): boolean {
    return isLost(this.#oplog, time);
  }

  /** Samples how far changes have been applied. To be called every second while they are. */
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

  /** Starts work on a sync with its stored figures. */
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
    this.#backlog.clear();
    // Of another cluster, after a reversal.
    this.receivedTime = null;
    this.appliedOpsTime = stored.appliedOpsTime ?? null;
    this.isOplogUnreadable = false;
    this.forgetBuffered();
    this.#catchUp.clear();
  }

  /** Changes are applied from now on. @param isAfterCopy - whether this process saw the copy end just now. */
  beginChanges(isAfterCopy: boolean): void {
    this.#backlog.begin(isAfterCopy);
  }

  /** The copy begins, or starts over. */
  beginCopy(): void {
    this.copiedBytes = 0;
    this.comparedDocuments = 0;
    this.changedDocuments = 0;
  }

  /** There is no longer a sync. */
  forget(): void {
    this.beginWork({ copiedBytes: 0, eventsApplied: 0, restarts: 0 });
    this.copyTally.begin([]);
    this.copiedDocuments = 0;
    this.beginCopy();
    this.forgetSource();
    this.forgetOplog();
  }

  addCopied(documents: number, bytes: number): void {
    this.#counters.copiedDocuments.inc(documents);
    this.#counters.copiedBytes.inc(bytes);
    this.copiedDocuments += documents;
    this.copiedBytes += bytes;
  }

  /**
   * Adds documents that were on the destination before the copy, or should have been.
   * @param documents - negative if there were fewer than said before.
   */
  addCompared(documents: number): void {
    this.#counters.comparedDocuments.inc(Math.max(0, documents));
    this.comparedDocuments += documents;
  }

  /** Adds the bytes of documents that are equal now. */
  addReconciled(bytes: number): void {
    this.copiedBytes += bytes;
  }

  /** Adds those of them that differed, or were on one side only, and are equal now. */
  addChanged(documents: number): void {
    this.#counters.changedDocuments.inc(documents);
    this.changedDocuments += documents;
  }

  /** Takes back what a failed attempt to copy has added: the next one adds it again. The counters keep it, since it was written. */
  takeBack(figures: {
    readonly copied: number;
    readonly compared: number;
    readonly bytes: number;
  }): void {
    this.copiedDocuments -= figures.copied;
    this.comparedDocuments -= figures.compared;
    this.copiedBytes -= figures.bytes;
  }

  /** Adds change events that were read from the source. */
  addReceived({ events, bytes }: { readonly events: readonly unknown[]; bytes: number }): void {
    this.bufferedEvents += events.length;
    this.bufferedBytes += bytes;
  }

  /** Forgets what was read: it will be read again. */
  forgetBuffered(): void {
    this.#batches = [];
    this.bufferedEvents = 0;
    this.bufferedBytes = 0;
  }

  /**
   * Starts to apply a batch of events, after those that are already being applied.
   * @param readBytes - the memory that its events held when they were read.
   */
  beginBatch(batch: EventBatch, readBytes: number): void {
    this.receivedTime = batch.time;
    this.bufferedBytes += batch.bytes - readBytes;
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

  /** Adds events that have been applied. */
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

  /** Starts to build indexes after a copy. */
  beginIndexBuilding(collections: number, indexes: number): void {
    this.indexBuilding = {
      indexesBuilt: 0,
      totalIndexesToBuild: indexes,
      collectionsFinished: 0,
      collectionsTotal: collections,
    };
  }

  /** Adds the indexes of a collection whose indexes are all built. */
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
