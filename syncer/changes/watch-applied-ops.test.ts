import assert from 'node:assert/strict';
import { MongoServerError, Timestamp } from 'mongodb';
import { pino } from 'pino';
import { serverCode } from '../../mongo/server-errors.ts';
import { SyncError } from '../../service/errors.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { Source } from '../source/source.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { Phase } from '../store/records.ts';
import { watchAppliedOps } from './watch-applied-ops.ts';

/** What each check comes to. */
type Check = Error | 'passes';

const refused = new MongoServerError({ message: 'not authorized', code: serverCode.unauthorized });

/**
 * Watches for as many checks as are given, one a minute. Tells the pause after each, whether the oplog then counts as unreadable,
 * and the warnings.
 */
async function watch(checks: readonly Check[], phase: Phase = 'changes') {
  let now = 0;
  const monitor = new SyncMonitor(() => now);
  const logged: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => logged.push(line) });
  const stopped = new AbortController();
  const left = [...checks];
  let checked = 0;
  const source = {
    majorityTime: async () => await Promise.resolve(new Timestamp({ t: 2, i: 0 })),
    requireNoAppliedOps: async () => {
      checked++;
      const next = left.shift() ?? 'passes';
      if (next !== 'passes') throw next;
      await Promise.resolve();
    },
  };
  const current = { phase, startTime: new Timestamp({ t: 1, i: 0 }), options: { source: 'a' } };
  const pauses: (readonly [ms: number, isUnreadable: boolean, warnings: number])[] = [];
  const pause = async (ms: number): Promise<void> => {
    now += 60_000;
    pauses.push([ms, monitor.isOplogUnreadable, monitor.retryWarnings.warnings().length]);
    if (pauses.length >= checks.length) stopped.abort();
    await Promise.resolve();
  };
  const watched = watchAppliedOps(
    source as unknown as Source,
    { current } as unknown as LiveSync,
    { monitor, logger, signal: stopped.signal },
    pause,
  );
  const failure = await watched.then(
    () => undefined,
    (error: unknown) => error,
  );
  return { checked, pauses, logged, failure, warningsAfter: monitor.retryWarnings.warnings() };
}

describe('watchAppliedOps', () => {
  it('warns once while the oplog may not be read, and no longer once it may', async () => {
    const { pauses, logged, failure } = await watch([refused, refused, 'passes']);
    assert.deepEqual(pauses, [
      [60_000, true, 0],
      [60_000, true, 0],
      [2_000, false, 0],
    ]);
    assert.equal(logged.length, 1);
    assert.match(logged[0] ?? '', /may not read local\.oplog\.rs/);
    assert.equal(failure, undefined);
  });

  it('warns again when what was granted is refused again', async () => {
    const { logged } = await watch([refused, 'passes', refused]);
    assert.equal(logged.length, 2);
  });

  it('ends with an error that no retry mends, and retries after others with a warning', async () => {
    const passing = new SyncError('ClusterUnreachable', 'nobody answers');
    const retried = await watch([passing, new Error('cut'), 'passes', passing]);
    // The warning is shown after some seconds.
    assert.deepEqual(retried.pauses, [
      [2_000, false, 1],
      [2_000, false, 1],
      [2_000, false, 0],
      [2_000, false, 1],
    ]);
    assert.deepEqual([retried.failure, retried.logged], [undefined, []]);
    assert.deepEqual(retried.warningsAfter, [], 'nothing is left of it at the end');
    const lasting = new SyncError('ApplyOpsOnSource', 'somebody has');
    const { failure, checked } = await watch([passing, lasting, 'passes']);
    assert.deepEqual([failure, checked], [lasting, 2]);
  });

  it('checks nothing in a phase that does not follow the source', async () => {
    const { checked, pauses } = await watch([refused], 'done');
    assert.deepEqual([checked, pauses], [0, [[2_000, false, 0]]]);
  });
});
