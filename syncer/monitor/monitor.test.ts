import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { SyncMonitor } from './monitor.ts';
import type { OplogReading } from './oplog-history.ts';

const now = (): number => Math.floor(Date.now() / 1000);
const at = (t: number): Timestamp => new Timestamp({ t, i: 1 });

describe('lagSeconds', () => {
  it('is not 0 while a change that was read is not applied, however soon after the one before it came', () => {
    let nowMs = 0;
    const monitor = new SyncMonitor(() => nowMs);
    monitor.appliedTime = at(100);
    monitor.latestTime = at(100);
    const batch = { time: at(100), events: 1, bytes: 1, finished: 0 };
    monitor.beginBatch({ ...batch, events: 0 }, 0);
    monitor.beginBatch(batch, 0);
    monitor.endBatch();
    nowMs = 900;
    assert.equal(monitor.lagSeconds, 0);
    nowMs = 2_500;
    assert.equal(monitor.lagSeconds, 2);
    batch.finished = 1;
    monitor.endBatch();
    assert.equal(monitor.lagSeconds, 0);
  });

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

describe('beginWork', () => {
  const nothing = {
    ...{ receivedTime: null, isOplogUnreadable: false, indexBuilding: null },
    ...{ bufferedEvents: 0, bufferedBytes: 0, changeStage: null, catchUpSeconds: null },
    ...{ recordAgeMs: null, commandsOnPrimary: null },
  };

  /** What belongs to the work of one process on one sync. */
  function shown(monitor: SyncMonitor): Record<keyof typeof nothing, unknown> {
    const { receivedTime, isOplogUnreadable, indexBuilding } = monitor;
    const { bufferedEvents, bufferedBytes, changeStage, catchUpSeconds } = monitor;
    const { recordAgeMs, commandsOnPrimary } = monitor.commitProofs.evidence;
    return {
      ...{ receivedTime, isOplogUnreadable, indexBuilding },
      ...{ bufferedEvents, bufferedBytes, changeStage, catchUpSeconds },
      ...{ recordAgeMs, commandsOnPrimary },
    };
  }

  /** A monitor of a process that has worked on a sync for a while. */
  async function worked(): Promise<SyncMonitor> {
    let nowMs = 0;
    const monitor = new SyncMonitor(() => nowMs);
    monitor.isOplogUnreadable = true;
    monitor.appliedOpsTime = at(160);
    await monitor.commitProofs.by('record', async () => {
      await Promise.resolve();
    });
    monitor.commitProofs.setCommandsOnPrimary(3);
    monitor.beginIndexBuilding(1, 2);
    monitor.beginChanges(true);
    for (const seconds of [0, 4]) {
      nowMs = seconds * 1_000;
      monitor.latestTime = at(200);
      monitor.appliedTime = at(100 + 15 * seconds);
      monitor.sampleCatchUp();
    }
    monitor.addReceived({ events: [{}, {}], bytes: 7 });
    monitor.beginBatch({ time: at(170), events: 2, bytes: 7, finished: 0 }, 7);
    return monitor;
  }

  const stored = { copiedBytes: 5, eventsApplied: 6, restarts: 7 };

  it('shows nothing of the work before', async () => {
    const monitor = await worked();
    for (const [name, value] of Object.entries(shown(monitor)))
      assert.notEqual(value, nothing[name as keyof typeof nothing], name);
    monitor.beginWork(stored);
    assert.deepEqual(shown(monitor), nothing);
    monitor.endBatch();
    assert.deepEqual(monitor.appliedTime, at(160), 'the batch is forgotten');
  });

  it('shows the stored figures', async () => {
    for (const appliedOpsTime of [at(50), null, undefined]) {
      const monitor = await worked();
      monitor.beginWork({ ...stored, ...(appliedOpsTime !== undefined && { appliedOpsTime }) });
      const { copiedBytes, eventsApplied, restarts } = monitor;
      assert.deepEqual({ copiedBytes, eventsApplied, restarts }, stored);
      assert.deepEqual(monitor.appliedOpsTime, appliedOpsTime ?? null);
    }
  });
});

describe('oplogState', () => {
  const reading = (atMs: number, windowSeconds = 100_000): OplogReading => ({
    atMs,
    first: at(1_000),
    latest: at(1_000 + windowSeconds),
    sizeBytes: 1_000,
    maxBytes: 1_000_000,
    writtenBytes: 1_000,
    minRetentionHours: 0,
  });
  const watching = () => {
    const clock = { ms: 0 };
    const monitor = new SyncMonitor(() => clock.ms);
    return { clock, monitor };
  };

  it('is that it is not known, where it is needed and has not been read for half a minute', () => {
    const { clock, monitor } = watching();
    assert.equal(monitor.oplogState, null, 'it is not needed');
    monitor.seekOplog();
    clock.ms = 29_000;
    monitor.seekOplog();
    assert.equal(monitor.oplogState, null);
    clock.ms = 30_000;
    assert.equal(monitor.oplogState, 'unknown');
    monitor.addOplogReading(reading(clock.ms), at(101_000));
    assert.equal(monitor.oplogState, 'enough');
    clock.ms = 59_999;
    assert.equal(monitor.oplogState, 'enough');
    clock.ms = 60_000;
    assert.equal(monitor.oplogState, 'unknown');
    monitor.forgetOplog();
    assert.equal(monitor.oplogState, null);
  });

  it('is that it is not known from when reading it is refused', () => {
    const { monitor } = watching();
    monitor.seekOplog();
    monitor.refuseOplog();
    assert.equal(monitor.oplogState, 'unknown');
    monitor.addOplogReading(reading(0), at(101_000));
    assert.equal(monitor.oplogState, 'enough');
  });

  it('comes with the seconds from the oldest entry to the latest, as long as a reading counts', () => {
    const { monitor } = watching();
    assert.equal(monitor.oplogWindowSeconds, null);
    monitor.addOplogReading(reading(0, 5_000), at(2_000));
    assert.equal(monitor.oplogWindowSeconds, 5_000);
    monitor.forgetOplog();
    assert.equal(monitor.oplogWindowSeconds, null);
  });

  it('stays what calls for somebody, however old it is', () => {
    for (const [needed, state] of [
      [101_000, 'short'],
      [1, 'lost'],
    ] as const) {
      const { clock, monitor } = watching();
      monitor.seekOplog();
      const short = { ...reading(0), sizeBytes: 1_000_000, writtenBytes: 1_000_000_000 };
      monitor.addOplogReading({ ...short, first: at(100_000), latest: at(103_600) }, at(needed));
      assert.equal(monitor.oplogState, state);
      clock.ms = 1_000_000;
      assert.equal(monitor.oplogState, state);
    }
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

describe('bufferedBytes', () => {
  it('are those of the events until their changes are taken out, then those of the changes', () => {
    const monitor = new SyncMonitor(() => 0);
    const buffered = (): readonly number[] => [monitor.bufferedEvents, monitor.bufferedBytes];
    monitor.addReceived({ events: [{}, {}, {}], bytes: 900 });
    assert.deepEqual(buffered(), [3, 900]);
    monitor.beginBatch({ time: at(1), events: 2, bytes: 200, finished: 0 }, 600);
    assert.deepEqual(buffered(), [3, 500]);
    monitor.beginBatch({ time: at(2), events: 1, bytes: 100, finished: 0 }, 300);
    monitor.endBatch();
    assert.deepEqual(buffered(), [1, 100]);
    monitor.endBatch();
    assert.deepEqual(buffered(), [0, 0]);
  });
});
