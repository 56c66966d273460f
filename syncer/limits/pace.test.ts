import assert from 'node:assert/strict';
import type { Limits } from '../../sync-api/json.ts';
import { Pace, type PaceSituation } from './pace.ts';

const source = { name: 'cluster0', clusterId: 'a' } as const;
const signal = new AbortController().signal;

/** A pace whose time stands still, so that nothing passes but what may pass at once. */
function paceOf(limits: Limits): { readonly pace: Pace; readonly now: PaceSituation } {
  const now = {
    limits,
    window: undefined,
    view: { state: 'RUNNING', phase: 'copy', source, instances: ['a'] } as PaceSituation['view'],
    unknownTimeZones: [],
    oplogState: null,
    oplogSecondsLeft: null,
    copyBytes: null,
    copiedBytes: 0,
  };
  const clock = { now: () => 0, after: () => () => undefined };
  return { pace: new Pace(() => now, clock), now };
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

describe('Pace', () => {
  it('holds documents back by either limit, and says by which', async () => {
    const limits = { maxCopyDocumentsPerSecond: 10 };
    const { pace } = paceOf(limits);
    const copied = pace.copy({ count: 1, bytes: 100 }, signal);
    await settled();
    const { requested, allowed, heldBackBy } = pace.report(limits);
    assert.deepEqual(requested, limits);
    assert.deepEqual(heldBackBy, ['maxCopyDocumentsPerSecond']);
    assert.deepEqual(allowed, {
      copyBytesPerSecond: null,
      copyDocumentsPerSecond: 10,
      changesPerSecond: null,
      concurrentBatches: null,
    });
    assert.equal(pace.isHoldingChanges, false);
    await pace.apply(1_000_000, signal);
    assert.equal(pace.concurrentBatches, Infinity);
    const { pace: other } = paceOf({ maxCopyBytesPerSecond: 2_000_000 });
    const held = other.copy({ count: 1, bytes: 100 }, signal);
    await settled();
    assert.deepEqual(other.report({}).heldBackBy, ['maxCopyBytesPerSecond']);
    void copied;
    void held;
  });

  it('limits changes by what was requested for them until a commit lifts it', () => {
    for (const limits of [{}, { maxCopyBytesPerSecond: 2_000_000 }])
      assert.equal(paceOf(limits).pace.areChangesLimited, false);
    const { pace, now } = paceOf({ maxChangesPerSecond: 1 });
    assert.equal(pace.areChangesLimited, true);
    Object.assign(now, { view: { ...now.view, state: 'COMMITTING' } });
    pace.update();
    assert.equal(pace.areChangesLimited, false);
  });

  it('lets everything that waits pass once the commit is accepted', async () => {
    const { pace, now } = paceOf({ maxChangesPerSecond: 1, maxCopyBytesPerSecond: 2_000_000 });
    const waiting = [pace.apply(5_000, signal), pace.copy({ count: 1, bytes: 1e9 }, signal)];
    await settled();
    assert.equal(pace.isHoldingChanges, true);
    Object.assign(now, { view: { ...now.view, state: 'COMMITTING' } });
    pace.update();
    await Promise.all(waiting);
    assert.equal(pace.isHoldingChanges, false);
    assert.deepEqual(pace.report(now.limits).heldBackBy, []);
  });

  it('reports what is so now, though nothing works that would take it up', () => {
    const limits = { maxChangesPerSecond: 7 };
    const { pace, now } = paceOf(limits);
    Object.assign(now, { oplogState: 'unknown' });
    assert.equal(pace.report(limits).allowed.changesPerSecond, 7);
    assert.equal(pace.warnings.length, 1);
    Object.assign(now, { view: { ...now.view, state: 'PAUSED' } });
    assert.equal(pace.report(limits).allowed.changesPerSecond, null);
    assert.deepEqual(pace.warnings, []);
  });

  it('does not report a share of less than one as nothing', () => {
    const limits = { maxChangesPerSecond: 1 };
    const { pace, now } = paceOf(limits);
    Object.assign(now, { view: { ...now.view, instances: ['a', 'b', 'c'] } });
    assert.equal(pace.report(limits).allowed.changesPerSecond, 1);
  });

  it('takes on as much at a time as passes in a second, and one document or change at least', () => {
    const { pace } = paceOf({ maxCopyBytesPerSecond: 2_000_000, maxChangesPerSecond: 7 });
    const { fetch, changes } = pace.within(signal);
    assert.deepEqual(fetch, { count: Infinity, bytes: 2_000_000 });
    assert.equal(changes, 7);
    const { pace: shared, now } = paceOf({ maxChangesPerSecond: 1, maxCopyDocumentsPerSecond: 2 });
    Object.assign(now, { view: { ...now.view, instances: ['a', 'b', 'c'] } });
    shared.update();
    const least = shared.within(signal);
    assert.deepEqual([least.changes, least.fetch.count], [1, 1]);
  });

  it('warns of a copy that takes too long, by the size of the documents so far and what is left', async () => {
    const { pace, now } = paceOf({});
    const warns = (change: Partial<PaceSituation>): boolean => {
      Object.assign(now, change);
      pace.update();
      return pace.warnings.length > 0;
    };
    const limits = { maxCopyDocumentsPerSecond: 10 };
    const known = { limits, copyBytes: 101_000, copiedBytes: 1_000 };
    assert.equal(warns({ ...known, oplogSecondsLeft: 1 }), false, 'no document has a size yet');
    assert.equal(warns({ limits: {} }), false);
    await pace.copy({ count: 10, bytes: 1_000 }, signal);
    assert.equal(warns({ ...known, oplogSecondsLeft: 100 }), true);
    assert.equal(warns({ oplogSecondsLeft: 101 }), false);
    const rate = { maxCopyBytesPerSecond: 1_000 };
    assert.equal(warns({ limits: rate, oplogSecondsLeft: 100 }), true);
    assert.equal(warns({ oplogSecondsLeft: 101 }), false);
    assert.equal(warns({ copyBytes: null, oplogSecondsLeft: 0 }), false, 'nobody knows the total');
  });

  it('counts nothing of a limit that was lifted once it is set again: it is to be measured first', () => {
    const holdBack = { minFreeDiskPercent: 10 };
    const { pace, now } = paceOf({ holdBack });
    const disk = { limit: 'minFreeDiskPercent', side: 'destination', problem: undefined } as const;
    pace.measured([{ ...disk, value: 50 }]);
    assert.equal(pace.rate('maxChangesPerSecond'), undefined);
    for (const limits of [{}, { holdBack }]) {
      Object.assign(now, { limits });
      pace.update();
    }
    assert.equal(pace.rate('maxChangesPerSecond'), 0);
  });

  it('names the window of the schedule that a limit is from', async () => {
    const { pace, now } = paceOf({ maxChangesPerSecond: 1, maxCopyDocumentsPerSecond: 1 });
    const window = { from: '08:00', to: '18:00', maxChangesPerSecond: 1 };
    Object.assign(now, { window });
    const ended = new AbortController();
    const waiting = [pace.apply(10, ended.signal), pace.copy({ count: 9, bytes: 1 }, ended.signal)];
    await settled();
    assert.deepEqual(pace.report({}).heldBackBy, [
      'maxCopyDocumentsPerSecond',
      'maxChangesPerSecond (schedule: 08:00 to 18:00, UTC)',
    ]);
    assert.deepEqual([...pace.reasons], ['maxCopyDocumentsPerSecond', 'maxChangesPerSecond']);
    ended.abort();
    await Promise.allSettled(waiting);
  });

  it('lets nothing pass until it is measured, and while a brake holds', async () => {
    const limits = { holdBack: { minFreeDiskPercent: 10 }, maxChangesPerSecond: 5 };
    const { pace, now } = paceOf(limits);
    const disk = { limit: 'minFreeDiskPercent', side: 'destination', problem: undefined } as const;
    let passed = 0;
    const change = async (): Promise<void> => {
      await pace.apply(1, signal);
      passed++;
    };
    const before = change();
    await settled();
    assert.equal(passed, 0);
    assert.deepEqual(pace.report(limits).heldBackBy, [
      'holdBack.minFreeDiskPercent: the destination is not measured yet',
    ]);
    assert.deepEqual(pace.measuredBrakes, []);
    // As much is taken on at a time as when nothing is held back.
    assert.equal(pace.within(signal).changes, 5);

    pace.measured([{ ...disk, value: 5 }]);
    await settled();
    assert.equal(passed, 0);
    const { allowed, heldBackBy } = pace.report(limits);
    assert.deepEqual(heldBackBy, ['free disk of the destination 5 %, limit 10 %']);
    assert.deepEqual(allowed, {
      ...{ copyBytesPerSecond: 0, copyDocumentsPerSecond: 0, changesPerSecond: 0 },
      concurrentBatches: null,
    });
    assert.deepEqual([...pace.reasons], ['minFreeDiskPercent']);
    assert.equal(pace.isHoldingChanges, true);

    Object.assign(now, { limits: { holdBack: { minFreeDiskPercent: 3 } } });
    pace.update();
    await before;
    assert.deepEqual(pace.measuredBrakes, []);

    pace.forgetMeasured();
    const later = change();
    await settled();
    assert.equal(passed, 1);
    Object.assign(now, { limits: {} });
    pace.update();
    await later;
  });

  it('ends the wait of work that has ended', async () => {
    const { pace } = paceOf({ maxChangesPerSecond: 1 });
    const work = new AbortController();
    const waiting = pace.within(work.signal).apply(10);
    const reason = new Error('paused');
    work.abort(reason);
    await assert.rejects(waiting, reason);
    assert.equal(pace.isHoldingChanges, false);
  });
});
