import assert from 'node:assert/strict';
import { BSON, Int32, type Document } from 'mongodb';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { expiryExcuse, expiryRules } from './expiry.ts';

const nowMs = 1_000_000_000_000;

function isExcused(index: Document, document: Document, options: Document = {}): boolean {
  const spec = { name: 'i', key: { at: 1 }, expireAfterSeconds: new Int32(60), ...index };
  const indexes = [decodeIndexSpec(BSON.serialize(spec))];
  return expiryExcuse(expiryRules(options, indexes), () => nowMs)(BSON.serialize(document));
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
    const excuse = expiryExcuse(rules, () => nowMs);
    assert.equal(excuse(BSON.serialize({ _id: ago(61) })), true);
    assert.equal(excuse(BSON.serialize({ _id: ago(1) })), false);
    assert.deepEqual(expiryRules({}, []), []);
  });
});
