import assert from 'node:assert/strict';
import { BSON, type Document } from 'mongodb';
import { decodeIndexSpec } from '../../mongo/specification.ts';
import { whyRefused } from './check-catalog.ts';

describe('whyRefused', () => {
  const refusal = (spec: Document, version: string): string | undefined =>
    whyRefused(decodeIndexSpec(BSON.serialize({ v: 2, name: 'i', ...spec })), version);

  it('knows that 7.0 refuses a TTL index that expires after NaN seconds, and 6.0 does not', () => {
    const spec = { key: { t: 1 }, expireAfterSeconds: NaN };
    assert.match(refusal(spec, '7.0.28') ?? '', /NaN, which MongoDB 7\.0\.28 refuses/);
    assert.match(refusal(spec, '10.0.0') ?? '', /NaN/);
    assert.equal(refusal(spec, '6.0.27'), undefined);
  });

  it('knows a type of index that old servers had', () => {
    assert.match(refusal({ key: { p: 'geoHaystack', k: 1 } }, '6.0.5') ?? '', /geoHaystack/);
  });

  it('takes any other', () => {
    for (const spec of [
      { key: { a: 1, b: -1 }, unique: true },
      { key: { t: 1 }, expireAfterSeconds: 0 },
      { key: { t: 1 }, expireAfterSeconds: new BSON.Int32(60) },
      { key: { p: '2dsphere' } },
      { key: { 'a.$**': 1 } },
    ])
      assert.equal(refusal(spec, '8.0.4'), undefined, JSON.stringify(spec));
  });
});
