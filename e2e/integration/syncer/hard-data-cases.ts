import {
  BSONRegExp,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  Timestamp,
  type Db,
  type Document,
} from 'mongodb';
import { hasOption } from '../../../mongo/server-features.ts';
import { mongodRelease } from '../../ground/mongod/mongod-process.ts';
import type { Row } from './every-id.ts';
import type { RawFields } from './raw-documents.ts';
import {
  deleteRaw,
  insertRaw,
  raw,
  RawDate,
  RawText,
  rawValue,
  updateRaw,
} from './raw-documents.ts';

/** When it is written: before the sync, during the copy, or while change events are applied. */
export type Phase = 0 | 1 | 2;

export type HardCase = (db: Db, phase: Phase) => Promise<unknown>;

const set = (fields: RawFields): RawFields => raw(['$set', fields]);

/** Inserts a document for each value of a kind, and changes, replaces and deletes those of the phase before. */
async function writeIds(db: Db, phase: Phase, idOf: (n: number) => unknown): Promise<void> {
  const [first, last] = [phase * 4, phase * 4 + 3];
  for (let n = first; n <= last; n++) await insertRaw(db, 'rows', raw(['_id', idOf(n)], ['n', n]));
  if (phase === 0) return;
  await updateRaw(db, 'rows', idOf(first - 1), set(raw(['changed', phase])));
  await updateRaw(db, 'rows', idOf(first - 2), raw(['replaced', phase]));
  await deleteRaw(db, 'rows', idOf(first - 3));
}

const ids =
  (idOf: (n: number) => unknown): HardCase =>
  async (db, phase) => {
    await writeIds(db, phase, idOf);
  };

/** One number in every type. */
const numberTypes: readonly ((n: number) => unknown)[] = [
  (n) => new Int32(n),
  (n) => new Double(n),
  (n) => Long.fromNumber(n),
  (n) => Decimal128.fromString(`${n}.0`),
  (n) => Decimal128.fromString(`${n}.00`),
  (n) => Decimal128.fromString(`${n}`),
];

const zeroTime = new Timestamp({ t: 0, i: 0 });

