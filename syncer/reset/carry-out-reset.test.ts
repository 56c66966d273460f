import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { createLogger } from '../../service/logger.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { ClusterPair } from '../store/clusters.ts';
import { LiveSync } from '../store/live-sync.ts';
import type { SyncRecord } from '../store/records.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { blockedBySync, Reset } from './carry-out-reset.ts';

describe('where a reset lets users write again', () => {
  const sync = reversibleSync();
  const writableTime = new Timestamp({ t: 1, i: 1 });
  const cases = [
    ['during the copy and the changes', {}, ['cluster1']],
    ['in a commit', { state: 'COMMITTING' }, ['cluster0', 'cluster1']],
    [
      'in a commit after which users may have written to the destination',
      { state: 'COMMITTING', writableTime, canWrite: true },
      [],
    ],
    [
      'in a commit that is about to let them write there',
      { state: 'COMMITTING', writableTime },
      ['cluster1'],
    ],
    ['after the commit', { state: 'COMMITTED', writableTime, canWrite: true }, []],
  ] as const;
  for (const [when, change, expected] of cases) {
    it(`${when}: ${expected.join() || 'nowhere'}`, () => {
      assert.deepEqual(blockedBySync({ ...sync, ...change }), expected);
      const options = { ...sync.options, enableUserWriteBlocking: false };
      assert.deepEqual(blockedBySync({ ...sync, ...change, options }), []);
    });
  }
});

describe('a reset that an instance continues after it was frozen', () => {
  const reset = { destination: 'Keep', received: ['syncer'], ended: ['syncer'] } as const;
  const before: SyncRecord = { ...reversibleSync(), reset };
  const startedAt = new Date(before.startedAt.getTime() + 1);
  const another: SyncRecord = { ...before, startedAt, reset: null };
  const written = new Error('the stored sync is put under reset');

  /** Carries out the reset of {@link before}. @param finds - what the store holds, one look after the other; the last one stays. */
  async function carryOut(...finds: readonly (SyncRecord | undefined)[]): Promise<void> {
    let looks = 0;
    const { signal } = new AbortController();
    const pair = {
      ...{ signal, instanceId: 'syncer' },
      clients: { cluster0: { writeGuard: {} }, cluster1: { writeGuard: {} } },
      findRecord: async () => await Promise.resolve(finds[Math.min(looks++, finds.length - 1)]),
      requireMember: () => undefined,
      storeOn: () => ({}),
      recordOn: () => ({
        receiveReset: async () => await Promise.reject(written),
      }),
    } as unknown as ClusterPair;
    const live = new LiveSync('syncer', before, () => pair.recordOn('cluster1'));
    const logger = createLogger('test', 'fatal');
    await new Reset(live, pair, new SyncMonitor(), logger, true).carryOut();
    assert.equal(live.stored.startedAt, before.startedAt, 'no other sync is taken up');
  }

  it('is done where nothing is stored any more', async () => {
    await carryOut(undefined);
  });

  it('is done where another sync was started since, which it leaves alone', async () => {
    await carryOut(another);
  });

  it('does not touch another sync that was started between two looks', async () => {
    await carryOut({ ...before, reversals: 1, reset: null }, another);
  });

  it('continues where a reversal has moved the record, which does not say so yet', async () => {
    await assert.rejects(carryOut({ ...before, reversals: 1, reset: null }), written);
  });
});
