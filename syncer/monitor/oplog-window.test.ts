import assert from 'node:assert/strict';
import fc from 'fast-check';
import { Timestamp } from 'mongodb';
import { parseStartBody } from '../options/command-bodies.ts';
import type { Phase } from '../store/records.ts';
import { OplogHistory, type OplogReading } from './oplog-history.ts';
import {
  isLost,
  neededOplog,
  oplogSecondsLeft,
  oplogState,
  oplogWarning,
  type OplogState,
} from './oplog-window.ts';

const at = (t: number): Timestamp => new Timestamp({ t, i: 1 });

const megabyte = 1_000_000;

/** An oplog that is written to at a steady rate from time 0 on, and drops what exceeds its size. */
function steady(
  seconds: number,
  { rate, maxBytes = 100 * megabyte }: { rate: number; maxBytes?: number },
): OplogReading {
  const writtenBytes = rate * seconds;
  const sizeBytes = Math.min(writtenBytes, maxBytes);
  return {
    atMs: seconds * 1000,
    first: at(Math.ceil(seconds - sizeBytes / rate)),
    latest: at(seconds),
    sizeBytes,
    maxBytes,
    writtenBytes,
    minRetentionHours: 0,
  };
}

function watched(seconds: readonly number[], options: Parameters<typeof steady>[1]): OplogHistory {
  const history = new OplogHistory();
  for (const second of seconds) history.add(steady(second, options));
  return history;
}

describe('oplogSecondsLeft', () => {
  it('is what comes true at a steady rate, whether the oplog is full or not', () => {
    const seconds = fc.integer({ min: 100, max: 3_000 });
    fc.assert(
      fc.property(
        seconds,
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 1_000, max: 1_000_000 }),
        (now, behind, rate) => {
          const history = watched([now - 20, now - 10, now], { rate });
          const needed = now - Math.min(behind, now - 1);
          const left = oplogSecondsLeft(history, at(needed)) ?? NaN;
          // The entry of `needed` goes once as much as the oplog holds has been written after it.
          const truth = Math.max(0, needed + (100 * megabyte) / rate - now);
          if (isLost(history, at(needed))) assert.equal(left, 0);
          else assert.ok(Math.abs(left - truth) <= 1.5, `${left} s for ${truth} s`);
        },
      ),
    );
  });

  it('falls by what was written since, at a steady rate', () => {
    const history = watched([100, 110], { rate: megabyte / 2 });
    const before = oplogSecondsLeft(history, at(110)) ?? NaN;
    history.add(steady(150, { rate: megabyte / 2 }));
    assert.equal(before - (oplogSecondsLeft(history, at(110)) ?? NaN), 40);
  });

  it('is not known before the rate is', () => {
    assert.equal(oplogSecondsLeft(new OplogHistory(), at(1)), null);
    assert.equal(oplogSecondsLeft(watched([100], { rate: 1000 }), at(100)), null);
    assert.equal(oplogSecondsLeft(watched([100, 104], { rate: 1000 }), at(100)), null);
    assert.notEqual(oplogSecondsLeft(watched([100, 110], { rate: 1000 }), at(100)), null);
    // An oplog that covers more than an hour shows its own rate.
    assert.notEqual(oplogSecondsLeft(watched([4000], { rate: 1000 }), at(4000)), null);
  });

  it('takes the higher one of the rates in the last minutes and in the whole oplog', () => {
    const history = new OplogHistory();
    const reading = steady(10_000, { rate: 5_000 });
    history.add(reading);
    const quiet = (seconds: number, more: number): OplogReading => ({
      ...reading,
      atMs: reading.atMs + seconds * 1000,
      latest: at(10_000 + seconds),
      sizeBytes: reading.sizeBytes + more,
      writtenBytes: reading.writtenBytes + more,
    });
    history.add(quiet(10, 0));
    const average = oplogSecondsLeft(history, at(10_010)) ?? NaN;
    assert.ok(Math.abs(average - 20_000) < 100, String(average));
    history.add(quiet(20, 20 * megabyte));
    const busy = oplogSecondsLeft(history, at(10_020)) ?? NaN;
    assert.equal(busy, 100);
  });

  it('starts counting again after another primary took over', () => {
    const history = watched([1_000, 1_010], { rate: 100_000 });
    history.add({ ...steady(1_020, { rate: 100_000 }), writtenBytes: 5 });
    assert.equal(oplogSecondsLeft(history, at(1_020)), null);
    assert.equal(history.bytesAt(at(1_020)), 5);
  });

  it('keeps to the least time that entries are kept', () => {
    const history = new OplogHistory();
    for (const second of [2_000, 2_010])
      history.add({ ...steady(second, { rate: megabyte }), minRetentionHours: 1 });
    assert.equal(oplogSecondsLeft(history, at(2_000)), 3_590);
  });

  it('is a year at the most, and 0 exactly when it is too late', () => {
    const idle = { ...steady(100, { rate: 1 }), writtenBytes: 100 };
    const history = new OplogHistory();
    history.add(idle);
    history.add({ ...idle, atMs: idle.atMs + 60_000 });
    assert.equal(oplogSecondsLeft(history, at(100)), 365 * 24 * 3600);
    const full = new OplogHistory();
    for (const second of [1_000, 1_010])
      full.add({
        ...steady(second, { rate: megabyte }),
        first: at(1),
        sizeBytes: 1_000 * megabyte,
      });
    assert.equal(oplogSecondsLeft(full, at(500)), 1, 'too full, and not truncated yet');
    assert.equal(oplogSecondsLeft(full, at(0)), 0);
  });
});

