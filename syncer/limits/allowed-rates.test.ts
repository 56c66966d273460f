import assert from 'node:assert/strict';
import type { Brake } from './brakes.ts';
import { allowedRates, copySecondsLeft, type LimitSituation } from './allowed-rates.ts';

const source = { name: 'cluster0', clusterId: 'a' } as const;
const all = {
  maxCopyBytesPerSecond: 3_000_000,
  maxCopyDocumentsPerSecond: 3_000,
  maxChangesPerSecond: 300,
  maxConcurrentBatches: 10,
} as const;

function situation(change: Partial<LimitSituation> = {}): LimitSituation {
  return {
    limits: all,
    view: { state: 'RUNNING', phase: 'changes', source, instances: ['a'] },
    unknownTimeZones: [],
    oplogState: 'enough',
    oplogSecondsLeft: 100_000,
    copyLeft: null,
    ...{ brakes: [], readings: [] },
    ...change,
  };
}

function of(
  state: NonNullable<LimitSituation['view']>['state'],
  phase: NonNullable<LimitSituation['view']>['phase'] = 'changes',
): Pick<LimitSituation, 'view'> {
  return { view: { state, phase, source, instances: ['a'] } };
}

const nothing = {
  copyBytesPerSecond: undefined,
  copyDocumentsPerSecond: undefined,
  changesPerSecond: undefined,
  concurrentBatches: undefined,
};
const free = { copy: [], changes: [] };

const lag: Brake = {
  limit: 'maxReplicationLagSeconds',
  side: 'destination',
  bound: 30,
  value: 45,
};
const disk: Brake = { limit: 'minFreeDiskPercent', side: 'destination', bound: 10, value: 5 };
const held: Partial<LimitSituation> = { limits: {}, brakes: [lag, disk] };