/** The keys say what is hard about the data. */
export const hardCases: Readonly<Record<string, HardCase>> = {
  'ids that are documents with numbers as field names': ids((n) =>
    raw(['2', n], ['1', raw(['b', 1], ['10', 1], ['9', 1])]),
  ),
  'ids that are documents with a field twice': ids((n) => raw(['a', n], ['a', -n])),
  'ids that are not UTF-8': ids((n) => new RawText(0x61, 0xff, 0xc0, n + 1)),
  'ids with field names that are not UTF-8': ids((n) =>
    raw([Buffer.from([0xff, n + 1]), new RawText(0xed, 0xa0, 0x80)]),
  ),
  'ids that are dates beyond JavaScript': ids((n) => new RawDate(2n ** 62n + BigInt(n))),
  'ids that are code with a scope': ids((n) => new Code('f', { n: new Int32(n) })),
  'ids that are documents with a regular expression': ids((n) =>
    raw(['r', new BSONRegExp(`^x${n}`, 'ix')]),
  ),
  'ids that are references to documents': ids((n) =>
    n % 2 === 0
      ? raw(['$ref', 'rows'], ['$id', n])
      : raw(['$ref', 'rows'], ['$id', n], ['$db', 'x'], ['more', 1]),
  ),
  'ids of 100 KiB': ids((n) => `${'long'.repeat(25_000)}${n}`),
  'ids at the ends of the order, and that are no numbers': async (db, phase) => {
    const odd = [new MinKey(), new Double(NaN), new Double(-0), null, zeroTime, new MaxKey()];
    if (phase === 0) await insertRaw(db, 'rows', ...odd.map((_id) => raw(['_id', _id], ['n', 0])));
    for (const _id of odd) await updateRaw(db, 'rows', _id, set(raw([`n${phase}`, phase])));
    if (phase === 0) return;
    for (const [from, to] of [
      [NaN, Decimal128.fromString('NaN')],
      [0, phase === 1 ? new Int32(0) : Decimal128.fromString('-0.000')],
    ] as const) {
      await deleteRaw(db, 'rows', from);
      await insertRaw(db, 'rows', raw(['_id', to], ['n', phase]));
    }
  },
  'a number as id, again and again as another type': async (db, phase) => {
    for (const [index, as] of numberTypes.entries()) {
      for (let n = 1; n <= 3; n++) {
        if (phase + index > 0) await deleteRaw(db, 'rows', n);
        await insertRaw(db, 'rows', raw(['_id', as(n)], ['phase', phase], ['n', n]));
        await updateRaw(db, 'rows', n, set(raw(['index', index])));
        // The same number inside of a document.
        if (phase + index > 0) await deleteRaw(db, 'rows', raw(['n', n]));
        await insertRaw(db, 'rows', raw(['_id', raw(['n', as(n)])], ['phase', phase]));
        if (phase + index > 0) await deleteRaw(db, 'rows', new Code('f', { n: new Int32(n) }));
        await insertRaw(db, 'rows', raw(['_id', new Code('f', { n: as(n) })]));
      }
    }
  },
  'fields that are there twice': async (db, phase) => {
    const inner = raw(['x', 1], ['x', 2]);
    await insertRaw(db, 'rows', raw(['_id', phase], ['a', 1], ['in', inner], ['a', 'two']));
    if (phase > 0) await updateRaw(db, 'rows', phase - 1, set(raw(['b', inner])));
  },
  'text and field names that are not UTF-8': async (db, phase) => {
    const text = new RawText(0xff, 0xfe, 0x80 + phase);
    const name = Buffer.from([0xc3, 0x28, 0x30 + phase]);
    await insertRaw(db, 'rows', raw(['_id', phase], [name, text], ['in', raw([name, text])]));
    if (phase > 0) await updateRaw(db, 'rows', phase - 1, set(raw(['b', text], [name, 1])));
  },
  'the timestamp that servers replace': async (db, phase) => {
    const document = raw(['_id', phase], ['z', zeroTime], ['in', raw(['z', zeroTime])], ['$d', 1]);
    const plain = raw(['_id', `${phase}`], ['z', zeroTime]);
    for (const [id, one] of [
      [phase, document],
      [`${phase}`, plain],
    ] as const) {
      const pipeline = [{ $replaceWith: { $literal: rawValue('$literal', one) } }];
      const u = { q: { _id: id }, u: pipeline, upsert: true };
      await db.command({ update: 'rows', updates: [u] });
    }
    if (phase > 0) await updateRaw(db, 'rows', phase - 1, set(raw(['later', zeroTime])));
  },
  'numbers, dots and dollars as field names': async (db, phase) => {
    const odd = raw(['2', 1], ['1', 2], ['a.b', raw(['$c', 1], ['.', 2])], ['', 3], ['$x', 1]);
    await insertRaw(db, 'rows', raw(['_id', phase], ['in', odd], ['10', 1], ['9', 2], ['$d', 1]));
    if (phase > 0)
      await updateRaw(db, 'rows', phase - 1, set(raw(['8', odd], ['7', 1], ['in.1', 'x'])));
  },
  'numbers as names in keys, validators, views and options': async (db, phase) => {
    const name = `c${phase}`;
    const fields = raw(['2', 1], ['1', -1], ['b', 1], ['0', 1]);
    const validator = raw(['2', raw(['$gte', 0])], ['1', raw(['$type', 'number'])]);
    await db.command({ create: name, validator: rawValue('validator', validator) });
    const key = rawValue('key', fields);
    const filter = rawValue('partialFilterExpression', validator);
    await db.command({
      createIndexes: name,
      indexes: [{ key, name: 'odd', unique: true, partialFilterExpression: filter }],
    });
    const project = raw(['$project', raw(['2', 1], ['1', raw(['$literal', fields])])]);
    const $project = rawValue('$project', raw(['2', 1], ['1', raw(['$literal', project])]));
    await db.command({ create: `v${phase}`, viewOn: name, pipeline: [{ $project }] });
    if (phase === 0) return;
    await db.command({ collMod: `c${phase - 1}`, validator: rawValue('validator', fields) });
    await db.command({ collMod: `v${phase - 1}`, viewOn: name, pipeline: [{ $project }] });
  },
  // Not encryptedFields: server-differences.integration.ts has them.
  'every other option of a collection': async (db, phase) => {
    const options: readonly Document[] = [
      // Later ones do not reach the oplog with this version.
      phase === 0 ? { idIndex: { key: { _id: 1 }, name: '_id_', v: 1 } } : {},
      (await isOptionOfBoth('recordPreImages')) ? { recordPreImages: true } : {},
      { validator: { n: { $gt: 5 } }, validationLevel: 'strict', validationAction: 'error' },
    ];
    for (const [index, one] of options.entries()) {
      const name = `c${phase}_${index}`;
      await db.command({ create: name, ...one });
      const past = { bypassDocumentValidation: true };
      await db.collection<Row>(name).insertOne({ _id: phase, n: index }, past);
    }
  },
  'strings that a collation takes for equal': async (db, phase) => {
    const collation = { locale: 'en', strength: 2 };
    if (phase === 0) await db.command({ create: 'rows', collation });
    for (let n = 0; n < 60; n++) {
      const _id = phase === 1 ? `WORD ${n}` : `word ${n}`;
      if (phase > 0) await deleteRaw(db, 'rows', _id);
      await insertRaw(
        db,
        'rows',
        raw(['_id', _id], ['phase', phase], ['filler', 'x'.repeat(2000)]),
      );
      if (n % 3 === phase) await updateRaw(db, 'rows', `Word ${n}`, set(raw(['n', n])));
    }
  },
  'a clustered collection with ids of all kinds': async (db, phase) => {
    const clusteredIndex = { key: { _id: 1 }, unique: true };
    if (phase === 0) await db.command({ create: 'rows', clusteredIndex });
    for (let n = 0; n < 60; n++) {
      const _id = [n, `${n}`, raw(['2', n], ['1', n]), new RawText(0xff, n + 1)][n % 4];
      if (phase > 0) await deleteRaw(db, 'rows', _id);
      await insertRaw(
        db,
        'rows',
        raw(['_id', _id], ['phase', phase], ['filler', 'x'.repeat(2000)]),
      );
    }
  },
  'a capped collection that goes round': async (db, phase) => {
    if (phase === 0) {
      await db.command({ create: 'sized', capped: true, size: 20_000 });
      await db.command({ create: 'counted', capped: true, size: 1_000_000, max: 25 });
    }
    for (let n = 0; n < 40; n++) {
      for (const name of ['sized', 'counted'])
        await insertRaw(db, name, raw(['_id', `${n} in ${phase}`], ['filler', 'x'.repeat(1000)]));
    }
    await db.collection('counted').updateOne({}, { $set: { filler: 'y'.repeat(1000) } });
  },
  'views on views, made, changed and dropped': async (db, phase) => {
    const view = async (name: string, viewOn: string, ...pipeline: Document[]): Promise<void> => {
      await db.command({ create: name, viewOn, pipeline });
    };
    await view(`first ${phase}`, 'rows', { $match: { n: new BSONRegExp('^(?i)x') } });
    await view(`second ${phase}`, `first ${phase}`, { $unionWith: { coll: 'rows', pipeline: [] } });
    await view(`dropped ${phase}`, `second ${phase}`, { $lookup: lookup });
    await insertRaw(db, 'rows', raw(['_id', phase], ['n', 'x']));
    if (phase === 0) return;
    await db.command({ collMod: `first ${phase - 1}`, viewOn: `second ${phase}`, pipeline: [] });
    await db.dropCollection(`dropped ${phase - 1}`);
    // A collection where a view stood, and the other way round.
    await db.command({ create: `dropped ${phase - 1}` });
    if (phase === 2) await db.dropCollection('dropped 0');
    if (phase === 2) await view('dropped 0', 'first 0', { $limit: 1 });
  },
  'odd names of collections': async (db, phase) => {
    const names = [
      'a..b',
      'trail.',
      ' ',
      'x\u0001y',
      'a/b',
      'é',
      'e\u0301',
      '尺寸 📏',
      'system',
      'A',
    ];
    for (const name of names) {
      await insertRaw(db, name, raw(['_id', phase], ['name', name]));
      await db.command({ create: `${name} empty ${phase}` });
    }
  },
};

const lookup = {
  from: 'rows',
  let: { n: '$n' },
  pipeline: [{ $geoNear: { near: [1, 2], distanceField: 'd' } }],
  as: 'near',
};

/** Whether the servers of both sides take a known option of collections. */
async function isOptionOfBoth(option: string): Promise<boolean> {
  const releases = await Promise.all([mongodRelease('source'), mongodRelease('destination')]);
  return releases.every((release) => hasOption(release, option));
}

/** Names of databases that differ in little. */
export const oddDatabases = ['hard', 'hard_', 'hard-', '_hard', 'hard_x', 'härd', '数据'] as const;
