import assert from 'node:assert/strict';
import { createLogger } from '../../service/logger.ts';
import type { SyncDetail, SyncSummary } from '../api/sync-view.ts';
import { rowOf } from '../view/testing/rows.ts';
import { Dashboard } from './dashboard.ts';
import { PlainAnswer } from './testing/plain-answer.ts';

const { signal } = new AbortController();
const key = 'shop/orders';
const { bytesPerSecond: _, eventsPerSecond: __, ...orders } = rowOf('orders');

/** A dashboard of these syncs, and a way to let a second pass. */
function dashboardOf(summaries: () => readonly SyncSummary[]) {
  let nowMs = 0;
  const source = {
    page: () => ({ scope: 'all namespaces', staleness: null }),
    summaries,
    look: () => ({ read: async () => await Promise.resolve({} as SyncDetail) }),
  };
  const dashboard = new Dashboard(source, createLogger('test', 'fatal'), { now: () => nowMs });
  const passSecond = async (): Promise<void> => {
    nowMs += 1_000;
    await dashboard.tellAll(signal);
  };
  return { dashboard, passSecond };
}

describe('Dashboard', () => {
  it('sends a browser that has not read for a while everything that it has missed', async () => {
    const { dashboard, passSecond } = dashboardOf(() => [orders]);
    await passSecond();
    const answer = new PlainAnswer();
    answer.writableNeedDrain = true;
    dashboard.followOne(key, answer.request, answer.response);
    await passSecond();
    assert.deepEqual(answer.written, []);
    answer.writableNeedDrain = false;
    await passSecond();
    answer.emit('close');
    assert.match(answer.written.join(''), /^event: sync\ndata: .*"row":/);
  });

  it('forgets the history of a sync that is gone', async () => {
    let summaries = [orders];
    const { dashboard, passSecond } = dashboardOf(() => summaries);
    const points = async (): Promise<number> => {
      await passSecond();
      return (await dashboard.report(key, signal)).history.length;
    };
    assert.deepEqual([await points(), await points()], [1, 2]);
    summaries = [];
    await passSecond();
    summaries = [orders];
    assert.equal(await points(), 1);
  });
});
