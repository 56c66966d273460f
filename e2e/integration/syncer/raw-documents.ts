import { BSON, type Db, type Document } from 'mongodb';
import { documentSequence } from '../../../mongo/document-sequence.ts';
import { elementsOf } from '../../../mongo/raw-bson.ts';
import { RawValue } from '../../../mongo/raw-value.ts';

/** A document as bytes: for what a driver cannot hold, such as duplicate fields or text that is not UTF-8. */
export class RawFields {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/** A string value of any bytes. */
export class RawText {
  readonly bytes: Buffer;

  constructor(...bytes: number[]) {
    this.bytes = Buffer.from(bytes);
  }
}

/** A date by its milliseconds, beyond those that JavaScript knows. */
export class RawDate {
  readonly milliseconds: bigint;

  constructor(milliseconds: bigint) {
    this.milliseconds = milliseconds;
  }
}

type Field = readonly [name: string | Buffer, value: unknown];

/** A document of these fields in this order. A field may be there twice, and its name be any bytes without a zero. */
export function raw(...fields: readonly Field[]): RawFields {
  const parts = fields.map(([name, value]) => {
    const [type, bytes] = typeAndBytes(value);
    return Buffer.concat([Buffer.from([type]), Buffer.from(name), Buffer.from([0]), bytes]);
  });
  const body = Buffer.concat([Buffer.alloc(4), ...parts, Buffer.from([0])]);
  body.writeInt32LE(body.length, 0);
  return new RawFields(body);
}

function typeAndBytes(value: unknown): readonly [type: number, bytes: Buffer] {
  if (value instanceof RawFields) return [0x03, value.bytes];
  if (value instanceof RawText) {
    const length = Buffer.alloc(4);
    length.writeInt32LE(value.bytes.length + 1);
    return [0x02, Buffer.concat([length, value.bytes, Buffer.from([0])])];
  }
  if (value instanceof RawDate) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(value.milliseconds);
    return [0x09, bytes];
  }
  const document = Buffer.from(BSON.serialize({ v: value }));
  return [document[4] ?? 0, document.subarray(7, -1)];
}

/** A value to be sent in a command as it is, under this name. */
export function rawValue(name: string, value: RawFields | RawText): RawValue {
  const [element] = elementsOf(raw([name, value]).bytes);
  if (element === undefined) throw new Error('an empty document');
  return new RawValue(name, element);
}

/** Inserts documents as they are. */
export async function insertRaw(
  db: Db,
  coll: string,
  ...documents: readonly RawFields[]
): Promise<void> {
  const sequence = documentSequence(
    'documents',
    documents.map(({ bytes }) => bytes),
  );
  throwWriteErrors(await db.command({ insert: coll, documents: sequence }));
}

/** Updates one document by its `_id`. */
export async function updateRaw(db: Db, coll: string, _id: unknown, u: unknown): Promise<void> {
  const statement = raw(['q', raw(['_id', _id])], ['u', u]);
  const sequence = documentSequence('updates', [statement.bytes]);
  const answer = await db.command({ update: coll, updates: sequence });
  throwWriteErrors(answer);
  if (answer['n'] !== 1) throw new Error(`the update found no document in ${coll}`);
}

/** Deletes one document by its `_id`. */
export async function deleteRaw(db: Db, coll: string, _id: unknown): Promise<void> {
  const statement = raw(['q', raw(['_id', _id])], ['limit', 1]);
  const sequence = documentSequence('deletes', [statement.bytes]);
  const answer = await db.command({ delete: coll, deletes: sequence });
  throwWriteErrors(answer);
  if (answer['n'] !== 1) throw new Error(`the delete found no document in ${coll}`);
}

function throwWriteErrors({ writeErrors }: Document): void {
  if (writeErrors !== undefined) throw new Error(JSON.stringify(writeErrors));
}
