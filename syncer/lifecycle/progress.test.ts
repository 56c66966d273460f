import assert from 'node:assert/strict';
import { Timestamp } from 'mongodb';
import type { LeftIndex } from '../monitor/commit-word.ts';
import { SyncMonitor } from '../monitor/monitor.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { SentCommand } from '../store/live-sync.ts';
import type { SyncView } from '../store/records.ts';
import { reversibleSync } from '../testing/reversible-sync.ts';
import { progressOf } from './progress.ts';
import type { Sync } from './sync.ts';

const record: SyncView = { ...reversibleSync(), phase: 'changes' };
const topologies = { cluster0: { host: 'zero:1' }, cluster1: { host: 'one:1' } };

interface Scene {
  readonly view?: Partial<SyncView>;
  readonly options?: Partial<StartOptions>;
  readonly sent?: SentCommand | null;
  readonly monitor?: SyncMonitor;
}

/** The progress of an instance that shows its record so. */
function progressIn({ view, options, sent = null, monitor = new SyncMonitor() }: Scene) {
  const shown = { ...record, ...view, options: { ...record.options, ...options } };
  const sync = {
    ...{ view: shown, monitor, isWorking: true, coordinatorId: 'syncer' },
    live: { stored: shown, sent },
    pair: { instanceId: 'syncer', topologies },
    commitGate: { word: { canCommit: false, commitUnderWay: false, warnings: [] } },
    pace: { report: () => null, warnings: [] },
  };
  return progressOf(sync as unknown as Sync).progress;
}

/** The oplog was read, and lasts for some time. */
function withOplog(): SyncMonitor {
  const monitor = new SyncMonitor(() => 0);
  const time = (t: number): Timestamp => new Timestamp({ t, i: 1 });
  const sizes = { sizeBytes: 1_000, maxBytes: 1_000_000, minRetentionHours: 0 };
  for (const second of [0, 10])
    monitor.addOplogReading(
      {
        ...{ ...sizes, atMs: second * 1_000, writtenBytes: 1_000 + second },
        ...{ first: time(500), latest: time(1_000 + second) },
      },
      time(1_000),
    );
  assert.notEqual(monitor.oplogSecondsLeft, null);
  return monitor;
}

describe('progress', () => {
  it('says how long the oplog lasts as long as something needs it', () => {
    const secondsLeft = (state: SyncView['state'], reversible: boolean): number | null =>
      progressIn({ view: { state }, options: { reversible }, monitor: withOplog() })
        .estimatedOplogTimeRemainingSeconds;
    assert.notEqual(secondsLeft('RUNNING', false), null);
    assert.notEqual(secondsLeft('COMMITTED', true), null);
    assert.equal(secondsLeft('COMMITTED', false), null);
  });

  it('does not call a sync at rest that is still worked on while its reset waits for others', () => {
    const reset = { destination: 'Keep', received: ['syncer'], ended: [] } as const;
    const infoOf = (view: Partial<SyncView>): unknown => progressIn({ view }).info;
    assert.equal(infoOf({ state: 'PAUSED', reset }), null);
    assert.equal(infoOf({ state: 'RUNNING', reset }), 'change event application');
    assert.equal(infoOf({ state: 'PAUSED' }), 'change event application');
  });

  it('has a stage of the changes only where they are applied, and follow a copy', () => {
    const monitor = new SyncMonitor();
    monitor.beginChanges(false);
    monitor.appliedTime = new Timestamp({ t: 1_000, i: 1 });
    monitor.latestTime = new Timestamp({ t: 1_000, i: 1 });
    const stageIn = (view: Partial<SyncView>): unknown => progressIn({ view, monitor }).ceaStage;
    assert.notEqual(stageIn({}), null);
    assert.equal(stageIn({ phase: 'preparing' }), null);
    assert.equal(stageIn({ state: 'COMMITTING' }), null);
  });

  it('counts compared documents of a repair, and of a start over present data', () => {
    const counted = (scene: Scene): unknown => progressIn(scene).reconciliation;
    const none = { comparedDocuments: 0, changedDocuments: 0 };
    assert.deepEqual(counted({ view: { repairs: 1 } }), none);
    assert.deepEqual(counted({ options: { initialData: 'Present' } }), none);
    assert.equal(counted({}), null);
  });

  it('warns of a command on its way to the store, except of a commit, which has its own word', () => {
    const warnedOf = (command: SentCommand['command']): boolean =>
      progressIn({ sent: { command, sentMs: performance.now() } }).warnings?.some((warning) =>
        warning.startsWith(`${command}: it was sent`),
      ) ?? false;
    assert.ok(warnedOf('repair'));
    assert.ok(!warnedOf('commit'));
  });

  it('warns of left indexes until the sync is committed', () => {
    const monitor = new SyncMonitor();
    const left: LeftIndex = {
      ...{ namespace: 'shop.items', name: 'x', reason: 'y', expectedSeconds: null },
      isBuiltByCommitAlone: false,
    };
    monitor.leftIndexes = [left];
    const isWarned = (state: SyncView['state']): boolean =>
      progressIn({ view: { state }, monitor }).warnings?.some((text) =>
        text.startsWith('index x of shop.items'),
      ) ?? false;
    assert.ok(isWarned('COMMITTING'));
    assert.ok(!isWarned('COMMITTED'));
  });

  it('warns of an oplog that cannot be read only while its entries would matter', () => {
    const isWarned = (phase: SyncView['phase'], isOplogUnreadable: boolean): boolean => {
      const monitor = new SyncMonitor();
      monitor.isOplogUnreadable = isOplogUnreadable;
      const { warnings } = progressIn({ view: { phase }, monitor });
      return warnings?.some((text) => text.includes('may not read local.oplog.rs')) ?? false;
    };
    assert.ok(isWarned('changes', true));
    assert.ok(!isWarned('changes', false));
    assert.ok(!isWarned('done', true));
  });
});
