import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { SyncMonitor } from './monitor.ts';

const now = (): number => Math.floor(Date.now() / 1000);
const at = (t: number): Timestamp => new Timestamp({ t, i: 1 });

describe('lagSeconds', () => {
  let atMs = 5_000;
  const clock = (): number => atMs;

  it('is not known before anything is applied', () => {
    const monitor = new SyncMonitor(clock);
    monitor.latestTime = at(now());
    assert.equal(monitor.lagSeconds, null);
  });

  it('is the distance to the latest write of the source, and grows while nothing is heard of that', () => {
    const monitor = new SyncMonitor(clock);
    monitor.appliedTime = at(100);
    monitor.latestTime = at(107);
    assert.equal(monitor.lagSeconds, 7);
    atMs += 2_000;
    assert.equal(monitor.lagSeconds, 7);
    atMs += 58_000;
    assert.equal(monitor.lagSeconds, 67);
    assert.equal(monitor.catchUpSeconds, null);
    monitor.latestTime = at(107);
    assert.equal(monitor.lagSeconds, 7);
  });

  it('is not known before the source is heard of: its clock may be another one', () => {
    const monitor = new SyncMonitor(clock);
    for (const applied of [now() - 3_600, now() + 3_600]) {
      monitor.appliedTime = at(applied);
      assert.equal(monitor.lagSeconds, null);
    }
  });

  it('is not known after a reversal, until both are of the new source', () => {
    const monitor = new SyncMonitor(clock);
    monitor.appliedTime = at(100);
    monitor.latestTime = at(100);
    monitor.forgetSource();
    monitor.latestTime = at(100);
    assert.equal(monitor.lagSeconds, null);
    monitor.appliedTime = at(90);
    assert.equal(monitor.lagSeconds, 10);
  });
});

describe('oplogSecondsLeft', () => {
  it('goes down with the time since the oplog was read, to 0 only when it is read to be lost', () => {
    let atMs = 0;
    const monitor = new SyncMonitor(() => atMs);
    const read = (first: number): void => {
      const seconds = atMs / 1000;
      const bytes = 100 * seconds;
      monitor.addOplogReading(
        {
          atMs,
          first: at(first),
          latest: at(1_000 + seconds),
          sizeBytes: bytes,
          maxBytes: 4_000,
          writtenBytes: bytes,
          minRetentionHours: 0,
        },
        at(1_000),
      );
    };
    read(1_000);
    atMs = 20_000;
    read(1_000);
    assert.equal(monitor.oplogSecondsLeft, 20);
    atMs = 25_000;
    assert.equal(monitor.oplogSecondsLeft, 15);
    atMs = 60_000;
    assert.equal(monitor.oplogSecondsLeft, 1);
    read(1_030);
    assert.equal(monitor.oplogSecondsLeft, 0);
  });
});
