import { BSON, type Document } from 'mongodb';
import { bsonType } from '../../mongo/raw-bson.ts';
import { decodeElement, RawValue } from '../../mongo/raw-value.ts';
import { firstDifference, otherValue, type FieldDifference } from './document-difference.ts';

const { EJSON } = BSON;

/** Fields that say nothing about what an index or a collection does. */
const meaninglessFields = new Set(['ns', 'background', 'uuid', 'autoIndexId', 'flags']);

/** Values that mean the same as the absence of the field. */
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

/** Fields whose value is a query or a pipeline, where a number's type can make a difference. */
const exactFields = new Set(['validator', 'partialFilterExpression', 'pipeline']);

/**
 * The first field of options or of an index that differs. The fields' own order means nothing; in a key, a pipeline, a
 * collation it does. Numbers are the same whatever their type, other than in queries.
 */
export function fieldDifference(
  source: Document,
  destination: Document,
): FieldDifference | undefined {
  for (const field of new Set([...Object.keys(source), ...Object.keys(destination)])) {
    if (meaninglessFields.has(field)) continue;
    const left = meaningful(field, source[field]);
    const right = meaningful(field, destination[field]);
    if (left === undefined && right === undefined) continue;
    if (left === undefined) return { field, detail: 'not on the source' };
    if (right === undefined) return { field, detail: 'missing on the destination' };
    if (!exactFields.has(field) && relaxedText(left) === relaxedText(right)) continue;
    const inner = firstDifference(
      BSON.serialize({ [field]: left }, { ignoreUndefined: false }),
      BSON.serialize({ [field]: right }, { ignoreUndefined: false }),
    );
    if (inner) return { ...inner, field: inner.field === '' ? field : inner.field };
    if (!exactFields.has(field)) return { field, detail: otherValue };
  }
  return undefined;
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
    return [name, relaxedText(isNested ? new RawValue(name, element) : decodeElement(element))];
  });
  return value.type === bsonType.array
    ? `[${inner.map(([, text]) => text).join(',')}]`
    : `{${inner.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}