describe('OplogHistory', () => {
  it('stays small, and keeps telling bytes and rates', () => {
    const seconds = Array.from({ length: 20_000 }, (_, index) => 100 + 2 * index);
    const history = watched(seconds, { rate: 1_000 });
    for (const t of [200, 1_000, 20_000, 39_000])
      assert.ok(Math.abs((history.bytesAt(at(t)) ?? NaN) - 1_000 * t) < 1, String(t));
    assert.ok(Math.abs((history.bytesPerSecond ?? NaN) - 1_000) < 1);
  });
});

describe('oplogState', () => {
  const rows: [number | null, number, OplogState | null, OplogState | null][] = [
    [null, 0, null, null],
    [0, 0, 'enough', 'lost'],
    [3_599, 0, 'enough', 'short'],
    [3_600, 0, 'enough', 'enough'],
    [4_400, 0, 'short', 'short'],
    [4_500, 0, 'short', 'enough'],
    [19_999, 10_000, 'enough', 'short'],
    [20_000, 10_000, 'enough', 'enough'],
    [86_400, 3_600, null, 'enough'],
  ];
  for (const [left, lag, before, expected] of rows)
    it(`${left} s left at a lag of ${lag} s after ${before} is ${expected}`, () => {
      assert.equal(oplogState(left, lag, before), expected);
    });
});

describe('neededOplog', () => {
  const record = {
    source: { name: 'cluster0', clusterId: '0' },
    destination: { name: 'cluster1', clusterId: '1' },
    options: parseStartBody({
      source: 'cluster0',
      destination: 'cluster1',
      enableUserWriteBlocking: true,
      reversible: true,
    }),
    startTime: at(10),
    writableTime: at(30),
  } as const;
  const irreversible = { ...record, options: { ...record.options, reversible: false } };
  const inPhase = (phase: Phase, from: object = record): unknown => {
    const needed = neededOplog({ ...record, ...from, phase }, at(20));
    return needed && [needed.cluster, needed.from.t, needed.purpose];
  };

  it('is that of the source, from where the sync is, until all is applied', () => {
    assert.equal(inPhase('catalog', { startTime: null }), undefined);
    assert.deepEqual(inPhase('copy'), ['cluster0', 10, 'sync']);
    assert.deepEqual(inPhase('changes'), ['cluster0', 20, 'sync']);
    assert.deepEqual(inPhase('preparing'), ['cluster0', 10, 'sync']);
  });

  it('is that of the destination when the sync can be reversed', () => {
    for (const phase of ['restoring', 'done', 'handover'] as const) {
      assert.deepEqual(inPhase(phase), ['cluster1', 30, 'reversal']);
      assert.equal(inPhase(phase, irreversible), undefined);
      assert.equal(inPhase(phase, { writableTime: null }), undefined);
    }
  });
});

describe('oplogWarning', () => {
  it('is there while something should be done', () => {
    const needed = { cluster: 'cluster0', purpose: 'sync' } as const;
    assert.equal(oplogWarning(null, needed), undefined);
    assert.equal(oplogWarning('enough', needed), undefined);
    assert.match(
      oplogWarning('short', needed) ?? '',
      /oplog of cluster0 runs short.*the sync needs/,
    );
    assert.match(oplogWarning('lost', needed) ?? '', /no longer holds all changes that the sync/);
    assert.match(oplogWarning('unknown', needed) ?? '', /^how long the oplog of cluster0 lasts is/);
  });
});
