import type { Timestamp } from 'mongodb';
import { isAtMost, resumeTokenTime } from '../../mongo/cluster-time.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { retryingWrites } from '../earlier-writes.ts';
import { retrying } from '../../mongo/retrying.ts';
import type { SyncContext } from '../sync-context.ts';
import { applyCatalogEvent } from './apply-catalog-event.ts';
import { applyChanges } from './apply-changes.ts';
import { parseChangeEvent, type DocumentChange } from './change-event.ts';
import { logEvent } from './log-event.ts';
import { readChanges, type StreamStart } from './change-reader.ts';

/** A checkpoint is stored this often while events flow. */
const checkpointIntervalMs = 1_000;

/**
 * Applies the source's change events from `start` on, until the cluster time that `until` gives has been reached (null:
 * not known yet). What was applied is stored as it goes; the last checkpoint covers that time.
 */
export async function followChanges(
  context: SyncContext,
  start: StreamStart,
  until: () => Timestamp | null,
): Promise<void> {
  const batches = readChanges(context, start);
  let checkpointAt = 0;
  let fetched = batches.next();
  try {
    for (;;) {
      const { value } = await fetched;
      // The next batch is fetched while this one is applied.
      fetched = batches.next();
      fetched.catch(() => undefined);
      const appliedTime = resumeTokenTime(value.token);
      context.monitor.beginBatch(appliedTime, value.events.length);
      const hadCatalogEvents = await applyEvents(context, value.events);
      context.monitor.endBatch(appliedTime, value.events);
      const end = until();
      const isEnd = end !== null && isAtMost(end, appliedTime);
      if (isEnd || hadCatalogEvents || Date.now() - checkpointAt >= checkpointIntervalMs) {
        await checkpoint(context, value.token, appliedTime);
        checkpointAt = Date.now();
      }
      if (isEnd) return;
    }
  } finally {
    await batches.return(undefined as never).catch(() => undefined);
    context.monitor.forgetBuffered();
  }
}

async function checkpoint(
  context: SyncContext,
  resumeToken: RawDocument,
  appliedTime: Timestamp,
): Promise<void> {
  await retrying(context, 'checkpoint', async () => {
    await context.store.saveCheckpoint({
      resumeToken,
      appliedTime,
      eventsApplied: context.monitor.eventsApplied,
    });
  });
}

/** Applies events in order: a change of the catalog waits for all changes before it. True when there was one. */
async function applyEvents(context: SyncContext, events: readonly RawDocument[]): Promise<boolean> {
  let changes = new Map<string, DocumentChange[]>();
  let hadCatalogEvents = false;
  const isLoggingEvents = context.logger.isLevelEnabled('debug');
  for (const raw of events) {
    const event = parseChangeEvent(raw);
    if (isLoggingEvents) logEvent(context.logger, raw, event);
    if (event.type === 'document') {
      const list = changes.get(event.collection);
      if (list) list.push(event.change);
      else changes.set(event.collection, [event.change]);
      continue;
    }
    await applyChanges(context, changes);
    changes = new Map();
    await retryingWrites(context, 'catalog change', async () => {
      await applyCatalogEvent(context, event);
    });
    context.monitor.addEvents(event.operation, 1);
    context.monitor.addFinished(1);
    hadCatalogEvents = true;
  }
  await applyChanges(context, changes);
  return hadCatalogEvents;
}
