import type { Timestamp } from 'mongodb';
import { isAtMost, majorityTime, writeNoop } from '../../mongo/cluster-time.ts';
import { namespaceText } from '../../mongo/namespace.ts';
import { isKeptForCommand } from '../../mongo/replicated-form.ts';
import { retrying } from '../../mongo/retrying.ts';
import { finishCollections } from '../changes/finish-collections.ts';
import { followChanges } from '../changes/follow-changes.ts';
import { awaitCommitTime } from '../commit/commit-time.ts';
import { restoreBeforeUsers, restoreBesideUsers } from '../commit/restore.ts';
import { settleIndexes, settleShardKeys } from '../commit/settle-destination.ts';
import { refuseOddNames, settleAppliedOps, settleViews } from '../commit/settle-source.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { copyCollections, finishCopy } from '../copy/initial-copy.ts';
import { planCopy } from '../copy/plan-copy.ts';
import { requireAllCopied } from '../copy/prove-copied.ts';
import { buildCatalog, forgetFormerCatalog } from '../ddl/create-collections.ts';
import { endLeftBuilds } from '../ddl/left-index-builder.ts';
import { awaitEarlierMoves, retryingWrites } from '../destination/earlier-writes.ts';
import { dropMade } from '../destination/made-collections.ts';
import { beginWriteBlocking, setWriteBlocking } from '../destination/write-blocking.ts';
import { clearFormerState, handOver } from '../reverse/hand-over.ts';
import { loosenCollections } from '../reverse/loosen.ts';
import type { StreamStart } from '../source/change-reader.ts';
import { commandWaitsFor, workWaitsFor } from '../store/instances.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { InstanceRecord, SyncRecord } from '../store/records.ts';

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
  const { logger, monitor, source, coordination } = context;
  let { resumeToken, isCopied } = instance;
  monitor.appliedTime = instance.appliedTime ?? live.current.startTime;
  for (let isFirst = true; ; isFirst = false) {
    const { state, phase: stored } = live.current;
    // Others may have been given the reversal by then. For this instance other work begins when it is.
    const phase = stored === 'handover' && !isFirst ? 'done' : stored;
    logger.info({ phase, state }, 'phase');
    /** Ends the phase, unless another instance has. */
    const advance = async (change: Partial<SyncRecord>): Promise<void> => {
      await retrying(context, 'state', async () => {
        await live.update(change, { phase });
      });
    };
    switch (phase) {
      case 'catalog':
        resumeToken = null;
        isCopied = false;
        await coordination.lead({
          phase,
          waitsFor: commandWaitsFor,
          run: async () => {
            await ownCatalog(context, live);
            await advance({ ...(await prepare(context)), phase: 'copy' });
          },
        });
        monitor.copiedBytes = 0;
        monitor.appliedTime = live.current.startTime;
        break;
      case 'copy':
        if (!isCopied) await copyWithSummary(context);
        isCopied = true;
        await coordination.lead({
          phase,
          waitsFor: (assembly) => workWaitsFor(assembly, 'copied its part', (one) => one.isCopied),
          run: async () => {
            await finishCopy(context, live.current.collectionCount);
            await advance({ phase: 'changes' });
          },
        });
        break;
      case 'changes': {
        if (!live.isShared) {
          if (state === 'COMMITTING') await fixCommitTime(context, live);
          await finishCollections(context);
        }
        await followChanges(context, streamStart(resumeToken, live.current.startTime), {
          isPausing,
          commitTime: async (signal) => await awaitCommitTime(context, live, signal),
        });
        if (isPausing()) return;
        const commitTime = commitTimeOf(live);
        await coordination.lead({
          phase,
          waitsFor: (assembly) =>
            workWaitsFor(
              assembly,
              'applied the changes up to the commit',
              ({ appliedTime }) => appliedTime !== null && isAtMost(commitTime, appliedTime),
            ),
          run: async () => {
            await settleAppliedOps(context, live, commitTime);
            await requireAllCopied(context);
            // As long as the source is needed anyway.
            await retryingWrites(context, 'commit', async () => {
              await refuseOddNames(context, commitTime);
              await settleViews(context, commitTime);
            });
            await advance({ phase: 'restoring' });
          },
        });
        // Of another cluster than the one that matters now.
        monitor.forgetOplog();
        break;
      }
      case 'restoring':
        await coordination.lead({
          phase,
          run: async () => {
            await restore(context, live);
            await retrying(context, 'state', async () => {
              await context.leftIndexes.clear();
            });
            await advance({ state: 'COMMITTED', phase: 'done' });
          },
        });
        break;
      case 'handover':
        await coordination.lead({
          phase,
          waitsFor: commandWaitsFor,
          run: async () => {
            const to = context.store.on(source);
            await retrying(context, 'reverse', async () => {
              await awaitEarlierMoves(context);
              await handOver(context, live, to);
            });
          },
        });
        // What follows works in the other direction.
        return;
      case 'loosening':
        await coordination.lead({
          phase,
          // Whoever has not would look for the state where it was.
          waitsFor: (assembly) => workWaitsFor(assembly, 'found the state moved', () => true),
          run: async () => {
            await loosen(context, live);
            await advance({ phase: 'changes' });
          },
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

/** Makes sure that what is stored of the catalog is of this sync. */
async function ownCatalog(context: SyncContext, live: LiveSync): Promise<void> {
  await retrying(context, 'state', async () => {
    if (live.current.ownsCatalog) return;
    await forgetFormerCatalog(context);
    await live.update({ ownsCatalog: true }, { phase: 'catalog' });
  });
}

/** Makes the destination ready for the copy. Gives what is to be stored of that. */
async function prepare(context: SyncContext): Promise<Partial<SyncRecord>> {
  const { monitor, source, signal } = context;
  monitor.appliedTime = await retrying(
    context,
    'catalog',
    async () => await majorityTime(source, signal),
  );
  await retrying(context, 'write blocking', async () => {
    await beginWriteBlocking(context);
  });
  const catalog = await retryingWrites(context, 'catalog', async () => await buildCatalog(context));
  await planCopy(context);
  return catalog;
}

async function loosen(context: SyncContext, live: LiveSync): Promise<void> {
  await retrying(context, 'reverse', async () => {
    await awaitEarlierMoves(context);
    context.requireLease();
    await clearFormerState(context, live);
    const { destination, signal, requireLease } = context;
    await setWriteBlocking(destination, true, signal, requireLease);
  });
  await loosenCollections(context);
}

async function restore(context: SyncContext, live: LiveSync): Promise<void> {
  // From that time on users may have changed what stands under a name.
  if (live.current.writableTime === null) {
    await retryingWrites(context, 'restore', async () => {
      await endLeftBuilds(context);
      await settleShardKeys(context);
      await dropKeptForCommands(context);
    });
    await settleIndexes(context);
    await restoreBeforeUsers(context);
    await retryingWrites(context, 'restore', async () => {
      await fixWritableTime(context, live);
    });
  }
  if (!live.current.canWrite) {
    await retryingWrites(context, 'restore', async () => {
      await letUsersWrite(context, live);
    });
  }
  await restoreBesideUsers(context);
}

function commitTimeOf({ current: { commitTime } }: LiveSync): Timestamp {
  if (commitTime === null) throw new Error('a commit without its time');
  return commitTime;
}

/** What the source kept for a command at the commit's time is dropped there, unseen: nobody would drop it on the destination. */
async function dropKeptForCommands(context: SyncContext): Promise<void> {
  for (const tracked of context.catalog.collections()) {
    if (!isKeptForCommand(tracked.options)) continue;
    await dropMade(context, tracked);
    await context.catalog.remove(tracked.uuid);
    context.logger.info(
      { namespace: namespaceText(tracked.namespace) },
      'dropped: of a command alone',
    );
  }
}

async function copyWithSummary(context: SyncContext): Promise<void> {
  const { logger, monitor } = context;
  const before = { bytes: monitor.copiedBytes, documents: monitor.copiedDocuments };
  const startMs = performance.now();
  await copyCollections(context);
  const copySeconds = (performance.now() - startMs) / 1000;
  context.leftIndexes.addRate(monitor.copiedBytes - before.bytes, copySeconds);
  await retrying(context, 'copy state', async () => {
    await context.store.completeCopy();
  });
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

/**
 * Fixes the cluster time up to which changes belong to a commit, after blocking the writes of ordinary users where that
 * is asked for. May be repeated until the time is stored.
 */
export async function fixCommitTime(context: SyncContext, live: LiveSync): Promise<void> {
  await retrying(context, 'commit', async () => {
    if (live.current.commitTime !== null) return;
    context.requireLease();
    if (live.current.options.enableUserWriteBlocking)
      await setWriteBlocking(context.source, true, context.signal, context.requireLease);
    // The time is later than what any instance has applied: what they read from here on waits for it (see awaitCommitTime).
    const committing = { state: 'COMMITTING', commitTime: null } as const;
    await live.update({ isFixingCommitTime: true }, committing);
    const commitTime = await writeNoop(context.source, 'commit', context.signal);
    await live.update({ commitTime }, { commitTime: null });
  });
}

/**
 * Fixes the time before which no user of the destination wrote there, and from which on a reversal takes its changes (see
 * reversedState). May be repeated: the first time that was stored stays. On a sharded cluster it is that of the shard whose
 * clock is ahead: when a second no-op is written, those of all are beyond it, and so is what users write there.
 */
async function fixWritableTime(context: SyncContext, live: LiveSync): Promise<void> {
  if (live.current.writableTime !== null) return;
  const writableTime = await writeNoop(context.destination, 'writable', context.signal);
  await writeNoop(context.destination, 'writable', context.signal);
  await live.update({ writableTime }, { writableTime: null });
}

/** May be repeated. */
async function letUsersWrite(context: SyncContext, live: LiveSync): Promise<void> {
  context.requireLease();
  if (context.options.enableUserWriteBlocking)
    await setWriteBlocking(context.destination, false, context.signal, context.requireLease);
  await live.update({ canWrite: true });
  context.logger.info('users may write to the destination');
}

function streamStart(
  resumeToken: InstanceRecord['resumeToken'],
  startTime: Timestamp | null,
): StreamStart {
  if (resumeToken !== null) return { after: resumeToken.buffer };
  if (startTime === null) throw new Error('a sync that applies changes has no start time');
  return { at: startTime };
}
