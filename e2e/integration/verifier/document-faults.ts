import {
  Binary,
  BSONRegExp,
  Decimal128,
  Double,
  Int32,
  MaxKey,
  ObjectId,
  Timestamp,
} from 'mongodb';
import { deleteById, items, type Fault, type Row } from './faulty-shop.ts';

/** Faults of documents. */
export const documentFaults: readonly Fault[] = [
  {
    name: 'a byte of a value',
    inject: async (db) => {
      const blob = Buffer.alloc(1000, 7);
      blob[500] = 8;
      await db.collection('items').updateOne({ name: 'chair' }, { $set: { blob } });
    },
    expected: {
      kind: 'differentDocument',
      namespace: items,
      id: { $numberDouble: '2.5' },
      field: 'blob',
    },
  },
  {
    name: 'int 1 to double 1.0',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $set: { price: new Double(1) } }),
    expected: {
      kind: 'differentDocument',
      namespace: items,
      id: { $numberInt: '1' },
      field: 'price',
    },
  },
  {
    name: 'a value deep inside',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $set: { 'deep.x.y': 2 } }),
    expected: { kind: 'differentDocument', id: { $numberInt: '1' }, field: 'deep.x.y' },
  },
  {
    name: 'an element of an array',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $set: { 'tags.1': 'c' } }),
    expected: { kind: 'differentDocument', id: { $numberInt: '1' }, field: 'tags.1' },
  },
  {
    name: 'the order of fields',
    inject: async (db) => {
      await db.collection('items').updateOne({ name: 'lamp' }, { $unset: { price: 1 } });
      await db.collection('items').updateOne({ name: 'lamp' }, { $set: { price: new Int32(1) } });
    },
    expected: { kind: 'fieldOrder', id: { $numberInt: '1' }, field: 'price' },
  },
  {
    name: 'a field too many',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'rug' }, { $set: { z: 1 } }),
    expected: { kind: 'differentDocument', id: { $numberLong: '5' }, field: 'z' },
  },
  {
    name: 'null in place of no field',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'rug' }, { $set: { z: null } }),
    expected: { kind: 'differentDocument', id: { $numberLong: '5' }, field: 'z' },
  },
  {
    name: 'a field missing',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $unset: { tags: 1 } }),
    expected: { kind: 'differentDocument', id: { $numberInt: '1' }, field: 'tags' },
  },
  ...[
    valueFault('text', 'abd', 'string', 'string'),
    valueFault('text', 'abc\0', 'string', 'string'),
    valueFault('long', new Int32(7), 'long', 'int'),
    valueFault('double', new Double(-0), 'double', 'double'),
    valueFault('decimal', Decimal128.fromString('1.00'), 'decimal', 'decimal'),
    valueFault('flag', false, 'bool', 'bool'),
    valueFault('nothing', { $literal: false }, 'null', 'bool'),
    valueFault('when', new Date(1), 'date', 'date'),
    valueFault('stamp', new Timestamp({ t: 1, i: 2 }), 'timestamp', 'timestamp'),
    valueFault('pattern', new BSONRegExp('a', 'm'), 'regex', 'regex'),
    valueFault('code', 'x', 'javascript', 'string'),
    valueFault('least', new MaxKey(), 'minKey', 'maxKey'),
    valueFault('key', new ObjectId('000000000000000000000002'), 'objectId', 'objectId'),
    valueFault('empty', { $literal: [] }, 'object', 'array'),
  ],
  {
    name: 'the order of fields in an array',
    inject: async (db) =>
      await db
        .collection('items')
        .updateOne({ name: 'bed' }, { $set: { 'list.1': { b: new Int32(2), a: new Int32(1) } } }),
    expected: { kind: 'fieldOrder', id: 'types', field: 'list.1.a' },
  },
  {
    name: 'the order of an array',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $set: { tags: ['b', 'a'] } }),
    expected: { kind: 'differentDocument', id: { $numberInt: '1' }, field: 'tags.0' },
  },
  {
    name: 'an element of an array missing',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'lamp' }, { $pop: { tags: 1 } }),
    expected: {
      kind: 'differentDocument',
      id: { $numberInt: '1' },
      field: 'tags.1',
      sourceType: 'string',
    },
  },
  {
    name: 'the name of a field',
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'chair' }, { $rename: { blob: 'blop' } }),
    expected: {
      kind: 'differentDocument',
      id: { $numberDouble: '2.5' },
      field: 'blob',
      sourceType: 'binData',
    },
  },
  {
    name: 'the subtype of binary data',
    inject: async (db) =>
      await db
        .collection('items')
        .updateOne({ name: 'chair' }, { $set: { blob: new Binary(Buffer.alloc(1000, 7), 128) } }),
    expected: {
      kind: 'differentDocument',
      id: { $numberDouble: '2.5' },
      field: 'blob',
      sourceType: 'binData',
    },
  },
  {
    name: 'a type in an _id',
    inject: async (db) => {
      await db.collection('items').deleteOne({ name: 'sofa' });
      await db.collection<Row>('items').insertOne({ _id: { a: new Double(1) }, name: 'sofa' });
    },
    expected: { kind: 'differentDocument', id: { a: { $numberInt: '1' } }, field: '_id.a' },
  },
  {
    name: 'a missing document',
    inject: async (db) => await db.collection('items').deleteOne({ name: 'sofa' }),
    expected: { kind: 'missingDocument', namespace: items, id: { a: { $numberInt: '1' } } },
  },
  {
    name: 'an extra document',
    inject: async (db) => await db.collection<Row>('items').insertOne({ _id: 'more', name: 'x' }),
    expected: { kind: 'extraDocument', namespace: items, id: 'more' },
  },
  {
    name: 'the type of an _id',
    inject: async (db) => {
      await db.collection('items').deleteOne({ name: 'rug' });
      await db.collection<Row>('items').insertOne({ _id: new Double(5), name: 'rug' });
    },
    expected: { kind: 'differentDocument', id: { $numberLong: '5' }, field: '_id' },
  },
  {
    name: 'a document missing under a collation',
    inject: async (db) => {
      await deleteById(db, 'folded', 'c');
    },
    expected: { kind: 'missingDocument', namespace: 'shop.folded', id: 'c' },
  },
  {
    name: 'a document missing from a clustered collection',
    inject: async (db) => {
      await deleteById(db, 'clustered', 'x');
    },
    expected: { kind: 'missingDocument', namespace: 'shop.clustered', id: 'x' },
  },
  {
    name: 'the order of a capped collection',
    inject: async (db) => {
      await db.collection('log').drop();
      await db.createCollection('log', { capped: true, size: 4096, max: 100 });
      for (const _id of [3, 2, 1]) await db.collection<Row>('log').insertOne({ _id });
    },
    expected: { kind: 'documentOrder', namespace: 'shop.log', id: { $numberInt: '1' } },
  },
];

/** Another value of a field of the document that has one of each type. */
function valueFault(
  field: string,
  value: unknown,
  sourceType: string,
  destinationType: string,
): Fault {
  return {
    name: `${field}, which is ${destinationType === sourceType ? 'another' : destinationType}`,
    inject: async (db) =>
      await db.collection('items').updateOne({ name: 'bed' }, [{ $set: { [field]: value } }]),
    expected: { kind: 'differentDocument', id: 'types', field, sourceType, destinationType },
  };
}
