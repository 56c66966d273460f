import { BSON, type Document, type Timestamp } from 'mongodb';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { resumeTokenTime } from '../../mongo/cluster-time.ts';
import { syncDatabase, verifierDatabase, type Namespace } from '../../mongo/namespace.ts';
import { Patience } from '../../mongo/patience.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { RawCursor, type RawBatch } from '../../mongo/raw-cursor.ts';
import type { RetryContext } from '../../mongo/retrying.ts';
import { codeOf, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { endOfTransaction } from '../../mongo/server-features.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { backoffMs, sleep } from '../../service/sleep.ts';
import type { VerifierMonitor } from '../monitor.ts';
import type { Position } from '../store/records.ts';
import { Wakeup } from '../wakeup.ts';
import { neededFields, observedChange, type ChangeLog, type ObservedChange } from './change-log.ts';

/** How long the server waits for an event before it returns an empty batch. */
const maxAwaitMs = 500;
const batchSize = 10_000;
/** How long changes may wait to be stored while others keep coming, and a position while none come. */
const maxChangesWaitMs = 250;
const maxPositionWaitMs = 10_000;

/** What a follower needs. */
export interface ChangeFollowerOptions extends RetryContext {
  readonly monitor: VerifierMonitor;
  readonly side: 'source' | 'destination';
  readonly cluster: ClusterClient;
  /** True for a sharded cluster, whose routers merge the streams of its shards. */
  readonly isSharded: boolean;
  /** Changes after this cluster time are followed. */
  readonly from: Timestamp;
  readonly selects: (namespace: Namespace) => Promise<boolean>;
  /** How far a previous coordinator has got. */
  readonly reached: Position | null;
  /** Receives everything that has changed. */
  readonly log: ChangeLog;
  /** Called after changes were stored. */
  readonly onStored: () => void;
}

/** The latest answer of a change stream. */
export interface LatestAnswer {
  /** That of its token: every event before it has been read. */
  readonly time: Timestamp;
  readonly isEmpty: boolean;
  /** True for the first one of a cursor, which is always empty: more may follow of that very time. */
  readonly isFirst: boolean;
}

/** True if an answer shows that every change up to a cluster time has been read. */
export function hasPassed(
  { time, isEmpty, isFirst }: LatestAnswer,
  until: Timestamp,
  isSharded: boolean,
): boolean {
  const order = time.compare(until);
  const isAtEnd = isEmpty && !isFirst;
  // Two shards may have changes of the very same time: while one has only just reached it, the other's are held back.
  return order > 0 || (order === 0 && isAtEnd && !isSharded);
}

/** Follows the change stream of one side and notes what has changed. */
export class ChangeFollower {
  readonly #options: ChangeFollowerOptions;
  #latest: LatestAnswer;
  readonly #advanced = new Wakeup();
  #storedAtMs = performance.now();

  constructor(options: ChangeFollowerOptions) {
    this.#options = options;
    this.#latest = { time: options.reached?.time ?? options.from, isEmpty: true, isFirst: true };
  }

  /**
   * Follows the stream until the signal is aborted. Reopens the stream after transient errors of reading it; an error
   * of storing what was read ends the following, because those changes have left the stream but are not recorded.
   * @throws SyncError CheckFailed if the server has dropped changes that were not read yet.
   */
  async run(): Promise<never> {
    const { signal, logger, monitor, side, reached, log } = this.#options;
    let token: RawDocument | undefined = reached?.token.buffer;
    const patience = new Patience();
    using warning = monitor.retryWarnings.watch(`change stream of the ${side}`);
    for (let attempt = 0; ; attempt++) {
      try {
        await using cursor = await this.#open(token);
        // The first answer is always empty: it does not show whether there is anything to read.
        let isFirst = true;
        for (let batch = await cursor.next(); batch; batch = await cursor.next()) {
          token = await this.#take(batch, isFirst);
          if (!isFirst) {
            attempt = 0;
            patience.reset();
            warning.clear();
          }
          isFirst = false;
        }
      } catch (error) {
        signal.throwIfAborted();
        if (log.hasFailed) throw error;
        const reason = patience.reasonToRetry(error, isTransient(error));
        if (reason === undefined) throw streamError(error, side);
        monitor.addRetry('change stream');
        warning.set(reason);
        logger.warn({ side, attempt, reason }, 'reopening the change stream');
        await sleep(backoffMs(attempt), signal);
      }
    }
  }

  /** Resolves once every change up to a cluster time has been given to the log. */
  async passed(time: Timestamp): Promise<void> {
    const { isSharded, signal } = this.#options;
    while (!hasPassed(this.#latest, time, isSharded)) await this.#advanced.next(signal);
  }

  async #open(token: RawDocument | undefined): Promise<RawCursor> {
    const { cluster, from, signal } = this.#options;
    return await openStream(
      cluster,
      token === undefined
        ? { startAtOperationTime: from }
        : { resumeAfter: BSON.deserialize(token) },
      signal,
    );
  }

  async #take(
    { documents, postBatchResumeToken: token }: RawBatch,
    isFirst: boolean,
  ): Promise<RawDocument> {
    if (!token) throw new MalformedAnswer('a batch of the change stream without a resume token');
    const { log, monitor, side } = this.#options;
    const changes: ObservedChange[] = [];
    for (const event of documents) {
      const change = await this.#selected(observedChange(event));
      if (change) changes.push(change);
    }
    const time = resumeTokenTime(token);
    log.take(side, changes, { token, time });
    monitor.changesSeen += changes.length;
    const isEmpty = documents.length === 0;
    this.#latest = { time, isEmpty, isFirst };
    this.#advanced.wake();
    await this.#store(isEmpty);
    return token;
  }

  /** Stores what has been noted: immediately if nothing else comes, otherwise together with what comes next. */
  async #store(isQuiet: boolean): Promise<void> {
    const { log, onStored } = this.#options;
    const waitedMs = performance.now() - this.#storedAtMs;
    const hasWaited = log.isEmpty ? waitedMs > maxPositionWaitMs : waitedMs > maxChangesWaitMs;
    if (!log.isFull && !hasWaited && (log.isEmpty || !isQuiet)) return;
    await log.flush();
    this.#storedAtMs = performance.now();
    onStored();
  }

  async #selected(change: ObservedChange): Promise<ObservedChange | undefined> {
    const { selects } = this.#options;
    switch (change.kind) {
      case 'document':
      case 'metadata':
        return (await selects(change.namespace)) ? change : undefined;
      case 'whole': {
        const namespaces: Namespace[] = [];
        for (const namespace of change.namespaces) {
          if (await selects(namespace)) namespaces.push(namespace);
        }
        return { ...change, namespaces };
      }
      case 'database':
        return change;
    }
  }
}

