import { BSON, type Document } from 'mongodb';
import {
  asBuffer,
  bsonType,
  elementsOf,
  type RawDocument,
  type RawElement,
} from '../../mongo/raw-bson.ts';
import { decodeElement, RawValue } from '../../mongo/raw-value.ts';

const { EJSON } = BSON;

/** The first difference between two documents. */
export interface FieldDifference {
  /** The field's path, joined by dots. */
  readonly field: string;
  /** How they differ there, in words. */
  readonly detail: string;
  /** True if the fields are the same, in another order. */
  readonly isOrder?: true;
  /** The types of the two values, as `$type` names them; absent if there is no value. */
  readonly sourceType?: string;
  readonly destinationType?: string;
  /** The two values in canonical EJSON, truncated if long; only on request. */
  readonly sourceValue?: string;
  readonly destinationValue?: string;
}

/** The detail for values that differ only in the value. */
export const otherValue = 'another value';

/** Maximum length of a displayed value. */
const maxValueLength = 1024;

/** Names of BSON types, as in the query operator `$type`. */
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

/**
 * The first field in which a document differs from its copy; undefined if their bytes are equal. Another order of fields is
 * the difference only if there is no other one.
 */
export function firstDifference(
  source: RawDocument,
  destination: RawDocument,
  showValues = false,
): FieldDifference | undefined {
  if (asBuffer(source).equals(destination)) return undefined;
  const [left, right] = [elementsOf(source), elementsOf(destination)];
  return (
    differenceOfFields(left, right, { path: '', showValues }) ??
    differenceOfOrder(left, right, '') ?? { field: '', detail: 'other bytes' }
  );
}

interface Where {
  readonly path: string;
  readonly showValues: boolean;
}

/** Matches fields by name, the nth of a name with the nth of that name. */
function differenceOfFields(
  source: readonly RawElement[],
  destination: readonly RawElement[],
  where: Where,
): FieldDifference | undefined {
  const rest = new Map<string, RawElement[]>();
  for (const element of destination) {
    const same = rest.get(element.name);
    if (same) same.push(element);
    else rest.set(element.name, [element]);
  }
  for (const left of source) {
    const right = rest.get(left.name)?.shift();
    const difference = differenceOfValues(left, right, where);
    if (difference) return difference;
  }
  const [extra] = destination.filter((element) => rest.get(element.name)?.includes(element));
  return extra && differenceAt(undefined, extra, where, 'not on the source');
}

function differenceOfValues(
  left: RawElement,
  right: RawElement | undefined,
  where: Where,
): FieldDifference | undefined {
  if (right === undefined) return differenceAt(left, right, where, 'missing on the destination');
  if (left.type !== right.type) {
    const detail = `${typeName(left.type)} on the source, ${typeName(right.type)} on the destination`;
    return differenceAt(left, right, where, detail);
  }
  if (areSameBytes(left, right)) return undefined;
  if (!isNested(left)) return differenceAt(left, right, where, otherValue);
  const inner = { ...where, path: `${where.path}${left.name}.` };
  const [fields, copies] = [innerElements(left), innerElements(right)];
  const difference = differenceOfFields(fields, copies, inner);
  if (difference) return difference;
  const isReordered = differenceOfOrder(fields, copies, inner.path) !== undefined;
  return isReordered ? undefined : differenceAt(left, right, where, 'other bytes');
}

/** The first field in another place, among fields that are otherwise the same. */
function differenceOfOrder(
  source: readonly RawElement[],
  destination: readonly RawElement[],
  path: string,
): FieldDifference | undefined {
  for (const [index, left] of source.entries()) {
    const right = destination[index];
    if (right === undefined) return undefined;
    if (left.name !== right.name) {
      return { field: path + left.name, detail: 'fields in another order', isOrder: true };
    }
    if (!isNested(left) || left.type !== right.type || areSameBytes(left, right)) continue;
    const inner = differenceOfOrder(
      innerElements(left),
      innerElements(right),
      `${path}${left.name}.`,
    );
    if (inner) return inner;
  }
  return undefined;
}

function differenceAt(
  left: RawElement | undefined,
  right: RawElement | undefined,
  { path, showValues }: Where,
  detail: string,
): FieldDifference {
  return {
    field: path + ((left ?? right)?.name ?? ''),
    detail,
    ...(left && { sourceType: typeName(left.type) }),
    ...(right && { destinationType: typeName(right.type) }),
    ...(left && showValues && { sourceValue: valueText(left) }),
    ...(right && showValues && { destinationValue: valueText(right) }),
  };
}

