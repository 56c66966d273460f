import assert from 'node:assert/strict';
import { BSON, Int32 } from 'mongodb';
import { bsonType, elementsOf, RawWriter, type RawDocument } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';
import { decodeIndexSpec, decodeSpec, encodeSpec, isSameSpec } from './specification.ts';

const int32 = (value: number): Parameters<RawWriter['value']>[1] => {
  const [element] = elementsOf(BSON.serialize({ n: new Int32(value) }));
  assert.ok(element);
  return element;
};

/** Fields in an order that JavaScript does not keep, one of them twice. */
const odd: RawDocument = new RawWriter()
  .begin('key')
  .value('2', int32(1))
  .value('1', int32(-1))
  .value('b', int32(1))
  .value('b', int32(2))
  .end()
  .int32('v', 2)
  .finish();

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function elementOf(bytes: RawDocument, name: string): RawValue {
  const element = elementsOf(bytes).find((one) => one.name === name);
  assert.ok(element);
  return new RawValue(name, element);
}

describe('RawValue', () => {
  it('is sent as the bytes that it came in, at the top and deeper', () => {
    const key = elementOf(odd, 'key');
    const sent = BSON.serialize({ key, v: new Int32(2) });
    assert.equal(hex(sent), hex(odd));
    const [array] = elementsOf(BSON.serialize({ indexes: [{ key, v: new Int32(2) }] }));
    assert.ok(array);
    const [inner] = elementsOf(array.bytes, array.offset);
    assert.ok(inner);
    assert.equal(hex(inner.bytes.subarray(inner.offset, inner.offset + inner.length)), hex(odd));
  });

  it('keeps a type that has no JavaScript value, under a name beyond ASCII', () => {
    // A date 292 million years from now.
    const bytes = new RawWriter()
      .value('größe', { type: 0x09, bytes: Buffer.alloc(8, 0x7f), offset: 0, length: 8 })
      .finish();
    assert.equal(hex(BSON.serialize({ größe: elementOf(bytes, 'größe') })), hex(bytes));
  });

  it('refuses to stand under another name', () => {
    assert.throws(
      () => BSON.serialize({ other: elementOf(odd, 'key') }),
      /is written under another name/,
    );
  });
});

describe('specifications', () => {
  it('come back as the bytes that they were', () => {
    assert.equal(hex(encodeSpec(decodeSpec(odd))), hex(odd));
    const spec = BSON.serialize({
      v: new Int32(2),
      key: { a: 1.5, b: 'text' },
      name: 'a',
      sparse: true,
      partialFilterExpression: { a: { $gt: /^x/i }, $and: [{ 3: 1, 2: { 1: [1] } }] },
    });
    assert.equal(hex(encodeSpec(decodeIndexSpec(spec))), hex(spec));
  });

  it('keep strings that are not UTF-8 as bytes, and take no name that is none', () => {
    const text = Buffer.from([2, 0, 0, 0, 0xff, 0]);
    const odd = { type: bsonType.string, bytes: text, offset: 0, length: text.length };
    const key = BSON.serialize({ a: 1 });
    const spec = new RawWriter().document('key', key).string('name', 'a').value('x', odd).finish();
    assert.equal(hex(encodeSpec(decodeIndexSpec(spec))), hex(spec));
    const named = new RawWriter().document('key', key).value('name', odd).finish();
    assert.throws(() => decodeIndexSpec(named, { db: 'shop', coll: 'items' }), {
      name: 'NameNotSupported',
      message: 'not UTF-8 is the name of the index \u{fffd} of shop.items',
    });
  });

  it('do not hold the bytes that they were read from', () => {
    const bytes = Uint8Array.from(odd);
    const spec = decodeSpec(bytes);
    bytes.fill(0xff);
    assert.equal(hex(encodeSpec(spec)), hex(odd));
  });

  it('differ where the order of a key does', () => {
    const other = new RawWriter()
      .begin('key')
      .value('1', int32(-1))
      .value('2', int32(1))
      .end()
      .int32('v', 2)
      .finish();
    assert.equal(isSameSpec(decodeSpec(odd), decodeSpec(odd)), true);
    assert.equal(isSameSpec(decodeSpec(odd), decodeSpec(other)), false);
  });
});
