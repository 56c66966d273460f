import assert from 'node:assert/strict';
import type { FormerConnections } from '../../mongo/cluster-client.ts';
import { SyncError } from '../../service/errors.ts';
import { createLogger } from '../../service/logger.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { ClusterPair } from '../store/clusters.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { SyncRecord } from '../store/records.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { startSync } from './start-sync.ts';
import type { Sync } from './sync.ts';

/** A sync that another instance was given: this one joins it. */
const limits = { maxChangesPerSecond: 7 };
const started: SyncRecord = { ...reversibleSync(), limits, received: [0] };

/**
 * Starts it on a destination that refuses the first thing that blocking its users asks.
 * @param found - what the primary has when they are about to be blocked.
 */
async function starts(found: SyncRecord | undefined) {
  const world = { isBlocking: false, isBegun: false };
  const lines: string[] = [];
  const logger = createLogger('test', 'info', (line) => lines.push(line));
  const place: Pick<RecordStore, 'readSync' | 'readSyncOfPrimary'> = {
    readSync: async () => await Promise.resolve(started),
    readSyncOfPrimary: async () => await Promise.resolve(found),
  };
  const formerConnections: Pick<FormerConnections, 'count'> = {
    count: async () => {
      world.isBlocking = true;
      return await Promise.reject(new SyncError('InvalidOption', 'nobody is blocked in this test'));
    },
  };
  const pair = {
    ...{ instanceId: 'syncer', signal: new AbortController().signal, recordOn: () => place },
    ...{ isBetween: () => true, requireMember: () => undefined },
    clients: { cluster1: { formerConnections } },
  };
  const sync = {
    live: { stored: started },
    join: async () => {
      await Promise.resolve();
    },
    begin: () => {
      world.isBegun = true;
    },
  };
  const body = { ...started.options, limits: { maxChangesPerSecond: 8 } };
  const error: unknown = await startSync(body, undefined, {
    known: undefined,
    needPair: () => pair as unknown as ClusterPair,
    adopt: () => sync as unknown as Sync,
    ...{ monitor: new SyncMonitor(), logger },
  }).catch((reason: unknown) => reason);
  assert.ok(error instanceof SyncError);
  return { ...world, name: error.name, logged: lines.join('') };
}

describe('startSync', () => {
  it('blocks users of the destination while the sync is as it was started', async () => {
    const expected = { isBlocking: true, isBegun: true, name: 'InvalidOption' };
    const { logged: _, ...world } = await starts(started);
    assert.deepEqual(world, expected);
  });

  it('logs the limits that hold, which are those of the first start', async () => {
    const { logged } = await starts(started);
    assert.match(logged, /"limits":\{"maxChangesPerSecond":7\},"msg":"started"/);
  });

  const reset = { destination: 'Keep', received: [], ended: [] } as const;
  const over: readonly (readonly [string, SyncRecord | undefined])[] = [
    ['gone', undefined],
    ['another', { ...started, startedAt: new Date(0) }],
    ['being committed', { ...started, state: 'COMMITTING' }],
    ['being reset', { ...started, reset }],
    ['about to be reversed', { ...started, phase: 'handover', canWrite: true }],
    ['reversed', { ...started, reversals: 1 }],
  ];
  for (const [what, found] of over)
    it(`blocks nobody once the sync is ${what}`, async () => {
      const expected = { isBlocking: false, isBegun: true, name: 'SupersededByOtherInstance' };
      const { logged: _, ...world } = await starts(found);
      assert.deepEqual(world, expected);
    });
});
