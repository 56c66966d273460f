import assert from 'node:assert/strict';
import { BSON, Int32, type Document } from 'mongodb';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { playedAdmin } from '../../mongo/testing/played-deployment.ts';
import { clocksOf, expiryExcuse, expiryRules, offsetOf } from './expiry.ts';

const nowMs = 1_000_000_000_000;
/** The source's is an hour behind. */
const clocks = { source: () => nowMs - 3_600_000, destination: () => nowMs };

function isExcused(index: Document, document: Document, options: Document = {}): boolean {
  const spec = { name: 'i', key: { at: 1 }, expireAfterSeconds: new Int32(60), ...index };
  const indexes = [decodeIndexSpec(BSON.serialize(spec))];
  const excuse = expiryExcuse(expiryRules(options, indexes), clocks);
  return excuse(BSON.serialize(document), 'destination');
}

function ago(seconds: number): Date {
  return new Date(nowMs - seconds * 1000);
}

describe('expiryExcuse', () => {
  it('excuses what has expired, and nothing else', () => {
    assert.equal(isExcused({}, { at: ago(61) }), true);
    assert.equal(isExcused({}, { at: ago(50) }), false);
    assert.equal(isExcused({}, { at: 'x' }), false);
    assert.equal(isExcused({}, {}), false);
    assert.equal(isExcused({}, { other: ago(61) }), false);
  });

  it('takes the earliest of several dates, and paths through arrays', () => {
    assert.equal(isExcused({}, { at: [ago(1), ago(61)] }), true);
    assert.equal(isExcused({ key: { 'a.at': 1 } }, { a: [{ at: ago(1) }, { at: ago(61) }] }), true);
  });

  it('excuses nothing where the path ends before its last field', () => {
    for (const a of [null, 5, 'x', [null, 5], {}, ago(61)])
      assert.equal(isExcused({ key: { 'a.at': 1 } }, { a }), false);
    assert.equal(isExcused({ key: { 'a.at': 1 } }, {}), false);
  });

  it('excuses nothing by an index with a filter', () => {
    assert.equal(isExcused({ partialFilterExpression: { x: 1 } }, { at: ago(61) }), false);
  });

  it('knows the expiry of clustered collections', () => {
    const rules = expiryRules({ expireAfterSeconds: 60 }, []);
    const excuse = expiryExcuse(rules, clocks);
    assert.equal(excuse(BSON.serialize({ _id: ago(61) }), 'destination'), true);
    assert.equal(excuse(BSON.serialize({ _id: ago(1) }), 'destination'), false);
    assert.deepEqual(expiryRules({}, []), []);
  });

  it('goes by the clocks of the sides that may have deleted it', () => {
    const rules = expiryRules({ expireAfterSeconds: 60 }, []);
    const excuse = expiryExcuse(rules, clocks);
    const { source: behind, destination: now } = clocks;
    const other = expiryExcuse(rules, { source: now, destination: behind });
    const [late, later] = [ago(61), ago(3_661)].map((_id) => BSON.serialize({ _id }));
    assert.ok(late && later);
    assert.deepEqual([excuse(late, 'destination'), excuse(late, 'source')], [true, false]);
    assert.deepEqual([excuse(later, 'destination'), excuse(later, 'source')], [true, true]);
    assert.deepEqual([other(late, 'destination'), other(late, 'source')], [true, true]);
  });
});

describe('clocksOf', () => {
  it('asks each side for its own', async () => {
    const sideAt = (ms: number): { readonly cluster: ClusterClient } => {
      const admin = playedAdmin(() => ({ ok: 1, localTime: new Date(ms) }));
      return { cluster: { admin } as unknown as ClusterClient };
    };
    const hourMs = 3_600_000;
    const { signal } = new AbortController();
    for (const aheadMs of [-hourMs, hourMs]) {
      const sides = { source: sideAt(nowMs), destination: sideAt(nowMs + aheadMs) };
      const { source, destination } = await clocksOf(sides, signal);
      assert.equal(destination() > source(), aheadMs > 0);
    }
  });
});

describe('offsetOf', () => {
  /** Asks a clock that is so far ahead, and whose answers take so long on their way back. */
  async function measured(aheadMs: number, ...takeMs: readonly number[]) {
    let time = nowMs;
    const left = [...takeMs];
    const offsetMs = await offsetOf(
      async () => {
        const theirs = time + aheadMs;
        time += left.shift() ?? 0;
        return await Promise.resolve(theirs);
      },
      () => time,
    );
    return { offsetMs, asked: takeMs.length - left.length };
  }

  it('is never more than how far the clock is ahead, and asks again after a late answer', async () => {
    assert.deepEqual(await measured(7_000, 0, 0), { offsetMs: 7_000, asked: 1 });
    assert.deepEqual(await measured(-7_000, 400, 0), { offsetMs: -7_400, asked: 1 });
    assert.deepEqual(await measured(7_000, 9_000, 30), { offsetMs: 6_970, asked: 2 });
    assert.deepEqual(await measured(0, 9_000, 4_000, 5_000, 0), { offsetMs: -4_000, asked: 3 });
  });
});