describe('allowedRates', () => {
  it('allows what was requested, and everything else', () => {
    assert.deepEqual(allowedRates(situation()), {
      rates: {
        copyBytesPerSecond: 3_000_000,
        copyDocumentsPerSecond: 3_000,
        changesPerSecond: 300,
        concurrentBatches: 10,
      },
      brakes: free,
      warnings: [],
    });
    const all = { rates: nothing, brakes: free, warnings: [] };
    assert.deepEqual(allowedRates(situation({ limits: {} })), all);
  });

  it('divides it among the instances, each of which works', () => {
    const instances = ['a', 'b', 'c', 'd'];
    const view = { state: 'RUNNING', phase: 'copy', source, instances } as const;
    const { rates } = allowedRates(situation({ view }));
    assert.deepEqual(rates, {
      copyBytesPerSecond: 750_000,
      copyDocumentsPerSecond: 750,
      changesPerSecond: 75,
      concurrentBatches: 2,
    });
    const limits = { maxConcurrentBatches: 1 };
    assert.equal(allowedRates(situation({ view, limits })).rates.concurrentBatches, 1);
  });

  it('limits nothing once a commit has been accepted', () => {
    for (const state of ['COMMITTING', 'COMMITTED', 'PAUSED'] as const)
      assert.deepEqual(allowedRates(situation(of(state))), {
        ...{ rates: nothing, brakes: free, warnings: [] },
      });
    assert.deepEqual(allowedRates(situation({ view: undefined })).rates, nothing);
  });

  it('says which windows do not apply, as their time zone is unknown', () => {
    const { warnings } = allowedRates(situation({ unknownTimeZones: ['Europe/Atlantis'] }));
    assert.deepEqual(warnings, [
      'limits: the windows of the schedule in the time zone Europe/Atlantis do not apply: this system does not know that time zone',
    ]);
  });

  describe('while the oplog is short', () => {
    const short = { oplogState: 'short', oplogSecondsLeft: 900 } as const;

    it('lets the changes pass, with the copy of a collection that they wait for, and says so', () => {
      const { rates, warnings } = allowedRates(situation(short));
      assert.deepEqual(rates, nothing);
      assert.deepEqual(warnings, [
        'limits: the oplog of cluster0 runs short: maxChangesPerSecond and maxConcurrentBatches and maxCopyBytesPerSecond and maxCopyDocumentsPerSecond do not apply until the oplog lasts long enough again (oplogFirst)',
      ]);
    });

    it('keeps all limits during the copy, in which no change is applied', () => {
      const copying = situation({ ...short, ...of('RUNNING', 'copy'), brakes: [lag] });
      const { rates, brakes } = allowedRates(copying);
      assert.deepEqual([rates.changesPerSecond, rates.concurrentBatches], [300, 10]);
      assert.deepEqual(
        [rates.copyBytesPerSecond, rates.copyDocumentsPerSecond],
        [3_000_000, 3_000],
      );
      assert.deepEqual(brakes, { copy: [lag], changes: [lag] });
    });

    it('lets as many batches pass as the destination bears, if only those are limited', () => {
      const limits = { maxConcurrentBatches: 1 };
      const { rates, warnings } = allowedRates(situation({ ...short, limits }));
      assert.deepEqual(rates, nothing);
      assert.match(warnings.join(), /: maxConcurrentBatches does not apply until/);
      const staying = allowedRates(
        situation({ ...short, limits: { ...limits, oplogFirst: false } }),
      );
      assert.equal(staying.rates.concurrentBatches, 1);
      assert.match(
        staying.warnings.join(),
        /, and maxConcurrentBatches stays \(oplogFirst: false\)/,
      );
    });

    it('does not, with oplogFirst: false, and says what that leads to', () => {
      const limits = { ...all, oplogFirst: false };
      const { rates, warnings } = allowedRates(situation({ ...short, limits }));
      assert.equal(rates.changesPerSecond, 300);
      assert.equal(rates.concurrentBatches, 10);
      assert.match(
        warnings.join(),
        /maxChangesPerSecond and maxConcurrentBatches stay .* the sync is about to be lost/,
      );
    });

    it('says nothing of a limit that there is not, nor of a copy that stays limited but may not be under way', () => {
      assert.deepEqual(allowedRates(situation({ ...short, limits: {} })).warnings, []);
      const limits = { maxCopyBytesPerSecond: 2_000_000, oplogFirst: false };
      const { rates, warnings } = allowedRates(situation({ ...short, limits }));
      assert.deepEqual([rates.copyBytesPerSecond, warnings], [2_000_000, []]);
    });
  });

  describe('while nobody can tell how long the oplog lasts', () => {
    const limits = { maxChangesPerSecond: 300 };
    const warningsOf = (change: Partial<LimitSituation>): readonly string[] =>
      allowedRates(situation({ limits, oplogSecondsLeft: null, ...change })).warnings;

    it('keeps the limit of changes, and says that it does not yield, and why', () => {
      const { rates } = allowedRates(situation({ limits, oplogState: 'hidden' }));
      assert.equal(rates.changesPerSecond, 300);
      assert.deepEqual(warningsOf({ oplogState: 'hidden' }), [
        'limits: maxChangesPerSecond does not yield to the oplog of cluster0: a sharded cluster does not report how long the oplogs of its shards last',
      ]);
      assert.deepEqual(warningsOf({ oplogState: 'unknown' }), [
        'limits: maxChangesPerSecond does not yield to the oplog of cluster0: it or its statistics cannot be read (local.oplog.rs)',
      ]);
      assert.match(
        warningsOf({ oplogState: 'hidden', limits: all, ...of('RUNNING', 'copy') }).join(),
        /^limits: maxChangesPerSecond and maxConcurrentBatches do not yield to/,
      );
    });

    it('says nothing of a limit that there is not, nor before it was read, nor of one that is to stay', () => {
      assert.deepEqual(
        warningsOf({ oplogState: 'hidden', limits: { maxCopyBytesPerSecond: 2_000_000 } }),
        [],
      );
      assert.deepEqual(warningsOf({ oplogState: null }), []);
      const staying = { ...limits, oplogFirst: false };
      assert.deepEqual(warningsOf({ oplogState: 'hidden', limits: staying }), []);
    });
  });

  describe('during the copy', () => {
    const copying = { ...of('RUNNING', 'copy'), oplogSecondsLeft: 1_000 };

    it('warns if it takes longer than the oplog lasts, and keeps the limit', () => {
      const copyLeft = { bytes: 3_000_000_000, documents: null };
      const { rates, warnings } = allowedRates(situation({ ...copying, copyLeft }));
      assert.equal(rates.copyBytesPerSecond, 3_000_000);
      assert.match(warnings.join(), /^limits: the copy takes longer than the oplog of cluster0/);
      const shorter = { bytes: 2_900_000_000, documents: null };
      assert.deepEqual(allowedRates(situation({ ...copying, copyLeft: shorter })).warnings, []);
    });

    it('warns for the documents, too', () => {
      const copyLeft = { bytes: 1, documents: 3_000_000 };
      assert.equal(allowedRates(situation({ ...copying, copyLeft })).warnings.length, 1);
    });

    it('knows nothing of an oplog that it cannot read', () => {
      const copyLeft = { bytes: 1e15, documents: null };
      const unknown = { ...copying, oplogSecondsLeft: null, copyLeft };
      assert.deepEqual(allowedRates(situation(unknown)).warnings, []);
    });
  });
});

