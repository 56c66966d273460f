import { Code, Decimal128, Double, Int32, Long, type Collection, type Document } from 'mongodb';
import { byId, idsOfEveryType, type Row } from './every-id.ts';

export type Rows = Collection<Row>;

/** Changes of documents: what is there before the sync, and what is done once change events are applied. */
export interface DocumentChangeCase {
  readonly before?: readonly Row[];
  readonly change: (rows: Rows) => Promise<unknown>;
}

const list = [1, 2, 3, 4, 5, { deep: [10, 20, 30] }];

const increase = (by: number): Document => ({ $inc: { n: by } });

const update =
  (...updates: (Document | Document[])[]): DocumentChangeCase['change'] =>
  async (rows) => {
    for (const one of updates) await rows.updateMany({}, one);
  };

/** Changes of documents of every form that a change event can carry, by what they are. */
export const documentChanges: Readonly<Record<string, DocumentChangeCase>> = {
  insert: {
    change: async (rows) => await rows.insertMany([{ _id: 1 }, { _id: 'two' }]),
  },
  'insert of an empty document, and of one with null': {
    change: async (rows) => {
      await rows.insertOne({ _id: {} });
      await rows.insertOne({ _id: null, n: null });
    },
  },
  replace: {
    before: [{ _id: 1, a: 1, b: 2 }],
    change: async (rows) => await rows.replaceOne(byId(1), { b: new Int32(3), c: 4 }),
  },
  'replace by a document with dollar and dotted field names': {
    before: [{ _id: 1 }],
    change: async (rows) =>
      await rows.updateOne(byId(1), [
        { $replaceWith: { $literal: { _id: 1, 'a.b': 1, x: { $inc: 5, 'c.d': [{ $set: 1 }] } } } },
      ]),
  },
  'insert of dollar field names at the top': {
    change: async (rows) => await rows.insertOne({ _id: 1, $price: 5, $set: { a: 1 } }),
  },
  delete: {
    before: [{ _id: 1 }, { _id: 2 }],
    change: async (rows) => await rows.deleteOne(byId(1)),
  },
  'delete, insert, update and delete again of the same _id': {
    before: [{ _id: 1 }, { _id: 2 }],
    change: async (rows) => {
      for (const n of [1, 2, 3]) {
        await rows.deleteOne(byId(1));
        await rows.insertOne({ _id: 1, n });
        await rows.updateOne(byId(1), increase(10));
      }
      await rows.deleteOne(byId(2));
    },
  },
  'update: new fields, in their order': {
    before: [{ _id: 1, m: 1 }],
    change: update({ $set: { z: 1 } }, { $set: { b: 1, a: 2 } }, { $set: { 10: 1, 9: 1 } }),
  },
  'update: changed and removed fields': {
    before: [{ _id: 1, a: 1, b: { c: 1, d: 2 }, e: [] }],
    change: update({ $unset: { a: '' } }, { $set: { 'b.c': 'text' }, $unset: { 'b.d': '' } }),
  },
  'update: a field removed and set again goes to the end': {
    before: [{ _id: 1, a: 1, b: 2 }],
    change: update({ $unset: { a: '' } }, { $set: { a: 1 } }),
  },
  'update: the type of a number alone': {
    before: [{ _id: 1, a: new Int32(1), b: new Double(2), c: 0 }],
    change: update({ $set: { a: new Double(1), b: Long.fromNumber(2), c: new Double(-0) } }),
  },
  'update: elements of arrays by position': {
    before: [{ _id: 1, list }],
    change: update(
      { $set: { 'list.1': 'two', 'list.5.deep.0': -10 } },
      { $unset: { 'list.2': 1 } },
    ),
  },
  'update: an element far beyond the end of an array': {
    before: [{ _id: 1, list: [1] }],
    change: update({ $set: { 'list.5': 6 } }),
  },
  'update: push, pull, pop and slice of arrays': {
    before: [{ _id: 1, list, other: [3, 1, 2], third: [1, 2, 3, 4, 5, 6, 7, 8] }],
    change: update(
      { $push: { list: { $each: [7, 8], $position: 1 } } },
      { $pull: { list: 3 } },
      { $pop: { list: 1 } },
      { $push: { other: { $each: [0], $sort: 1, $slice: 2 } } },
      { $push: { third: { $each: [], $slice: 3 } } },
    ),
  },
  'update: an array cut off and changed at once': {
    before: [{ _id: 1, list: Array.from({ length: 50 }, (_, n) => ({ n, text: 'x'.repeat(50) })) }],
    change: update([
      { $set: { list: { $slice: ['$list', 20] } } },
      { $set: { 'list.n': 'the same for all' } },
    ]),
  },
  'update: an array becomes a document, a number, nothing': {
    before: [{ _id: 1, a: [1], b: [1], c: [1], d: { 0: 1 }, e: null }],
    change: update({
      $set: { a: { 0: 1 }, b: 1, c: null, d: [1], e: [{ f: 1 }] },
    }),
  },
  'update: paths through numbers as field names': {
    before: [{ _id: 1, a: { 0: 'x' }, b: ['x'] }],
    change: update({ $set: { 'a.0': 'y', 'a.1': 'z', 'b.0': 'y', 'b.1': 'z' } }),
  },
  'update: fields with dots and dollars in their names': {
    before: [{ _id: 1, 'a.b': 1, nested: { 'c.d': { e: 1 }, $f: 2 } }],
    change: update(
      [{ $replaceWith: { $setField: { field: 'a.b', input: '$$ROOT', value: 2 } } }],
      [
        {
          $replaceWith: {
            $setField: {
              field: 'nested',
              input: '$$ROOT',
              value: {
                $setField: {
                  field: { $literal: '$f' },
                  input: '$nested',
                  value: { $literal: { 'g.h': 1 } },
                },
              },
            },
          },
        },
      ],
      [{ $replaceWith: { $unsetField: { field: 'a.b', input: '$$ROOT' } } }],
    ),
  },
  'update: rename, multiply, min, max, bits, dates': {
    before: [{ _id: 1, a: 1, b: new Decimal128('1.10'), c: 5, d: 5, e: 12, f: 0 }],
    change: update({
      $rename: { a: 'z' },
      $mul: { b: new Int32(3) },
      $min: { c: 1 },
      $max: { d: 9 },
      $bit: { e: { xor: new Int32(5) } },
      $currentDate: { f: true },
    }),
  },
  'update: by a pipeline, of every document': {
    before: Array.from({ length: 300 }, (_, _id) => ({ _id, a: _id, b: { c: [_id] } })),
    change: update([
      { $set: { sum: { $add: ['$a', 1] }, 'b.d': '$a' } },
      { $unset: 'a' },
      { $set: { b: { $mergeObjects: [{ first: 1 }, '$b'] } } },
    ]),
  },
  'update: hundreds of times of the same document': {
    before: [{ _id: 1, n: 0, list: [] }],
    change: async (rows) => {
      for (let n = 0; n < 200; n++)
        await rows.updateOne(byId(1), { ...increase(1), $addToSet: { list: n } } as Document);
    },
  },
  'upsert and findAndModify': {
    before: [{ _id: 1 }],
    change: async (rows) => {
      await rows.updateOne(byId('new'), { $set: { a: 1 } }, { upsert: true });
      await rows.findOneAndUpdate(byId(1), { $set: { b: 1 } });
      await rows.findOneAndReplace(byId('new'), { c: 1 });
      await rows.findOneAndDelete(byId(1));
    },
  },
  'documents and updates of nearly 16 MiB': {
    before: [{ _id: 1, filler: 'x'.repeat(15 * 1024 * 1024) }],
    change: async (rows) => {
      await rows.updateOne(byId(1), { $set: { more: 'y'.repeat(700_000) } });
      await rows.insertOne({ _id: 2, filler: 'z'.repeat(15.9e6) });
    },
  },
  'a document nested 90 deep': {
    before: [{ _id: 1 }],
    change: update({
      $set: { deep: Array.from({ length: 90 }).reduce((inner) => ({ a: inner }), 'leaf') },
    }),
  },
  '_id of every type: changed and deleted': {
    before: idsOfEveryType().map((_id) => ({ _id, n: 1 })),
    change: async (rows) => {
      await rows.updateMany({}, increase(1));
      for (const [index, _id] of idsOfEveryType().entries())
        if (index % 3 === 0) await rows.deleteOne(byId(_id));
    },
  },
  '_id of every type: inserted': {
    change: async (rows) => await rows.insertMany(idsOfEveryType().map((_id) => ({ _id }))),
  },
  'one number as _id, deleted and inserted again as another type': {
    before: [{ _id: new Int32(1) }, { _id: new Double(2) }, { _id: Long.fromNumber(3) }],
    change: async (rows) => {
      const types = [
        (n: number) => new Double(n),
        (n: number) => Long.fromNumber(n),
        (n: number) => Decimal128.fromString(`${n}.00`),
        (n: number) => new Int32(n),
        (n: number) => Decimal128.fromString(`${n}`),
      ];
      for (const as of types) {
        for (const n of [1, 2, 3]) {
          await rows.deleteOne(byId(n));
          await rows.insertOne({ _id: as(n), n });
          await rows.updateOne(byId(n), { $set: { n: -n } });
        }
      }
    },
  },
  'a transaction over two collections': {
    before: [{ _id: 1, n: 0 }],
    change: async (rows) => {
      const other = rows.db.collection<Row>('other');
      await rows.db.client.withSession(async (session) => {
        await session.withTransaction(async () => {
          await rows.updateOne(byId(1), { $set: { n: 1 } }, { session });
          await other.insertOne({ _id: 1 }, { session });
          await rows.insertOne({ _id: 2 }, { session });
          await other.deleteOne(byId('there'), { session });
        });
      });
    },
  },
  'update: under a path that has become a scalar, an array, nothing since': {
    before: [
      { _id: 1, a: { b: { c: 1 } }, d: [{ e: 1 }, { e: 2 }], f: { 0: { g: 1 } } },
      { _id: 2, a: 1, d: 2 },
    ],
    change: async (rows) => {
      for (const one of [
        { $set: { 'a.b.c': 2, 'd.1.e': 3, 'f.0.g': 2 } },
        { $set: { a: 5, d: 'text', f: [{ g: 3 }] } },
        { $unset: { a: '', d: '' } },
        { $set: { 'a.b': [1], 'd.1.e': 4, 'f.0.g': 4 } },
        { $set: { a: null, f: null } },
        { $set: { d: [{ e: [1, 2, 3] }] } },
        { $push: { 'd.0.e': { $each: [], $slice: 1 } } },
      ] as Document[])
        await rows.updateOne(byId(1), one);
      await rows.updateOne(byId(2), [{ $set: { 'a.b': 1, 'd.0': 2 } }]);
      await rows.updateOne(byId(2), { $set: { a: [[1, 2], [3]], d: { 0: { 1: 2 } } } });
      await rows.updateOne(byId(2), { $set: { 'a.0.1': 'x', 'a.2': [9], 'd.0.1': 'y' } });
      await rows.updateOne(byId(2), { $unset: { 'a.1': '', 'd.0': '' } });
    },
  },
  'update: paths that name both a dotted field and a nested one': {
    before: [
      { _id: 1, 'a.b': 1, a: { b: 2, 'c.d': { 0: 'x' }, c: { d: ['x'] } }, '0': { '1.2': 3 } },
    ],
    change: update(
      { $set: { 'a.b': 3, 'a.c.d.0': 'y' } },
      [
        { $set: { '0': { $setField: { field: '1.2', input: '$0', value: [1, 2, 3] } } } },
        {
          $replaceWith: {
            $setField: { field: 'a.b', input: '$$ROOT', value: { $literal: { 'e.f': 1 } } },
          },
        },
      ],
      { $unset: { 'a.b': '' } },
      { $push: { 'a.c.d': 'z' } },
      [{ $set: { '0': { $setField: { field: '1.2', input: '$0', value: [1] } } } }],
    ),
  },
  'update: with arrayFilters, all elements, the first that matches': {
    before: [
      { _id: 1, list: [1, 5, 9], deep: [{ n: 1, in: [1, 2] }, { n: 2, in: [3] }, { n: 3 }] },
    ],
    change: async (rows) => {
      const arrayFilters = [{ low: { $lt: 6 } }];
      await rows.updateOne(byId(1), { $set: { 'list.$[low]': 0 } }, { arrayFilters });
      await rows.updateOne(byId(1), { $inc: { 'deep.$[].n': 10 } } as Document);
      await rows.updateOne(byId(1), { $push: { 'deep.$[some].in': 7 } } as Document, {
        arrayFilters: [{ 'some.in': { $exists: true } }],
      });
      await rows.updateOne({ _id: 1, 'deep.n': 12 } as Document, { $set: { 'deep.$.n': 'found' } });
      await rows.updateOne(byId(1), { $pullAll: { list: [0] } } as Document);
    },
  },
  'update: that changes nothing': {
    before: [{ _id: 1, a: 1, list: [1] }],
    change: update(
      { $set: { a: 1 } },
      { $unset: { missing: '' } },
      { $addToSet: { list: 1 } },
      [{ $set: { a: '$a' } }],
      { $rename: { missing: 'there' } },
      { $min: { a: 5 } },
    ),
  },
  'update: dates and timestamps by the server, code, long strings': {
    before: [{ _id: 1, c: 'x'.repeat(1000) }],
    change: async (rows) => {
      await rows.updateOne(byId(1), {
        $currentDate: { date: true, 'in.time': { $type: 'timestamp' } },
      } as Document);
      await rows.updateOne(byId(1), [{ $set: { now: '$$NOW', cluster: '$$CLUSTER_TIME' } }]);
      const code = new Code('function () {}', { a: 1 });
      await rows.updateOne(byId(1), { $set: { code, c: 'y'.repeat(100_000) } });
    },
  },
  'bulkWrite of every kind, ordered and not': {
    before: Array.from({ length: 10 }, (_, _id) => ({ _id, n: _id })),
    change: async (rows) => {
      for (const ordered of [true, false]) {
        const shift = ordered ? 0 : 5;
        await rows.bulkWrite(
          [
            { insertOne: { document: byId(`new ${shift}`) as never } },
            { updateOne: { filter: byId(shift), update: { $set: { b: 1 } } } },
            { updateMany: { filter: {}, update: [{ $set: { m: '$n' } }] } },
            { replaceOne: { filter: byId(shift + 1), replacement: { r: 1 }, upsert: true } },
            { replaceOne: { filter: byId(shift + 100), replacement: { r: 2 }, upsert: true } },
            { deleteOne: { filter: byId(shift + 2) } },
            { deleteMany: { filter: { n: shift + 3 } } },
          ],
          { ordered },
        );
      }
    },
  },
  'findAndModify: upsert, remove, by a pipeline, with a sort': {
    before: [
      { _id: 1, n: 1 },
      { _id: 2, n: 2 },
      { _id: 3, n: 3 },
    ],
    change: async (rows) => {
      await rows.findOneAndUpdate(
        byId('new'),
        { $setOnInsert: { a: 1 } },
        {
          upsert: true,
        },
      );
      await rows.findOneAndUpdate({}, [{ $set: { top: '$n' } }], { sort: { n: -1 } });
      await rows.findOneAndReplace({}, { replaced: true }, { sort: { n: 1 }, upsert: true });
      await rows.findOneAndDelete({ n: 2 });
    },
  },
  'a transaction that takes several entries of the oplog': {
    before: [{ _id: 1, n: 0 }],
    change: async (rows) => {
      const filler = 'x'.repeat(3_000_000);
      await rows.db.client.withSession(async (session) => {
        await session.withTransaction(async () => {
          for (let n = 0; n < 7; n++) {
            await rows.insertOne({ _id: `large ${n}`, filler }, { session });
            await rows.updateOne(byId(1), increase(1), { session });
          }
          await rows.deleteMany({ _id: { $in: ['large 1', 'large 2'] } } as Document, { session });
          await rows.updateMany({}, { $set: { filler: 'small' } }, { session });
        });
      });
    },
  },
  'a transaction that is aborted': {
    before: [{ _id: 1, n: 0 }],
    change: async (rows) => {
      await rows.db.client.withSession(async (session) => {
        session.startTransaction();
        await rows.insertOne({ _id: 2 }, { session });
        await session.abortTransaction();
      });
      await rows.insertOne({ _id: 3 });
    },
  },
};
