import { Timestamp } from 'mongodb';
import { majorityTime, writeNoop } from '../mongo/cluster-time.ts';
import { buildCatalog } from './catalog/build-catalog.ts';
import { createCollection } from './catalog/create-collections.ts';
import { followChanges } from './changes/follow-changes.ts';
import type { StreamStart } from './changes/change-reader.ts';
import { settleShardKeys } from './commit/settle-shard-keys.ts';
import { restoreCharacteristics } from './commit/restore.ts';
import { setWriteBlocking } from './commit/write-blocking.ts';
import { copyCollection, copyCollections } from './copy/initial-copy.ts';
import { retrying } from '../mongo/retrying.ts';
import { retryingWrites } from './earlier-writes.ts';
import { clearFormerState, handOver } from './reverse/hand-over.ts';
import { loosenCollections } from './reverse/loosen.ts';
import type { LiveSync } from './live-sync.ts';
import type { InstanceRecord } from './state/records.ts';
import type { SyncContext } from './sync-context.ts';

/** Earlier than every change: what is to end at the next batch ends there. */
const longAgo = new Timestamp({ t: 0, i: 0 });

/**
 * Takes a sync from the phase that is stored to its end. It resolves when the sync is committed, or when its direction
 * has changed; after a crash or a pause at any point it is called again and goes on.
 * @param isPausing - true from when the sync is being paused: changes end at the next checkpoint then.
 */
export async function runSync(
  context: SyncContext,
  live: LiveSync,
  instance: InstanceRecord,
  isPausing: () => boolean,
): Promise<void> {
  const { logger, monitor, source, signal } = context;
  let { resumeToken } = instance;
  monitor.appliedTime = instance.appliedTime ?? live.current.startTime;
  for (;;) {
    logger.info({ phase: live.current.phase, state: live.current.state }, 'phase');
    switch (live.current.phase) {
      case 'catalog': {
        resumeToken = null;
        monitor.appliedTime = await retrying(
          context,
          'catalog',
          async () => await majorityTime(source, signal),
        );
        if (live.current.options.enableUserWriteBlocking) {
          await retrying(context, 'write blocking', async () => {
            await setWriteBlocking(context.destination, true, signal);
          });
        }
        const catalog = await retryingWrites(
          context,
          'catalog',
          async () => await buildCatalog(context),
        );
        monitor.copiedBytes = 0;
        await retrying(context, 'state', async () => {
          await live.update({ ...catalog, phase: 'copy' });
        });
        monitor.appliedTime = catalog.startTime;
        break;
      }
      case 'copy':
        await copyWithSummary(context);
        await retrying(context, 'state', async () => {
          await live.update({ phase: 'changes' });
        });
        break;
      case 'changes':
        if (live.current.state === 'COMMITTING' && live.current.commitTime === null)
          await fixCommitTime(context, live);
        await finishCollections(context);
        await followChanges(context, streamStart(resumeToken, live.current.startTime), () =>
          isPausing() ? longAgo : live.current.commitTime,
        );
        if (isPausing()) return;
        await retrying(context, 'state', async () => {
          await live.update({ phase: 'restoring' });
        });
        break;
      case 'restoring':
        await retryingWrites(context, 'restore', async () => {
          await settleShardKeys(context);
        });
        await restoreCharacteristics(context, {
          beforeWritable: async () => {
            await fixWritableTime(context, live);
          },
          onWritable: async () => {
            await live.update({ canWrite: true });
          },
        });
        await retrying(context, 'state', async () => {
          await live.update({ state: 'COMMITTED', phase: 'done' });
        });
        break;
      case 'handover': {
        const to = context.store.on(source);
        await retrying(context, 'reverse', async () => {
          await handOver(context, live, to);
        });
        // What follows works in the other direction.
        return;
      }
      case 'loosening':
        await retrying(context, 'reverse', async () => {
          await clearFormerState(context, live);
          await setWriteBlocking(context.destination, true, signal);
        });
        await loosenCollections(context);
        await retrying(context, 'state', async () => {
          await live.update({ phase: 'changes' });
        });
        break;
      case 'done':
        logger.info(
          {
            eventsApplied: monitor.eventsApplied,
            copiedBytes: monitor.copiedBytes,
            restarts: monitor.restarts,
            seconds: Math.round((Date.now() - live.current.startedAt.getTime()) / 1000),
          },
          'committed',
        );
        return;
    }
  }
}

async function copyWithSummary(context: SyncContext): Promise<void> {
  const { logger, monitor } = context;
  const before = { bytes: monitor.copiedBytes, documents: monitor.copiedDocuments };
  const startMs = performance.now();
  await copyCollections(context);
  logger.info(
    {
      collections: context.catalog.collections().length,
      documents: monitor.copiedDocuments - before.documents,
      bytes: monitor.copiedBytes - before.bytes,
      seconds: Math.round(performance.now() - startMs) / 1000,
    },
    'copied',
  );
}

/** Creates and copies the collections that a change event was about to add when the process ended. */
async function finishCollections(context: SyncContext): Promise<void> {
  for (const collection of context.catalog.collections()) {
    if (collection.destinationUuid !== null && collection.isCopied) continue;
    await retryingWrites(context, 'catalog change', async () => {
      const created = await createCollection(context, collection);
      await context.catalog.put(created);
      if (!created.isCopied) await copyCollection(context, created);
    });
  }
}

/**
 * Fixes the cluster time up to which changes belong to a commit, after blocking the writes of ordinary users where that
 * is asked for. May be repeated until the time is stored.
 */
export async function fixCommitTime(context: SyncContext, live: LiveSync): Promise<void> {
  await retrying(context, 'commit', async () => {
    if (live.current.commitTime !== null) return;
    if (live.current.options.enableUserWriteBlocking)
      await setWriteBlocking(context.source, true, context.signal);
    await live.update({ commitTime: await writeNoop(context.source, 'commit', context.signal) });
  });
}

/**
 * Fixes the time from which on a reversal takes changes of the destination (see reversedState). May be repeated: the
 * first time that was stored stays. On a sharded cluster it is that of the shard whose clock is ahead: when a second no-op is
 * written, those of all are beyond it, and so is what users write there.
 */
async function fixWritableTime(context: SyncContext, live: LiveSync): Promise<void> {
  if (!live.current.options.reversible || live.current.writableTime !== null) return;
  const writableTime = await writeNoop(context.destination, 'writable', context.signal);
  await writeNoop(context.destination, 'writable', context.signal);
  await live.update({ writableTime });
}

function streamStart(
  resumeToken: InstanceRecord['resumeToken'],
  startTime: Timestamp | null,
): StreamStart {
  if (resumeToken !== null) return { after: resumeToken.buffer };
  if (startTime === null) throw new Error('a sync that applies changes has no start time');
  return { at: startTime };
}
