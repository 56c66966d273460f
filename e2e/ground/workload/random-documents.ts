import {
  Binary,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
  type Document,
} from 'mongodb';
import type { SeededRandom } from './seeded-random.ts';

/** A few ids of each number, so that the same id comes again as another type. */
const distinctIds = 40;

/** An `_id` out of a small set of all types, so that writers meet on the same documents. */
export function randomId(random: SeededRandom): unknown {
  const number = random.below(distinctIds);
  const hex = number.toString(16).padStart(24, '0');
  return random.pick([
    () => new Int32(number),
    () => new Double(number),
    () => Long.fromNumber(number),
    () => Decimal128.fromString(`${number}.0`),
    () => new Double(number + 0.5),
    () => `id-${number}`,
    () => `ID-${number}`,
    () => new ObjectId(hex),
    () => ({ a: new Int32(number), b: { c: `x${number}` } }),
    () => ({ a: new Double(number), b: { c: `x${number}` } }),
    () => new Date(number * 1000),
    () => number % 2 === 0,
    () => new Binary(Buffer.from(hex, 'hex'), 0),
    () => new UUID(Buffer.from(hex.padStart(32, '0'), 'hex')),
    () => new Timestamp({ t: number + 1, i: 1 }),
    () => (number === 0 ? null : `null-${number}`),
    () =>
      number === 0
        ? new MinKey()
        : number === 1
          ? new MaxKey()
          : new Double(number === 2 ? NaN : -number),
  ])();
}

/** A value of any type, nested at times. */
export function randomValue(random: SeededRandom, depth = 0): unknown {
  return random.weighted<() => unknown>([
    [4, () => random.below(1000)],
    [2, () => random.next() * 1e6],
    [2, () => `text ${random.below(1e6)} ${'é'.repeat(random.below(30))}`],
    [1, () => null],
    [1, () => random.chance(0.5)],
    [1, () => new Date(1.6e12 + random.below(1e9))],
    [1, () => Decimal128.fromString(`${random.below(1e6)}E-${random.below(5)}`)],
    [1, () => Long.fromNumber(random.below(2 ** 31) * 1024)],
    [1, () => new Double(random.pick([-0, NaN, Infinity, 1]))],
    [depth > 2 ? 0 : 2, () => randomFields(random, depth + 1)],
    [
      depth > 2 ? 0 : 2,
      () => Array.from({ length: random.below(6) }, () => randomValue(random, depth + 1)),
    ],
  ])();
}

/** Fields of a document without `_id`, in random order. */
export function randomFields(random: SeededRandom, depth = 0): Document {
  const names = ['a', 'b', 'c', 'list', 'nested', 'zz', 'x.y', 'a-b', 'Ü', '0', 'n1'];
  const fields: Document = {};
  for (let count = random.below(6); count > 0; count--) {
    const name = random.pick(names);
    // Ordinary paths in updates would go through a dotted name.
    if (depth === 0 && name === 'x.y') continue;
    fields[name] = randomValue(random, depth);
  }
  if (depth === 0) {
    fields['number'] = random.below(500);
    fields['at'] = new Date();
    if (random.chance(0.3)) fields['text'] = `word${random.below(50)} other${random.below(9)}`;
    if (random.chance(0.1)) fields['filler'] = 'f'.repeat(random.below(3000));
  }
  return fields;
}
