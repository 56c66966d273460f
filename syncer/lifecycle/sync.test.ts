import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import { SyncError } from '../../service/errors.ts';
import { createLogger } from '../../service/logger.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { SyncerOptions } from '../options/syncer-options.ts';
import type { ClusterPair } from '../store/clusters.ts';
import { digestOf } from '../store/instances.ts';
import type { SyncRecord } from '../store/records.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { CommandQueue } from './command-queue.ts';
import { Sync } from './sync.ts';

const running: SyncRecord = { ...reversibleSync(), phase: 'changes' };

/** The same sync by two instances, of which this one is `syncer`. */
const shared: SyncRecord = { ...running, instances: ['syncer', 'other'], received: [1, 1] };
const sharedAndPaused: SyncRecord = { ...shared, paused: ['syncer'] };

/** A command that the other instance was given, and this one was not. */
const givenToOther = { commandCount: 2, received: [1, 2], formerState: 'RUNNING' } as const;

type Kind = 'replicaSet' | 'sharded';

/** A sync whose record is kept in memory, and on which no work can begin. */
function syncOf(record: SyncRecord, sourceKind: Kind = 'replicaSet') {
  const world = { record, reads: 0, readsOfPrimary: 0, works: 0, lease: 'other' };
  const read = async (): Promise<SyncRecord> => await Promise.resolve(world.record);
  const place = {
    readSync: async () => {
      world.reads++;
      return await read();
    },
    readSyncOfPrimary: async () => {
      world.readsOfPrimary++;
      return await read();
    },
    updateSync: async (change: Partial<SyncRecord>) => {
      world.record = { ...world.record, ...change };
      return await Promise.resolve(true);
    },
    receiveCommand: async () =>
      await Promise.reject(new SyncError('SupersededByOtherInstance', 'the test refuses it')),
    lease: { read: async () => await Promise.resolve(world.lease) },
  };
  const pair = {
    ...{ instanceId: 'syncer', signal: new AbortController().signal },
    topologies: { cluster0: { kind: sourceKind }, cluster1: { kind: 'replicaSet' } },
    clients: { cluster0: { writeGuard: {} }, cluster1: { writeGuard: {} } },
    recordOn: () => place,
    storeOn: () => {
      world.works++;
      throw new SyncError('InvalidOption', 'no work begins in this test');
    },
  };
  const sync = new Sync(
    record,
    pair as unknown as ClusterPair,
    new SyncMonitor(),
    new CommandQueue(),
    { id: 'syncer' } as SyncerOptions,
    createLogger('test', 'fatal'),
  );
  return { sync, world };
}

