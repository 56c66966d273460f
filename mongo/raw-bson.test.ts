import assert from 'node:assert/strict';
import fc from 'fast-check';
import { BSON, Long } from 'mongodb';
import { arrayDocuments, elementsOf, idElement, RawWriter, stringValue } from './raw-bson.ts';

describe('RawWriter', () => {
  it('builds what the driver serializes', () => {
    // A prefix keeps the names apart and out of the order that JavaScript gives to integer keys.
    const names = fc
      .string()
      .filter((name) => !name.includes('\0'))
      .map((name) => `_${name}`);
    fc.assert(
      fc.property(
        names,
        fc.integer(),
        fc.boolean(),
        fc.jsonValue(),
        (name, number, flag, value) => {
          const source = BSON.serialize({ value });
          const [element] = elementsOf(source);
          assert.ok(element);
          const built = new RawWriter(16)
            .int32('n', number | 0)
            .begin(name)
            .boolean('flag', flag)
            .value('value', element)
            .end()
            .beginArray('list')
            .document('0', source)
            .end()
            .finish();
          assert.deepEqual(
            Buffer.from(built),
            Buffer.from(
              BSON.serialize({ n: number | 0, [name]: { flag, value }, list: [{ value }] }),
            ),
          );
        },
      ),
    );
  });

  it('refuses to finish with an open document', () => {
    assert.throws(() => new RawWriter().begin('a').finish(), /still open/);
  });
});

describe('elementsOf', () => {
  it('finds names and values, nested and in arrays', () => {
    const bytes = BSON.serialize({ _id: 'x', list: [{ a: 1 }, { a: Long.fromNumber(2) }] });
    const [id, list] = elementsOf(bytes);
    assert.ok(id && list);
    assert.equal(stringValue(id), 'x');
    assert.deepEqual(
      arrayDocuments(list).map((document) => BSON.deserialize(document)),
      [{ a: 1 }, { a: 2 }],
    );
  });
});

describe('idElement', () => {
  it('finds _id wherever it stands', () => {
    assert.equal(stringValue(idElement(BSON.serialize({ a: 1, _id: 'z' }))), 'z');
    assert.throws(() => idElement(BSON.serialize({ a: 1 })), /without _id/);
  });
});
