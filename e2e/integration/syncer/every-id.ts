import {
  Binary,
  BSONSymbol,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
  type Filter,
} from 'mongodb';

/** A value that the server takes for an `_id`. */
export type Id = string | number | boolean | object | null;

/** A document with an `_id` of any type. */
export interface Row {
  readonly _id: Id;
  readonly [field: string]: unknown;
}

/** The filter for one `_id`: the driver's own types know no ids of mixed types. */
export function byId(_id: Id): Filter<Row> {
  const filter: object = { _id };
  return filter;
}

/** An `_id` of every BSON type that the server takes for one, and of odd values of each. No two are equal to the server. */
export function idsOfEveryType(): Id[] {
  return [
    new MinKey(),
    null,
    new Double(NaN),
    new Double(-Infinity),
    Decimal128.fromString('-1E+6000'),
    Long.MIN_VALUE,
    new Double(-0.0),
    Decimal128.fromString('1E-6000'),
    new Int32(1),
    new Double(1.5),
    new Double(2),
    Long.fromNumber(3),
    Decimal128.fromString('4.00'),
    // Beyond the integers that doubles tell apart.
    Long.fromString('9007199254740993'),
    new Double(9007199254740992),
    Long.MAX_VALUE,
    Decimal128.fromString('9223372036854775808'),
    new Double(Infinity),
    '',
    ' ',
    'a',
    'A',
    'a\0b',
    'é',
    'e\u0301',
    '😀',
    new BSONSymbol('symbol'),
    {},
    { a: new Int32(1) },
    { a: new Int32(1), b: null },
    { b: null, a: new Int32(1) },
    { 'dotted.name': { deep: [1, [2, { three: new Decimal128('3') }]] } },
    new Binary(Buffer.alloc(0)),
    new Binary(Buffer.from([1, 2, 3]), 0),
    new Binary(Buffer.from([1, 2, 3]), 128),
    new UUID('00112233-4455-6677-8899-aabbccddeeff'),
    new ObjectId('000000000000000000000000'),
    new ObjectId('ffffffffffffffffffffffff'),
    false,
    true,
    new Date(-62135596800000),
    new Date(0),
    new Timestamp({ t: 0, i: 1 }),
    new Timestamp({ t: 4294967295, i: 4294967295 }),
    new Code('function () {}'),
    new Code('function () { return x }', { x: new Int32(1) }),
    new MaxKey(),
  ];
}
