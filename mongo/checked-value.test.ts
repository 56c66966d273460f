import assert from 'node:assert/strict';
import { Binary, Double, Int32, Long, ObjectId, Timestamp, UUID } from 'mongodb';
import { checkedAnswer, checkedRow, type CheckedValue } from './checked-value.ts';
import { MalformedAnswer } from './malformed-answer.ts';

type Reader = (value: CheckedValue) => unknown;

const uuid = new UUID();
const time = new Timestamp({ t: 1, i: 2 });
const date = new Date(7);
const id = new ObjectId();

/** By reader: what it accepts, and what it returns. */
const readers: Readonly<
  Record<string, readonly [Reader, readonly (readonly [unknown, unknown])[]]>
> = {
  text: [(value) => value.text(), [['x', 'x']]],
  boolean: [(value) => value.boolean(), [[false, false]]],
  number: [
    (value) => value.number(),
    [
      [1.5, 1.5],
      [new Double(2.5), 2.5],
    ],
  ],
  integer: [
    (value) => value.integer(),
    [
      [-1, -1],
      [new Int32(-1), -1],
    ],
  ],
  count: [
    (value) => value.count(),
    [
      [0, 0],
      [Long.fromNumber(9), 9],
      [9n, 9],
    ],
  ],
  date: [(value) => value.date(), [[date, date]]],
  timestamp: [(value) => value.timestamp(), [[time, time]]],
  objectId: [(value) => value.objectId(), [[id, id]]],
  uuid: [
    (value) => value.uuid().toHexString(),
    [
      [uuid, uuid.toHexString()],
      [new Binary(uuid.buffer, 4), uuid.toHexString()],
    ],
  ],
  list: [(value) => value.list().length, [[[1, 2], 2]]],
  document: [(value) => Object.keys(value.document()), [[{ a: 1 }, ['a']]]],
  oneOf: [(value) => value.oneOf(['x', 'y']), [['x', 'x']]],
};

/** Values of every kind, none of which is accepted by a reader for another kind. */
const strangers: readonly unknown[] = [
  ...[
    null,
    undefined,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    'z',
    true,
    1e300,
    -3.5,
    Symbol.iterator,
  ],
  ...[new Date(Number.NaN), new Binary(Uint8Array.of(1), 4), new Binary(uuid.buffer, 0)],
  ...[[], {}, time, id, uuid, date, Long.MAX_VALUE, new Int32(-5)],
];

const takes: Readonly<Record<string, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  number: (value) =>
    (typeof value === 'number' && Number.isFinite(value)) ||
    (value instanceof Long && !(value instanceof Timestamp)) ||
    value instanceof Int32,
  integer: (value) => value instanceof Int32,
  count: () => false,
  date: (value) => value === date,
  timestamp: (value) => value === time,
  objectId: (value) => value === id,
  uuid: (value) => value === uuid,
  list: (value) => Array.isArray(value),
  document: (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype,
  oneOf: () => false,
};

describe('CheckedValue', () => {
  for (const [name, [read, cases]] of Object.entries(readers)) {
    it(`reads as ${name} what is so`, () => {
      for (const [value, expected] of cases)
        assert.deepEqual(read(checkedRow({ a: value }, 'x').field('a')), expected);
    });

    it(`reads as ${name} nothing else`, () => {
      for (const stranger of strangers) {
        if (takes[name]?.(stranger) === true) continue;
        assert.throws(
          () => read(checkedRow({ a: stranger }, 'x').field('a')),
          MalformedAnswer,
          `${name} of ${String(stranger)}`,
        );
      }
    });
  }

  it('names the server, the command and the field', () => {
    const answer = checkedAnswer(
      { a: { b: [{}, { c: 'x' }] } },
      { collStats: 'items' },
      'db1:27017',
    );
    const entries = answer.field('a').field('b').list();
    assert.throws(() => entries[0]?.field('c'), {
      message: 'db1:27017 has sent an answer to collStats without a.b.0.c',
    });
    assert.throws(() => entries[1]?.field('c').count(), {
      message: 'db1:27017 has sent an answer to collStats whose a.b.1.c is not a number',
    });
    assert.throws(() => answer.field('a').field('b').text(), /whose a\.b is not a string/);
  });

  it('tells what is missing from what is null', () => {
    const row = checkedRow({ none: null, some: 1 }, 'a row');
    assert.equal(row.optional('none'), undefined);
    assert.equal(row.optional('missing'), undefined);
    assert.equal(row.orNull('none'), null);
    assert.equal(row.orNull('some')?.count(), 1);
    assert.throws(() => row.orNull('missing'), /a row without missing/);
    assert.throws(() => row.field('none'), /a row without none/);
    assert.throws(() => row.field('toString'), /a row without toString/);
  });
});
