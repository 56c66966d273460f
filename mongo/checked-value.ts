import { Binary, Double, Int32, Long, ObjectId, Timestamp, UUID } from 'mongodb';
import { MalformedAnswer } from './malformed-answer.ts';
import { uuidBytes } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';

/** The error for a value that is not as required. @param what - such as `without size`, or `whose size is a text`. */
export type Complaint = (what: string) => Error;

/**
 * A value from outside: from a server's answer, or a stored document. It can only be read as the type that it has: each reader
 * throws, with the path of the field, if the value is missing or has another type.
 */
export class CheckedValue {
  readonly #value: unknown;
  readonly #path: string;
  readonly #complain: Complaint;

  /** @param complain - creates the error, which names where the value comes from. */
  constructor(value: unknown, complain: Complaint, path = '') {
    this.#value = value;
    this.#path = path;
    this.#complain = complain;
  }

  /** The value of a field, which must exist and not be null. */
  field(name: string): CheckedValue {
    const found = this.optional(name);
    if (found === undefined) throw this.#complain(`without ${this.#pathOf(name)}`);
    return found;
  }

  /** The value of a field; undefined if it is missing or null. */
  optional(name: string): CheckedValue | undefined {
    const fields = this.#fields();
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return value === undefined || value === null ? undefined : this.#inner(name, value);
  }

  /** The value of a field, which must exist: null if it is null. */
  orNull(name: string): CheckedValue | null {
    const fields = this.#fields();
    if (!Object.hasOwn(fields, name)) throw this.#complain(`without ${this.#pathOf(name)}`);
    return this.optional(name) ?? null;
  }

  /** The fields of a document with their names, without those that are null. */
  entries(): [string, CheckedValue][] {
    return Object.keys(this.#fields()).flatMap((name) => {
      const value = this.optional(name);
      return value === undefined ? [] : [[name, value]];
    });
  }

  /** The values of an array. */
  list(): CheckedValue[] {
    if (!Array.isArray(this.#value)) throw this.error('is not an array');
    return this.#value.map((value: unknown, index) => this.#inner(String(index), value));
  }

  text(): string {
    if (typeof this.#value !== 'string') throw this.error('is not a string');
    return this.#value;
  }

  /** One of the given texts. */
  oneOf<T extends string>(values: readonly T[]): T {
    const text = this.text();
    const found = values.find((value) => value === text);
    if (found === undefined) throw this.error(`is ${JSON.stringify(text)}`);
    return found;
  }

  boolean(): boolean {
    if (typeof this.#value !== 'boolean') throw this.error('is neither true nor false');
    return this.#value;
  }

  /** A number of any BSON type except decimal128. */
  number(): number {
    const number = numberIn(this.#value);
    if (number === undefined || !Number.isFinite(number)) throw this.error('is not a number');
    return number;
  }

  /** A whole number. */
  integer(): number {
    const number = this.number();
    if (!Number.isSafeInteger(number)) throw this.error(`is ${number}, not a whole number`);
    return number;
  }

  /** A whole number that is not negative. */
  count(): number {
    const number = this.integer();
    if (number < 0) throw this.error(`is ${number}, which is negative`);
    return number;
  }

  /** A text, or the text of a whole number. */
  textOrNumber(): string {
    return typeof this.#value === 'string' ? this.#value : String(this.integer());
  }

  date(): Date {
    if (!(this.#value instanceof Date) || Number.isNaN(this.#value.getTime()))
      throw this.error('is not a date');
    return this.#value;
  }

  timestamp(): Timestamp {
    if (!(this.#value instanceof Timestamp)) throw this.error('is not a timestamp');
    return this.#value;
  }

  objectId(): ObjectId {
    if (!(this.#value instanceof ObjectId)) throw this.error('is not an ObjectId');
    return this.#value;
  }

  binary(): Binary {
    if (!(this.#value instanceof Binary)) throw this.error('is not binary data');
    return this.#value;
  }

  uuid(): UUID {
    const binary = this.binary();
    if (binary.sub_type !== Binary.SUBTYPE_UUID || binary.length() !== uuidBytes)
      throw this.error('is not a UUID');
    return binary instanceof UUID ? binary : new UUID(binary.value());
  }

  /** A document that stayed bytes, as config-database.ts and specification.ts read it. */
  raw(): RawValue {
    if (!(this.#value instanceof RawValue)) throw this.error('is not a document');
    return this.#value;
  }

  /** The names and values of a document, to be sent on or shown, not to be read. */
  document(): Readonly<Record<string, unknown>> {
    return this.#fields();
  }

  /** The error for a value of the wrong type. @param is - such as `is not a string`. */
  error(is: string): Error {
    return this.#complain(`whose ${this.#path === '' ? 'value' : this.#path} ${is}`);
  }

  #fields(): Readonly<Record<string, unknown>> {
    if (!isDocument(this.#value)) throw this.error('is not a document');
    return this.#value;
  }

  #inner(name: string, value: unknown): CheckedValue {
    return new CheckedValue(value, this.#complain, this.#pathOf(name));
  }

  #pathOf(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`;
  }
}

function numberIn(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (value instanceof Timestamp) return undefined;
  if (value instanceof Int32 || value instanceof Double) return value.value;
  if (value instanceof Long) return value.toNumber();
  return typeof value === 'bigint' ? Number(value) : undefined;
}

function isDocument(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Date) &&
    !('_bsontype' in value)
  );
}

/** A server's answer to a command. @param server - `<host>:<port>`. */
export function checkedAnswer(answer: unknown, command: object, server: string): CheckedValue {
  const [name = ''] = Object.keys(command);
  return new CheckedValue(
    answer,
    (what) => new MalformedAnswer(`an answer to ${name} ${what}`, server),
  );
}

/**
 * A document that a server has listed.
 * @param of - its kind, such as `a document of config.shards`.
 * @param server - `<host>:<port>`, if known.
 */
export function checkedRow(row: unknown, of: string, server?: string): CheckedValue {
  return new CheckedValue(row, (what) => new MalformedAnswer(`${of} ${what}`, server));
}
