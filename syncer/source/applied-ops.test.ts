import assert from 'node:assert/strict';
import { MongoServerError, Timestamp, type Document } from 'mongodb';
import { serverCode } from '../../mongo/server-errors.ts';
import { playedDeployment } from '../../mongo/testing/played-deployment.ts';
import { endOf, requireNoAppliedOps, type AppliedOpsContext } from './applied-ops.ts';

const time = (t: number, i = 1): Timestamp => new Timestamp({ t, i });

describe('requireNoAppliedOps', () => {
  it('reads ever shorter spans of what takes too long, and fails if the shortest does', async () => {
    const spans: number[] = [];
    const { deployment } = playedDeployment(({ find, filter }: Document) => {
      if (find !== 'oplog.rs') return { ok: 1, version: '6.0.5' };
      const { $gte, $lte } = (filter as { ts: Readonly<Record<'$gte' | '$lte', Timestamp>> }).ts;
      spans.push($lte.t - $gte.t);
      if (spans.length > 10) throw new Error('still reading');
      throw new MongoServerError({ code: serverCode.maxTimeMsExpired, message: 'too long' });
    });
    const context = {
      source: { ...deployment, raw: deployment.decoded },
      options: { source: 'cluster0' },
      monitor: { appliedOpsTime: null },
      signal: new AbortController().signal,
    } as unknown as AppliedOpsContext;
    await assert.rejects(requireNoAppliedOps(context, time(1_000), time(5_000)), {
      code: serverCode.maxTimeMsExpired,
    });
    assert.deepEqual(spans, [3_600, 900, 225, 57, 15, 4, 1]);
  });
});

describe('endOf', () => {
  it('is the end of a range that is no longer than the span, and a time in it of any other', () => {
    for (const seconds of [0, 1, 59, 60, 61, 3_600, 1_000_000]) {
      const range = { from: time(1_000), to: time(1_000 + seconds, 7) };
      const end = endOf(range, 60);
      if (seconds <= 60) assert.deepEqual(end, range.to);
      assert.ok(range.from.lessThan(end) && end.lessThanOrEqual(range.to));
    }
  });

  it('leaves nothing out between two ranges, and comes to the end', () => {
    const to = time(2_000, 5);
    let from = time(1_000, 3);
    let ranges = 0;
    while (from.lessThan(to)) {
      const end = endOf({ from, to }, 1);
      assert.ok(from.lessThan(end));
      from = end;
      ranges++;
    }
    assert.deepEqual(from, to);
    assert.equal(ranges, 1_000);
  });
});
