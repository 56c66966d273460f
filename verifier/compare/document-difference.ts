import {
  asBuffer,
  bsonType,
  elementsOf,
  type RawDocument,
  type RawElement,
} from '../../mongo/raw-bson.ts';

/** The first place where two documents differ. It tells no values. */
export interface FieldDifference {
  /** The field's path, its parts joined by dots. */
  readonly field: string;
  /** How they differ there, in words. */
  readonly detail: string;
}

/** The detail of values that differ in nothing but themselves. */
export const otherValue = 'another value';

/** Names of BSON types, as `$type` of the server's query language has them. */
const typeNames: Readonly<Record<number, string>> = {
  [bsonType.double]: 'double',
  [bsonType.string]: 'string',
  [bsonType.document]: 'object',
  [bsonType.array]: 'array',
  [bsonType.binary]: 'binData',
  [bsonType.undefined]: 'undefined',
  [bsonType.objectId]: 'objectId',
  [bsonType.boolean]: 'bool',
  [bsonType.date]: 'date',
  [bsonType.null]: 'null',
  [bsonType.regex]: 'regex',
  0x0c: 'dbPointer',
  0x0d: 'javascript',
  [bsonType.symbol]: 'symbol',
  0x0f: 'javascriptWithScope',
  [bsonType.int32]: 'int',
  [bsonType.timestamp]: 'timestamp',
  [bsonType.int64]: 'long',
  [bsonType.decimal128]: 'decimal',
  0x7f: 'maxKey',
  0xff: 'minKey',
};

/** The name of a BSON type: `int`, `objectId`, ... */
export function typeName(type: number): string {
  return typeNames[type] ?? `type ${type}`;
}

/** The first field in which a document differs from its copy; undefined when their bytes are equal. */
export function firstDifference(
  source: RawDocument,
  destination: RawDocument,
): FieldDifference | undefined {
  if (asBuffer(source).equals(destination)) return undefined;
  return (
    differenceOfElements(elementsOf(source), elementsOf(destination), '') ?? {
      field: '',
      detail: 'other bytes',
    }
  );
}

function differenceOfElements(
  source: readonly RawElement[],
  destination: readonly RawElement[],
  path: string,
): FieldDifference | undefined {
  const length = Math.max(source.length, destination.length);
  for (let index = 0; index < length; index++) {
    const left = source[index];
    const right = destination[index];
    if (left === undefined) {
      return right && { field: path + right.name, detail: 'not on the source' };
    }
    if (right === undefined) {
      return { field: path + left.name, detail: 'missing on the destination' };
    }
    const difference =
      left.name === right.name
        ? differenceOfValues(left, right, path + left.name)
        : differenceOfNames(left, right, { source, destination, path });
    if (difference) return difference;
  }
  return undefined;
}

function differenceOfNames(
  left: RawElement,
  right: RawElement,
  {
    source,
    destination,
    path,
  }: {
    readonly source: readonly RawElement[];
    readonly destination: readonly RawElement[];
    readonly path: string;
  },
): FieldDifference {
  if (!destination.some(({ name }) => name === left.name)) {
    return { field: path + left.name, detail: 'missing on the destination' };
  }
  if (!source.some(({ name }) => name === right.name)) {
    return { field: path + right.name, detail: 'not on the source' };
  }
  return { field: path + left.name, detail: 'fields in another order' };
}

function differenceOfValues(
  left: RawElement,
  right: RawElement,
  field: string,
): FieldDifference | undefined {
  if (left.type !== right.type) {
    return {
      field,
      detail: `${typeName(left.type)} on the source, ${typeName(right.type)} on the destination`,
    };
  }
  if (areSameBytes(left, right)) return undefined;
  if (left.type === bsonType.document || left.type === bsonType.array) {
    const inner = differenceOfElements(
      elementsOf(left.bytes, left.offset),
      elementsOf(right.bytes, right.offset),
      `${field}.`,
    );
    if (inner) return inner;
  }
  return { field, detail: otherValue };
}

function areSameBytes(left: RawElement, right: RawElement): boolean {
  return (
    left.length === right.length &&
    asBuffer(left.bytes).compare(
      right.bytes,
      right.offset,
      right.offset + right.length,
      left.offset,
      left.offset + left.length,
    ) === 0
  );
}
