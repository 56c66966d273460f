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

describe('requireNoAppliedOps, on servers that hide nothing', () => {
  const startTime = time(1_000);

  /** The warnings of a look. @param readTo - what was read before. @param applied - the time of the last change that was applied. */
  async function warningsAfter(readTo: number | null, applied: number | null): Promise<string[]> {
    const warnings: string[] = [];
    const { deployment } = playedDeployment(() => ({ ok: 1, version: '7.0.28' }));
    const context = {
      source: deployment,
      options: { source: 'cluster0' },
      monitor: {
        appliedOpsTime: readTo && time(readTo),
        appliedTime: applied && time(applied),
      },
      warn: async (warning: string) => {
        await Promise.resolve(warnings.push(warning));
      },
      signal: new AbortController().signal,
    } as unknown as AppliedOpsContext;
    // The second look finds nothing new.
    for (let look = 0; look < 2; look++) await requireNoAppliedOps(context, startTime, time(9_000));
    assert.deepEqual(context.monitor.appliedOpsTime, time(9_000));
    return warnings;
  }

  it('warns once where changes were applied that others may have hidden something of', async () => {
    const unread = [
      [null, 8_000, 1_000],
      [2_000, 8_000, 2_000],
      [2_000, 2_061, 2_000],
      // Those before the start do not count.
      [500, 1_061, 1_000],
    ] as const;
    for (const [readTo, applied, from] of unread) {
      const [warning = '', ...others] = await warningsAfter(readTo, applied);
      const [since, until] = [from, applied].map((t) => new Date(t * 1_000).toISOString());
      assert.match(warning, /^the oplog of cluster0 between .* was not read, .* applyOps/);
      assert.ok(warning.includes(`between ${since} and ${until} was`), warning);
      assert.deepEqual(others, []);
    }
  });

  it('warns of nothing where what was read kept up, and before anything is applied', async () => {
    for (const [readTo, applied] of [
      [null, null],
      [null, 1_060],
      [2_000, 2_060],
      [8_000, 2_000],
    ] as const)
      assert.deepEqual(await warningsAfter(readTo, applied), []);
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