describe('Sync', () => {
  it('coordinates alone while something works on it or it waits, and otherwise names who does', async () => {
    assert.equal(syncOf(running).sync.coordinatorId, null);
    assert.equal(syncOf({ ...running, paused: ['syncer'] }).sync.coordinatorId, 'syncer');
    assert.equal(syncOf({ ...running, state: 'COMMITTED' }).sync.coordinatorId, 'syncer');
    const { sync } = syncOf(sharedAndPaused);
    assert.equal(sync.coordinatorId, null);
    await sync.live.refresh();
    assert.equal(sync.coordinatorId, 'other');
  });

  it('takes no command that is for another sync, and any that does not say for which', () => {
    const { sync } = syncOf(running);
    sync.requireDigest(undefined);
    sync.requireDigest(digestOf(running));
    assert.throws(
      () => {
        sync.requireDigest('another');
      },
      { name: 'DifferentSync' },
    );
  });

  it('needs an oplog that can be read: not behind a router', () => {
    const copying: SyncRecord = {
      ...running,
      phase: 'copy',
      startTime: new Timestamp({ t: 1_000, i: 1 }),
    };
    assert.equal(syncOf(copying).sync.neededOplog?.cluster, 'cluster0');
    assert.equal(syncOf(copying, 'sharded').sync.neededOplog, undefined);
  });

  it('knows of a commit that only others were given', () => {
    const commit = { ...givenToOther, command: 'commit', state: 'COMMITTING' } as const;
    const { word } = syncOf({ ...shared, ...commit }).sync.commitGate;
    assert.equal(word.commitUnderWay, true);
    assert.match(word.warnings.join(), /send it to syncer, too/);
    assert.equal(syncOf(shared).sync.commitGate.word.commitUnderWay, null);
    const given = syncOf({ ...shared, ...commit, received: [2, 1] }).sync.commitGate.word;
    assert.deepEqual(given, { canCommit: false, commitUnderWay: true, warnings: [] });
  });

  const changes: readonly (readonly [string, Partial<SyncRecord>, boolean])[] = [
    ['nothing', {}, false],
    ['a command', { ...givenToOther, command: 'commit', state: 'COMMITTING' }, true],
    ['limits', { limits: { maxChangesPerSecond: 7 } }, true],
  ];
  for (const [what, change, isNews] of changes) {
    it(`finds out, while it is paused, that others were given ${what}`, async () => {
      const { sync, world } = syncOf(sharedAndPaused);
      world.record = { ...sharedAndPaused, ...change };
      await sync.commitGate.lookWhilePaused();
      assert.deepEqual([world.readsOfPrimary, world.reads], [1, isNews ? 1 : 0]);
      assert.deepEqual(sync.live.stored, world.record);
    });
  }

  it('does not look where its work does, or where there are no others, or where it ends', async () => {
    const reset = { destination: 'Keep', received: [], ended: [] } as const;
    const alone: SyncRecord = { ...running, paused: ['syncer'] };
    for (const record of [alone, shared, { ...sharedAndPaused, reset }]) {
      const { sync, world } = syncOf(record);
      await sync.commitGate.lookWhilePaused();
      assert.equal(world.readsOfPrimary, 0);
    }
  });

  it('is not repaired while a reversal moves its state or prepares its destination', async () => {
    for (const phase of ['handover', 'preparing'] as const) {
      const { sync } = syncOf({ ...running, phase });
      await assert.rejects(sync.repair('hashes', undefined), {
        ...{ name: 'InvalidStateTransition', message: /once the reversal is prepared/ },
      });
    }
  });

  it('is repaired with one comparison by all instances, and with any by the first', async () => {
    const repair = { ...givenToOther, command: 'repair', comparison: 'bytes' } as const;
    const later = syncOf({ ...shared, ...repair });
    await assert.rejects(later.sync.repair('hashes', undefined), {
      ...{ name: 'InvalidStateTransition', message: /with comparison bytes/ },
    });
    const same = syncOf({ ...shared, ...repair });
    await assert.rejects(same.sync.repair('bytes', undefined), { message: /the test refuses it/ });
    const first = syncOf({ ...shared, comparison: 'bytes' });
    await assert.rejects(first.sync.repair('hashes', undefined), {
      message: /the test refuses it/,
    });
  });

  it('refuses a repair until every instance was started, and accepts one that another instance was given', async () => {
    const { sync } = syncOf({ ...shared, received: [1, 0], formerState: 'IDLE' });
    await assert.rejects(sync.repair('hashes', undefined), {
      ...{ name: 'InvalidStateTransition', message: /: send start to other first$/ },
    });
    const repair = { command: 'repair', commandCount: 2, formerState: 'RUNNING' } as const;
    const again = syncOf({ ...shared, ...repair, received: [2, 1] });
    await assert.rejects(again.sync.repair('hashes', undefined), {
      message: /the test refuses it/,
    });
  });

  it('is worked on again if the store refuses its repair', async () => {
    const { sync, world } = syncOf(running);
    await assert.rejects(sync.repair('hashes', undefined), { message: /the test refuses it/ });
    await sync.ended;
    assert.equal(world.works, 1);
    assert.equal(sync.failure?.name, 'InvalidOption');
  });

  it('takes no limits once it is being reset', async () => {
    const limits = { maxChangesPerSecond: 7 };
    const { sync, world } = syncOf(running);
    await sync.setLimits(limits);
    assert.deepEqual(world.record.limits, limits);
    const reset = { destination: 'Keep', received: ['syncer'], ended: [] } as const;
    const ending = syncOf({ ...running, reset });
    await assert.rejects(ending.sync.setLimits(limits), { name: 'ResetUnderWay' });
    assert.deepEqual(ending.world.record.limits, {});
  });
});

describe('the pace of a sync', () => {
  /** What it warns of, where this is what the monitor knows. */
  const warningsOf = (record: SyncRecord, known: object, kind?: Kind): string => {
    const { sync } = syncOf(record, kind);
    for (const [name, value] of Object.entries(known))
      Object.defineProperty(sync.monitor, name, { value });
    sync.pace.update();
    return sync.pace.warnings.join();
  };

  it('takes up limits as soon as they are stored', async () => {
    const { sync } = syncOf(shared);
    await sync.setLimits({ maxChangesPerSecond: 8 });
    assert.equal(sync.pace.rate('maxChangesPerSecond'), 4);
  });

  it('knows why nobody can tell how long the oplog lasts', () => {
    const limited: SyncRecord = { ...running, limits: { maxChangesPerSecond: 7 } };
    const known = { oplogState: 'unknown' };
    assert.match(warningsOf(limited, known), /it or its statistics cannot be read/);
    assert.match(warningsOf(limited, known, 'sharded'), /a sharded cluster does not report/);
  });

  it('names the time zones of the schedule that this system does not know', () => {
    const window = { from: '08:00', to: '18:00', timeZone: 'Europe/Atlantis' };
    const scheduled: SyncRecord = { ...running, limits: { schedule: [window] } };
    assert.match(warningsOf(scheduled, {}), /in the time zone Europe\/Atlantis do not apply/);
  });

  it('expects of each instance its part of the copy, and of its limits', () => {
    const limits = { maxCopyBytesPerSecond: 2_000_000 };
    const copying: SyncRecord = { ...shared, phase: 'copy', limits };
    const sized: SyncRecord = { ...copying, estimatedTotalBytes: 200_000_000 };
    const tooLong = /the copy takes longer/;
    assert.match(warningsOf(sized, { oplogSecondsLeft: 100 }), tooLong);
    assert.equal(warningsOf(sized, { oplogSecondsLeft: 101 }), '');
    assert.equal(warningsOf({ ...sized, estimatedTotalBytes: null }, { oplogSecondsLeft: 0 }), '');
  });
});
