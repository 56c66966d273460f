import type { WriteRight } from '../../mongo/write-guard.ts';
import { SyncError } from '../../service/errors.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncRecord } from '../store/records.ts';
import type { SyncStore } from '../store/store.ts';
import type { SyncContext } from '../context/sync-context.ts';
import { reversedState } from './reversed-state.ts';

/**
 * Moves the state of a sync that is being reversed to its new destination. The record of the sync is written last: until
 * then the old one counts, and this is repeated after a crash; from then on the new one does, for it tells of more
 * reversals (see readStoredState).
 * @param to - the store on the new destination; the same one when it is repeated.
 * @throws SyncError OtherSyncUnfinished when the new destination holds the state of a sync that is not this one.
 */
export async function handOver(context: SyncContext, live: LiveSync, to: SyncStore): Promise<void> {
  const { writeGuard } = context.source;
  writeGuard.right = rightToHandOver(context);
  try {
    await moveState(context, live, to);
  } finally {
    writeGuard.right = undefined;
  }
}

/** Nothing is sent to the new destination by a process that was frozen while another one has taken its place. */
function rightToHandOver({ store: { claim }, requireLease }: SyncContext): WriteRight {
  return {
    isNeededFor: () => true,
    confirm: async (connectedAtMs) => {
      await claim.confirm(connectedAtMs);
      requireLease();
    },
    require: (connectedAtMs) => {
      claim.require(connectedAtMs);
      requireLease();
    },
  };
}

async function moveState(context: SyncContext, live: LiveSync, to: SyncStore): Promise<void> {
  const { catalog, logger } = context;
  const { record, collections, views } = reversedState(
    live.stored,
    catalog.collections(),
    catalog.views(),
  );
  const stored = await to.readSync();
  // The answer to an earlier attempt may have been lost.
  if (stored?.reversals !== record.reversals || !isSameSync(stored, record)) {
    requireReplaceable(stored, live.stored);
    await to.clear();
    await to.putCollections(collections);
    for (const view of views) await to.putView(view);
    await to.createSync(record);
  }
  live.adopt(record);
  context.monitor.forgetSource();
  logger.info({ source: record.source.name, destination: record.destination.name }, 'reversed');
}

/** Removes what is left of the state on the old destination, now the source. */
export async function clearFormerState(context: SyncContext, live: LiveSync): Promise<void> {
  const former = context.store.on(context.source);
  requireReplaceable(await former.readSync(), live.stored);
  await former.clear();
}

/** @throws SyncError OtherSyncUnfinished unless a stored record is missing, or an earlier one of the same sync. */
export function requireReplaceable(stored: SyncRecord | undefined, current: SyncRecord): void {
  if (!stored) return;
  if (isSameSync(stored, current) && stored.reversals < current.reversals) return;
  throw new SyncError(
    'OtherSyncUnfinished',
    `${current.source.name} holds the state of another sync, in clustersync_internal`,
  );
}

function isSameSync(left: SyncRecord, right: SyncRecord): boolean {
  return left.startedAt.getTime() === right.startedAt.getTime();
}