/**
 * Ensures that all changes of a cluster can be read, which requires read access to all its data: a user who may read only some databases
 * is shown only their changes.
 */
export async function checkRights(
  cluster: ClusterClient,
  from: Timestamp,
  signal: AbortSignal,
): Promise<void> {
  const cursor = await openStream(cluster, { startAtOperationTime: from }, signal);
  await cursor[Symbol.asyncDispose]();
}

async function openStream(
  cluster: ClusterClient,
  start: Document,
  signal: AbortSignal,
): Promise<RawCursor> {
  const changeStream = { allChangesForCluster: true, showExpandedEvents: true, ...start };
  const pipeline = [
    { $changeStream: changeStream },
    {
      $match: {
        'ns.db': { $nin: [syncDatabase, verifierDatabase] },
        operationType: { $ne: endOfTransaction },
      },
    },
    { $project: neededFields },
  ];
  return await RawCursor.open(
    cluster.raw,
    'admin',
    { aggregate: 1, pipeline, cursor: { batchSize: 0 }, readConcern: { level: 'majority' } },
    { signal, batchSize, maxAwaitMs },
  );
}

/** Changes can no longer be read: since they are unknown, everything would have to be compared again. */
export class ChangesLost extends SyncError {
  constructor(description: string, options: { readonly cause: unknown }) {
    super('CheckFailed', description, options);
  }
}

/** Changes were dropped before they were read, or one is too large for the stream. */
const streamErrorCodes: readonly number[] = [
  serverCode.changeStreamHistoryLost,
  serverCode.changeStreamFatalError,
  serverCode.bsonObjectTooLarge,
];

function streamError(error: unknown, side: string): unknown {
  const description = `the change stream of the ${side} cannot be read: ${messageOf(error)}`;
  const isOfStream = streamErrorCodes.some((code) => code === codeOf(error));
  return isOfStream ? new ChangesLost(description, { cause: error }) : error;
}