describe('allowedRates, by what is measured,', () => {
  const short = { ...held, oplogState: 'short', oplogSecondsLeft: 900 } as const;
  const pending = { ...held, brakes: [{ ...lag, value: undefined }, disk] };

  it('lets nothing pass while there are brakes', () => {
    for (const phase of ['copy', 'changes'] as const) {
      const { brakes, warnings } = allowedRates(situation({ ...held, ...of('RUNNING', phase) }));
      assert.deepEqual(brakes, { copy: [lag, disk], changes: [lag, disk] });
      assert.deepEqual(warnings, []);
    }
    assert.deepEqual(allowedRates(situation(pending)).brakes.changes, pending.brakes);
  });

  it('holds nothing back once a commit has been accepted, and says so', () => {
    const { brakes, warnings } = allowedRates(situation({ ...held, ...of('COMMITTING') }));
    assert.deepEqual(brakes, free);
    assert.deepEqual(warnings, [
      'limits: a commit was accepted, and lifts these limits: holdBack.maxReplicationLagSeconds and holdBack.minFreeDiskPercent',
    ]);
    for (const state of ['PAUSED', 'COMMITTED'] as const)
      assert.deepEqual(allowedRates(situation({ ...held, ...of(state) })), {
        ...{ rates: nothing, brakes: free, warnings: [] },
      });
  });

  it('yields to a short oplog, except for the disk', () => {
    const { brakes, warnings } = allowedRates(situation(short));
    assert.deepEqual(brakes, { copy: [disk], changes: [disk] });
    assert.match(
      warnings.join('; '),
      /^limits: the oplog of cluster0 runs short: holdBack\.maxReplicationLagSeconds does not apply until .*; limits: the oplog of cluster0 runs short, and holdBack\.minFreeDiskPercent stays \(a full disk would end both\): the sync is about to be lost/,
    );
    const before = allowedRates(situation({ ...short, brakes: [{ ...lag, value: undefined }] }));
    assert.deepEqual([before.brakes, before.warnings], [free, []]);
  });

  it('does not yield with oplogFirst: false, nor in the copy, and says what that leads to', () => {
    const staying = allowedRates(situation({ ...short, limits: { oplogFirst: false } }));
    assert.deepEqual(staying.brakes.changes, [lag, disk]);
    assert.match(
      staying.warnings.join(),
      /stays \(oplogFirst: false\): the sync is about to be lost/,
    );
    const copying = allowedRates(situation({ ...short, ...of('RUNNING', 'copy') }));
    assert.deepEqual(copying.brakes.copy, [lag, disk]);
    assert.match(copying.warnings.join(), /holds the copy back: the sync is about to be lost/);
  });

  it('says what cannot be measured, and what that means', () => {
    const unknown = { limit: lag.limit, side: lag.side, value: undefined, problem: 'no answer' };
    const warningsOf = (change: Partial<LimitSituation>) =>
      allowedRates(situation({ limits: {}, readings: [unknown], ...change })).warnings;
    const name = 'limits: holdBack.maxReplicationLagSeconds';
    assert.deepEqual(warningsOf({}), [`${name} does not apply: no answer`]);
    assert.deepEqual(warningsOf({ brakes: [lag] }), [
      `${name} applies until it can be measured again: no answer`,
    ]);
    assert.deepEqual(warningsOf({ readings: [{ ...unknown, value: 3 }] }), [
      `${name} does not count all: no answer`,
    ]);
    assert.deepEqual(warningsOf({ readings: [{ ...unknown, value: 3, problem: undefined }] }), []);
  });
});

describe('copySecondsLeft', () => {
  it('goes by the limit that takes longest, and by none that is not known', () => {
    const left = { bytes: 100, documents: 50 };
    const rates = { copyBytesPerSecond: 10, copyDocumentsPerSecond: 1 };
    assert.equal(copySecondsLeft(left, rates), 50);
    assert.equal(copySecondsLeft({ ...left, documents: null }, rates), 10);
    assert.equal(copySecondsLeft(left, nothing), null);
  });
});
