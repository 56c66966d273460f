import type { Timestamp } from 'mongodb';
import { retrying } from '../../mongo/retrying.ts';
import { sleep } from '../../service/sleep.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncContext } from '../context/sync-context.ts';

/** How often a commit time is looked for that is about to be known. */
const waitMs = 10;

/**
 * The time of the commit, for changes of the source that were read before the call. Null where all of them are before it,
 * whenever it comes: that is so at once until this instance is given the commit. Where they may not be, it is waited for, which
 * takes as long as a no-op on the source.
 */
export async function awaitCommitTime(
  context: SyncContext,
  live: LiveSync,
  signal: AbortSignal,
): Promise<Timestamp | null> {
  const working = { ...context, signal };
  for (;;) {
    const commitTime = await retrying(working, 'commit', async () => await live.findCommitTime());
    if (commitTime !== 'awaited') return commitTime;
    await sleep(waitMs, signal);
  }
}