function valueText(element: RawElement): string {
  const text = EJSON.stringify(decodeElement(element), { relaxed: false });
  return text.length <= maxValueLength ? text : `${text.slice(0, maxValueLength)}...`;
}

function isNested({ type }: RawElement): boolean {
  return type === bsonType.document || type === bsonType.array;
}

function innerElements({ bytes, offset }: RawElement): RawElement[] {
  return elementsOf(bytes, offset);
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

/** Fields that do not affect how an index or a collection behaves. */
const meaninglessFields = new Set(['ns', 'background', 'uuid', 'autoIndexId', 'flags']);

/** Values equivalent to the absence of the field. */
const defaults: Readonly<Record<string, string>> = {
  capped: 'false',
  unique: 'false',
  sparse: 'false',
  hidden: 'false',
  prepareUnique: 'false',
  validator: '{}',
  validationLevel: '"strict"',
  validationAction: '"error"',
  changeStreamPreAndPostImages: '{"enabled":false}',
  recordPreImages: 'false',
};

/** Fields whose value is a query or a pipeline, in which a number's type can matter. */
const exactFields = new Set(['validator', 'partialFilterExpression', 'pipeline']);

/**
 * The first differing field of options or of an index. The order of the fields themselves does not matter; within a key, a pipeline
 * or a collation it does. Numbers are equal whatever their type, except in queries.
 */
export function fieldDifference(
  source: Document,
  destination: Document,
): FieldDifference | undefined {
  const [first] = fieldDifferences(source, destination).values();
  return first;
}

/** The same for every field that differs, by its name. */
export function fieldDifferences(
  source: Document,
  destination: Document,
): ReadonlyMap<string, FieldDifference> {
  const found = new Map<string, FieldDifference>();
  for (const field of new Set([...Object.keys(source), ...Object.keys(destination)])) {
    if (meaninglessFields.has(field)) continue;
    const left = meaningful(field, source[field]);
    const right = meaningful(field, destination[field]);
    const difference = valueDifference(field, left, right);
    if (difference) found.set(field, difference);
  }
  return found;
}

function valueDifference(
  field: string,
  left: unknown,
  right: unknown,
): FieldDifference | undefined {
  if (left === undefined && right === undefined) return undefined;
  if (left === undefined) return { field, detail: 'not on the source' };
  if (right === undefined) return { field, detail: 'missing on the destination' };
  if (!exactFields.has(field) && relaxedText(left) === relaxedText(right)) return undefined;
  const inner = firstDifference(
    BSON.serialize({ [field]: left }, { ignoreUndefined: false }),
    BSON.serialize({ [field]: right }, { ignoreUndefined: false }),
  );
  if (inner) return { ...inner, field: inner.field === '' ? field : inner.field };
  return exactFields.has(field) ? undefined : { field, detail: otherValue };
}

function meaningful(field: string, value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  const absent = defaults[field];
  return absent !== undefined && relaxedText(value) === absent ? undefined : value;
}

/** The same text for numbers of any type. Fields keep their order. */
export function relaxedText(value: unknown): string {
  if (!(value instanceof RawValue)) return EJSON.stringify(value, { relaxed: true });
  const inner = value.elements().map((element): readonly [string, string] => {
    const { type, name } = element;
    const isNested = type === bsonType.document || type === bsonType.array;
    if (isNested) return [name, relaxedText(new RawValue(name, element))];
    return [name, exactText(element) ?? relaxedText(decodeElement(element))];
  });
  return value.type === bsonType.array
    ? `[${inner.map(([, text]) => text).join(',')}]`
    : `{${inner.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** Of what would have the same text as other values: whole numbers that a double cannot hold, and dates that JavaScript has not. */
function exactText({ type, bytes, offset }: RawElement): string | undefined {
  const buffer = asBuffer(bytes);
  switch (type) {
    case bsonType.int64: {
      const value = buffer.readBigInt64LE(offset);
      return Number.isSafeInteger(Number(value)) ? undefined : String(value);
    }
    case bsonType.double: {
      const value = buffer.readDoubleLE(offset);
      return Number.isInteger(value) && !Number.isSafeInteger(value)
        ? String(BigInt(value))
        : undefined;
    }
    case bsonType.date: {
      const value = buffer.readBigInt64LE(offset);
      return Number.isNaN(new Date(Number(value)).getTime())
        ? `{"$date":{"$numberLong":"${value}"}}`
        : undefined;
    }
    default:
      return undefined;
  }
}
