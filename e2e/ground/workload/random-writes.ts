import type { Collection, Document } from 'mongodb';
import { randomFields, randomId, randomValue } from './random-documents.ts';
import type { SeededRandom } from './seeded-random.ts';

type Write = (collection: Collection, random: SeededRandom) => Promise<unknown>;

const paths = [
  'a',
  'b',
  'c',
  'nested.a',
  'nested.b.c',
  'list.0',
  'list.2',
  'zz',
  'new.deep.path',
  'Ü',
  '0',
] as const;

const filterOf = (random: SeededRandom): Document => ({ _id: randomId(random) });

const update =
  (make: (random: SeededRandom) => Document | Document[], upsert = false): Write =>
  async (collection, random) =>
    await collection.updateOne(filterOf(random), make(random), { upsert });

/** Writes of every form that a change event can carry, with their weights. */
export const randomWrites: readonly (readonly [number, Write])[] = [
  [
    10,
    async (collection, random) =>
      await collection.insertOne({ ...filterOf(random), ...randomFields(random) }),
  ],
  [
    4,
    async (collection, random) => {
      const documents = Array.from({ length: 20 }, () => ({
        ...filterOf(random),
        ...randomFields(random),
      }));
      return await collection.insertMany(documents, { ordered: false });
    },
  ],
  [8, update((random) => ({ $set: { [random.pick(paths)]: randomValue(random) } }))],
  [
    3,
    update((random) => ({
      $set: { zb: 1, za: 2, [random.pick(paths)]: randomValue(random), aa: random.below(9) },
    })),
  ],
  [4, update((random) => ({ $unset: { [random.pick(paths)]: '' } }))],
  [4, update((random) => ({ $inc: { number: random.below(5), 'nested.n': 1 } }))],
  [4, update((random) => ({ $push: { list: { $each: [randomValue(random)], $slice: -5 } } }))],
  [2, update(() => ({ $push: { list: { $each: [1, 2, 3], $position: 0, $slice: 4 } } }))],
  [2, update(() => ({ $pop: { list: 1 } }))],
  [2, update(() => ({ $set: { 'list.$[]': 7 } }))],
  [2, update((random) => ({ $rename: { a: random.pick(['renamed', 'zz', 'nested.r']) } }))],
  [
    3,
    update((random) => [
      { $set: { zz: '$a', computed: { $add: [random.below(9), 1] }, b: '$$REMOVE' } },
    ]),
  ],
  [
    2,
    update((random) => [
      {
        $replaceWith: { $setField: { field: 'dot.ted', input: '$$ROOT', value: random.below(9) } },
      },
    ]),
  ],
  [
    1,
    update(() => [
      {
        $replaceWith: { $setField: { field: { $literal: '$dollar' }, input: '$$ROOT', value: 1 } },
      },
    ]),
  ],
  [4, update((random) => ({ $set: { upserted: random.below(99) } }), true)],
  [
    5,
    async (collection, random) =>
      await collection.replaceOne(filterOf(random), randomFields(random), {
        upsert: random.chance(0.5),
      }),
  ],
  [
    2,
    async (collection, random) =>
      await collection.findOneAndUpdate(filterOf(random), { $set: { found: random.below(9) } }),
  ],
  [
    2,
    async (collection, random) =>
      await collection.updateOne(
        filterOf(random),
        { $set: { 'list.$[low]': random.below(9), 'nested.$[]': 1 } },
        { arrayFilters: [{ low: { $lt: 500 } }] },
      ),
  ],
  [
    2,
    async (collection, random) => {
      const set = { $set: { [random.pick(paths)]: randomValue(random) } };
      return await collection.bulkWrite(
        [
          { insertOne: { document: { ...filterOf(random), ...randomFields(random) } } },
          { updateOne: { filter: filterOf(random), update: set, upsert: true } },
          { deleteOne: { filter: filterOf(random) } },
          { updateMany: { filter: { number: { $lt: 50 } }, update: set } },
          { replaceOne: { filter: filterOf(random), replacement: randomFields(random) } },
        ],
        { ordered: random.chance(0.5) },
      );
    },
  ],
  [6, async (collection, random) => await collection.deleteOne(filterOf(random))],
  [
    1,
    async (collection, random) =>
      await collection.deleteMany({ number: { $lt: random.below(60) } }),
  ],
  [
    1,
    async (collection, random) =>
      await collection.updateMany({ number: { $gt: 400 } }, { $set: { many: random.below(99) } }),
  ],
  [
    2,
    async (collection, random) => {
      // Gone, and there again as another type of the same number.
      await collection.deleteOne(filterOf(random));
      return await collection.insertOne({ ...filterOf(random), again: true });
    },
  ],
];
