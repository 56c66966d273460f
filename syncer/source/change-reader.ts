import { BSON, type Document, type Timestamp } from 'mongodb';
import { resumeTokenTime } from '../../mongo/cluster-time.ts';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import { syncDatabase, verifierDatabase } from '../../mongo/namespace.ts';
import { Patience } from '../../mongo/patience.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { hostsOf, type RawBatch, RawCursor } from '../../mongo/raw-cursor.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { endOfTransaction } from '../../mongo/server-features.ts';
import { codeOf, isConnectionClosed, isTransient, serverCode } from '../../mongo/server-errors.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { backoffMs, sleep } from '../../service/sleep.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import type { Logger } from '../../service/logger.ts';
import type { SyncMonitor } from '../monitor/monitor.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import { abbreviation, type SourceDocuments } from './source-documents.ts';
import type { SourceKind } from './source-kind.ts';

/** What reading change events needs. */
interface ChangeParts {
  readonly deployment: Pick<Deployment, 'admin' | 'raw'>;
  readonly kind: Pick<SourceKind, 'showsMigrationEvents'>;
  readonly documents: Pick<SourceDocuments, 'completeEvent'>;
  readonly options: Pick<StartOptions, 'includeNamespaces'>;
  readonly monitor: Pick<SyncMonitor, 'addReceived' | 'addRetry' | 'retryWarnings'>;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Where a change stream begins: after a resume token, or at a cluster time. */
export type StreamStart = { readonly after: RawDocument } | { readonly at: Timestamp };

/** What one fetch of the change stream brought: events in order, and the token that covers them. */
export interface ChangeBatch {
  readonly events: readonly RawDocument[];
  /** Memory that the events hold. */
  readonly bytes: number;
  readonly token: RawDocument;
}

/** Which events to read. */
export interface ReadSettings {
  /** The filter on them; undefined for all. */
  readonly match: Document | undefined;
}

/** How long the server waits for an event before it answers without one. */
const maxAwaitMs = 500;

/** Events of one fetch: two of these are in memory as they came, in addition to the changes that wait. */
const batchSize = 10_000;

/** Attempts to resume from one place with whole events, after the stream ends as if the connection was lost. */
const maxWholeAttempts = 2;

/** Fetches of abbreviated events, and how many events each returns: the first comes alone, in case it is the large one. */
const abbreviatedFetches = [1, ...Array<number>(16).fill(4)];

/**
 * How often the source may close the connection on a fetch of one abbreviated event, while it takes commands before and after,
 * until that event counts as one that it cannot send.
 */
const maxClosedInShort = 5;

/**
 * Reads the source's change events, endlessly. A stream that ends is opened again after the last batch.
 *
 * An event that is too large for the server to send ends the stream by an error, or by a closed connection: an answer holds a
 * resume token beside the events, which the server does not reckon with. Some events from there on are then read abbreviated,
 * and completed with the documents as they are now.
 * @throws SyncError OplogRolledOver if the source has dropped events that were not read; ChangeNotSupported for an event that
 * is too large even when abbreviated.
 */
export async function* readChanges(
  parts: ChangeParts,
  start: StreamStart,
  settings: ReadSettings,
): AsyncGenerator<ChangeBatch, never> {
  let from = start;
  let isAbbreviated = false;
  let closedInShort = 0;
  const patience = new Patience();
  using warning = parts.monitor.retryWarnings.watch('change stream');
  for (let attempt = 0; ; attempt++) {
    try {
      const batches = isAbbreviated
        ? readInShort(parts, from, settings)
        : readWhole(parts, from, settings);
      for await (const batch of batches) {
        // The first batch of a stream repeats the token that it was opened with.
        const isProgress =
          batch.events.length > 0 || !('after' in from) || !isSame(batch.token, from.after);
        parts.monitor.addReceived(batch);
        yield batch;
        from = { after: batch.token };
        // Only once it could be read: otherwise events that stay malformed would have the server asked at the shortest interval
        // for ever.
        if (isProgress) {
          attempt = 0;
          closedInShort = 0;
          patience.reset();
          warning.clear();
        }
      }
      isAbbreviated = false;
    } catch (caught) {
      parts.signal.throwIfAborted();
      const error = namingServer(caught, parts);
      const isTooLarge = codeOf(error) === serverCode.bsonObjectTooLarge;
      // What arrived and cannot be read was not too large to send.
      const isMalformed = error instanceof MalformedAnswer;
      const mayBeTooLarge = isTooLarge || (attempt >= maxWholeAttempts && !isMalformed);
      const isPassing = isTransient(error) || patience.allows(error);
      if (!isPassing && !(isTooLarge && !(isAbbreviated && attempt > 0))) throw streamError(error);
      if (!isAbbreviated || isMalformed || !isConnectionClosed(error)) closedInShort = 0;
      else if (await isAnswering(parts)) closedInShort++;
      if (closedInShort >= maxClosedInShort) throw tooLarge(error);
      isAbbreviated ||= mayBeTooLarge;
      parts.monitor.addRetry('change stream', error);
      const reason = messageOf(error);
      warning.set(reason);
      parts.logger.warn({ attempt, isAbbreviated, reason }, 'reopening the change stream');
      if (!isTooLarge) await sleep(backoffMs(attempt), parts.signal);
    }
  }
}

async function* readWhole(
  parts: ChangeParts,
  from: StreamStart,
  { match }: ReadSettings,
): AsyncGenerator<ChangeBatch> {
  await using cursor = await openStream(parts, from, stagesOf(match));
  for (let batch = await cursor.next(); batch !== undefined; batch = await cursor.next())
    yield { events: batch.documents, bytes: batch.bytes, token: tokenOf(batch) };
}

async function* readInShort(
  parts: ChangeParts,
  from: StreamStart,
  { match }: ReadSettings,
): AsyncGenerator<ChangeBatch> {
  await using cursor = await openStream(parts, from, [...stagesOf(match), abbreviation]);
  // The first answer has no events.
  await cursor.next();
  for (const size of abbreviatedFetches) {
    const batch = await cursor.next(size);
    if (batch === undefined) return;
    const events: RawDocument[] = [];
    for (const event of batch.documents) {
      const whole = await parts.documents.completeEvent(event);
      if (whole) events.push(whole);
    }
    const bytes = events.reduce((sum, event) => sum + event.length, 0);
    yield { events, bytes, token: tokenOf(batch) };
  }
}

function stagesOf(match: Document | undefined): Document[] {
  return match === undefined ? [] : [{ $match: match }];
}

function isSame(left: RawDocument, right: RawDocument): boolean {
  return Buffer.compare(left, right) === 0;
}

function tokenOf({ postBatchResumeToken: token }: RawBatch): RawDocument {
  if (token === undefined)
    throw new MalformedAnswer('a batch of the change stream without a resume token');
  // This also checks that the token holds a time.
  resumeTokenTime(token);
  return token;
}

async function openStream(
  { deployment, kind, options, signal }: ChangeParts,
  from: StreamStart,
  stages: readonly Document[],
): Promise<RawCursor> {
  const changeStream = {
    allChangesForCluster: true,
    showExpandedEvents: true,
    showRawUpdateDescription: true,
    showMigrationEvents: kind.showsMigrationEvents,
    ...('after' in from
      ? { resumeAfter: BSON.deserialize(from.after) }
      : { startAtOperationTime: from.at }),
  };
  const databases = options.includeNamespaces?.map(({ database }) => database);
  const everyDatabaseNamed = databases?.every((database) => database !== undefined) ?? false;
  const match: Document = {
    'ns.db': everyDatabaseNamed ? { $in: databases } : { $nin: [syncDatabase, verifierDatabase] },
    // One for each transaction would hold up the other events.
    operationType: { $ne: endOfTransaction },
  };
  const pipeline = [{ $changeStream: changeStream }, { $match: match }, ...stages];
  return await RawCursor.open(
    deployment.raw,
    'admin',
    { aggregate: 1, pipeline, cursor: { batchSize: 0 }, readConcern: { level: 'majority' } },
    { signal, batchSize, maxAwaitMs },
  );
}

/** Readers of events throw errors without knowing which server sent them. */
function namingServer(error: unknown, { deployment }: ChangeParts): unknown {
  return error instanceof MalformedAnswer ? error.of(hostsOf(deployment.raw)) : error;
}

function streamError(error: unknown): unknown {
  const description = messageOf(error);
  const code = codeOf(error);
  if (code === serverCode.changeStreamHistoryLost || code === serverCode.changeStreamFatalError) {
    return new SyncError('OplogRolledOver', description, { cause: error });
  }
  return code === serverCode.bsonObjectTooLarge ? tooLarge(error) : error;
}

function tooLarge(error: unknown): SyncError {
  return new SyncError(
    'ChangeNotSupported',
    `a change event exceeds the maximum document size, for example of a document whose _id is larger than 3 MB: ${messageOf(error)}`,
    { cause: error },
  );
}

async function isAnswering({ deployment, signal }: ChangeParts): Promise<boolean> {
  try {
    await runCommand(deployment.admin, { hello: 1 }, { signal });
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
