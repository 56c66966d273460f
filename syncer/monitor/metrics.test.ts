import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { registerStateMetrics } from './metrics.ts';
import { SyncMonitor } from './monitor.ts';

/** The samples of the syncer's own metrics without labels, by the ends of their names. */
async function samplesOf(monitor: SyncMonitor): Promise<ReadonlyMap<string, number>> {
  const text = await monitor.registry.metrics();
  return new Map(
    text
      .split('\n')
      .filter((line) => line.startsWith('clustersync_') && !line.includes('{'))
      .map((line) => line.split(' '))
      .map(([name = '', value]) => [name, Number(value)]),
  );
}

describe('the metrics of a syncer', () => {
  it('tell the whole oplog window from the rest of it', async () => {
    let nowMs = 0;
    const monitor = new SyncMonitor(() => nowMs);
    registerStateMetrics(monitor, () => undefined);
    const ending = (end: string, samples: ReadonlyMap<string, number>): number | undefined =>
      [...samples].find(([name]) => name.endsWith(end))?.[1];
    const none = await samplesOf(monitor);
    assert.equal(ending('oplog_window_seconds', none), undefined);
    assert.equal(ending('oplog_remaining_seconds', none), undefined);
    const time = (t: number): Timestamp => new Timestamp({ t, i: 1 });
    const sizes = { sizeBytes: 1_000, maxBytes: 1_000_000, minRetentionHours: 0 };
    for (const second of [0, 10]) {
      nowMs = second * 1_000;
      const grown = { atMs: nowMs, writtenBytes: 1_000 + second };
      const times = { first: time(500), latest: time(1_000 + second) };
      monitor.addOplogReading({ ...sizes, ...grown, ...times }, time(1_000));
    }
    const samples = await samplesOf(monitor);
    assert.equal(ending('oplog_window_seconds', samples), monitor.oplogWindowSeconds);
    assert.equal(ending('oplog_remaining_seconds', samples), monitor.oplogSecondsLeft);
    assert.notEqual(monitor.oplogWindowSeconds, monitor.oplogSecondsLeft);
  });

  it('have no index to build while none is known: an alert about a copy that is stuck relies on that', async () => {
    const monitor = new SyncMonitor();
    registerStateMetrics(monitor, () => undefined);
    const indexes = async (): Promise<string[]> =>
      [...(await samplesOf(monitor))]
        .filter(([name]) => name.includes('index'))
        .map(([name, value]) => `${name.replace(/^.*?_indexes/, 'indexes')} ${value}`);
    assert.deepEqual(await indexes(), []);
    monitor.indexBuilding = {
      ...{ indexesBuilt: 1, totalIndexesToBuild: 4 },
      ...{ collectionsFinished: 0, collectionsTotal: 2 },
    };
    assert.deepEqual(await indexes(), ['indexes_to_build 4', 'indexes_built 1']);
  });
});
