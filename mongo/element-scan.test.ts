import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON } from 'mongodb';
import { ElementPicker } from './element-scan.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { elementsOf } from './raw-bson.ts';

describe('ElementPicker', () => {
  const names = ['_id', 'a', 'ab', 'operationType', 'ü'] as const;
  const picker = new ElementPicker(names);

  it('finds what a full parse finds, in any order and among other names', () => {
    const name = fc.oneof(
      fc.constantFrom(...names),
      fc.string().filter((text) => !text.includes('\0') && text !== '__proto__'),
    );
    fc.assert(
      fc.property(fc.dictionary(name, fc.jsonValue()), (object) => {
        const bytes = BSON.serialize(object);
        const expected = elementsOf(bytes).filter((element) =>
          (names as readonly string[]).includes(element.name),
        );
        assert.deepEqual(picker.pick(bytes), Object.fromEntries(expected.map((e) => [e.name, e])));
      }),
    );
  });

  it('reads a document that begins further on', () => {
    const bytes = BSON.serialize({ before: 1, inner: { _id: 7, other: { a: 1 } } });
    const [, inner] = elementsOf(bytes);
    assert.ok(inner);
    const { _id, a } = picker.pick(bytes, inner.offset);
    assert.equal(_id && Buffer.from(bytes).readInt32LE(_id.offset), 7);
    assert.equal(a, undefined);
  });

  it('refuses a type that there is none of', () => {
    assert.throws(() => picker.pick(Buffer.from([8, 0, 0, 0, 0x55, 0x61, 0, 0])), /BSON type 85/);
  });

  it('finds its way out of any bytes', () => {
    const bytes = fc.uint8Array({ minLength: 5, maxLength: 40 });
    const type = fc.constantFrom(2, 3, 5, 0x0b, 0x0c, 0x0f);
    fc.assert(
      fc.property(bytes, type, (random, begin) => {
        random[4] = begin;
        try {
          picker.pick(random);
        } catch (error) {
          assert.ok(error instanceof MalformedAnswer, String(error));
        }
      }),
      { numRuns: 5_000 },
    );
  });
});
