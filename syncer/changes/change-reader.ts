import { BSON, type Document, type Timestamp } from 'mongodb';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { codeOf, isReadRepeatable, serverCode } from '../../mongo/server-errors.ts';
import { messageOf, SyncError } from '../../service/errors.ts';
import { backoffMs, sleep } from '../../service/sleep.ts';
import { syncDatabase, verifierDatabase } from '../../mongo/namespace.ts';
import type { SyncContext } from '../sync-context.ts';

/** Where a change stream begins: after a resume token, or at a cluster time. */
export type StreamStart = { readonly after: RawDocument } | { readonly at: Timestamp };

/** What one fetch of the change stream brought: events in order, and the token that covers them. */
export interface ChangeBatch {
  readonly events: readonly RawDocument[];
  readonly token: RawDocument;
}

/** How long the server waits for an event before it answers with none. */
const maxAwaitMs = 500;

/**
 * Reads the source's change events, for ever. A stream that breaks off is opened again after the last batch.
 * @throws SyncError OplogRolledOver when the source has forgotten events that were not read.
 */
export async function* readChanges(
  context: SyncContext,
  start: StreamStart,
): AsyncGenerator<ChangeBatch, never> {
  let from = start;
  for (let attempt = 0; ; attempt++) {
    try {
      await using cursor = await openStream(context, from);
      for (let batch = await cursor.next(); batch !== undefined; batch = await cursor.next()) {
        const { documents: events, postBatchResumeToken: token } = batch;
        if (token === undefined)
          throw new Error('a batch of the change stream without a resume token');
        attempt = 0;
        yield { events, token };
        from = { after: token };
      }
    } catch (error) {
      context.signal.throwIfAborted();
      if (!isReadRepeatable(error)) throw streamError(error);
      context.monitor.addRetry('change stream');
      context.logger.warn({ attempt, reason: messageOf(error) }, 'opening the change stream again');
      await sleep(backoffMs(attempt), context.signal);
    }
  }
}

async function openStream(
  { source, options, signal }: SyncContext,
  from: StreamStart,
): Promise<RawCursor> {
  const changeStream = {
    allChangesForCluster: true,
    showExpandedEvents: true,
    showRawUpdateDescription: true,
    // On a replica set nothing migrates, but cloneCollectionAsCapped inserts as migrations do. Not for shards.
    showMigrationEvents: true,
    ...('after' in from
      ? { resumeAfter: BSON.deserialize(from.after) }
      : { startAtOperationTime: from.at }),
  };
  const databases = options.includeNamespaces?.map(({ database }) => database);
  const everyDatabaseNamed = databases?.every((database) => database !== undefined) ?? false;
  const match: Document = {
    'ns.db': everyDatabaseNamed ? { $in: databases } : { $nin: [syncDatabase, verifierDatabase] },
  };
  const pipeline = [{ $changeStream: changeStream }, { $match: match }];
  return await RawCursor.open(
    source.raw,
    'admin',
    { aggregate: 1, pipeline, cursor: { batchSize: 0 }, readConcern: { level: 'majority' } },
    { signal, batchSize: 20_000, maxAwaitMs },
  );
}

function streamError(error: unknown): unknown {
  const description = messageOf(error);
  const code = codeOf(error);
  if (code === serverCode.changeStreamHistoryLost || code === serverCode.changeStreamFatalError) {
    return new SyncError('OplogRolledOver', description, { cause: error });
  }
  if (code === serverCode.bsonObjectTooLarge) {
    return new SyncError(
      'ChangeNotSupported',
      `a change event is larger than a document may be: ${description}`,
      {
        cause: error,
      },
    );
  }
  return error;
}
