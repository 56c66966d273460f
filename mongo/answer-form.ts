import { DocumentSequence } from 'mongodb/lib/cmap/commands.js';
import { MalformedAnswer } from './malformed-answer.ts';
import {
  asBuffer,
  bsonType,
  elementsOf,
  forEachDocument,
  stringValue,
  valueBytes,
  type RawDocument,
  type RawElement,
} from './raw-bson.ts';
import { RawValue } from './raw-value.ts';

/** What the check of an answer needs to know about its command. */
export interface SentCommand {
  readonly name: string;
  /** The number of statements, for a write of documents. */
  readonly statements: number | undefined;
  readonly isOrdered: boolean;
}

/** The required form of a value in an answer. */
interface ValueForm {
  /** The accepted BSON types. */
  readonly types: readonly number[];
  readonly isOptional?: true;
  /** It is a count: a whole number that is not negative. */
  readonly isCount?: true;
  /** The fields of a document. */
  readonly fields?: DocumentForm;
  /** The form of each value in an array. */
  readonly each?: ValueForm;
}

type DocumentForm = Readonly<Record<string, ValueForm>>;

const number: ValueForm = { types: [bsonType.double, bsonType.int32, bsonType.int64] };
const count: ValueForm = { ...number, isCount: true };
const flag: ValueForm = { types: [bsonType.boolean, ...number.types] };
const text: ValueForm = { types: [bsonType.string] };
const time: ValueForm = { types: [bsonType.timestamp] };
const binary: ValueForm = { types: [bsonType.binary] };
const objectId: ValueForm = { types: [bsonType.objectId] };
const int64: ValueForm = { types: [bsonType.int64] };

function document(fields: DocumentForm = {}): ValueForm {
  return { types: [bsonType.document], fields };
}

function array(each?: ValueForm): ValueForm {
  return { types: [bsonType.array], ...(each && { each }) };
}

function optional(form: ValueForm): ValueForm {
  return { ...form, isOptional: true };
}

/** What the driver (7.8) reads from every answer. */
const everyAnswer: DocumentForm = {
  ok: flag,
  operationTime: optional(time),
  $clusterTime: optional(
    // The driver sends null for a signature that is missing, which a server refuses.
    document({ clusterTime: time, signature: document({ hash: binary, keyId: number }) }),
  ),
  errorLabels: optional(array(text)),
  topologyVersion: optional(document({ processId: objectId, counter: number })),
  writeConcernError: optional(document({ code: number, errmsg: optional(text) })),
};

const errorAnswer: DocumentForm = {
  ...everyAnswer,
  code: number,
  codeName: optional(text),
  errmsg: optional(text),
};

const login: DocumentForm = { conversationId: number, done: flag, payload: binary };

/** A login by certificate is answered with `dbname` and `user` instead; checkLogin requires the rest of SCRAM. */
const speculativeLogin: DocumentForm = {
  conversationId: optional(number),
  done: optional(flag),
  payload: optional(binary),
};

const hello: DocumentForm = {
  maxBsonObjectSize: count,
  maxMessageSizeBytes: count,
  maxWriteBatchSize: count,
  minWireVersion: count,
  maxWireVersion: count,
  logicalSessionTimeoutMinutes: optional(count),
  setName: optional(text),
  setVersion: optional(number),
  electionId: optional(objectId),
  hosts: optional(array(text)),
  passives: optional(array(text)),
  arbiters: optional(array(text)),
  primary: optional(text),
  me: optional(text),
  msg: optional(text),
  tags: optional(document()),
  compression: optional(array(text)),
  saslSupportedMechs: optional(array(text)),
  connectionId: optional(number),
  lastWrite: optional(document({ lastWriteDate: { types: [bsonType.date] } })),
  speculativeAuthenticate: optional(document(speculativeLogin)),
};

function cursor(batch: 'firstBatch' | 'nextBatch'): DocumentForm {
  const postBatchResumeToken = optional(document({ _data: optional(text) }));
  return { cursor: document({ id: int64, ns: text, [batch]: array(), postBatchResumeToken }) };
}

const write: DocumentForm = {
  n: count,
  writeErrors: optional(array(document({ index: count, code: number, errmsg: optional(text) }))),
};

const commandForms: Readonly<Record<string, DocumentForm>> = {
  hello,
  ismaster: hello,
  isMaster: hello,
  saslStart: login,
  saslContinue: login,
  find: cursor('firstBatch'),
  aggregate: cursor('firstBatch'),
  listCollections: cursor('firstBatch'),
  listIndexes: cursor('firstBatch'),
  getMore: cursor('nextBatch'),
  insert: write,
  delete: write,
  update: {
    ...write,
    nModified: count,
    // The driver treats an `_id` of null as none, and requires nothing else.
    upserted: optional(array(document({ index: count }))),
  },
  findAndModify: {
    value: { types: [bsonType.document, bsonType.null] },
    lastErrorObject: optional(document({ n: count })),
  },
  count: { n: count },
};

/**
 * What to remember of a command until its answer arrives.
 * @param command - as it is sent, its name first.
 */
export function sentCommand(command: Readonly<Record<string, unknown>>): SentCommand {
  const [name = ''] = Object.keys(command);
  const list = command['documents'] ?? command['updates'] ?? command['deletes'];
  return { name, statements: lengthOf(list), isOrdered: command['ordered'] !== false };
}

function lengthOf(list: unknown): number | undefined {
  if (Array.isArray(list)) return list.length;
  if (list instanceof DocumentSequence) return list.documents.length;
  if (!(list instanceof RawValue)) return undefined;
  let length = 0;
  forEachDocument({ bytes: list.bytes, offset: 0 }, () => length++);
  return length;
}

/**
 * Checks that an answer in valid BSON has what the driver (7.8) and the raw cursors rely on: once for each answer, without
 * looking into the documents that it brings. CheckedValue checks whatever else is read from an answer.
 * @throws MalformedAnswer that names the command and the field.
 */
export function checkForm(sent: SentCommand, answer: RawDocument): void {
  const fields = fieldsOf(answer);
  const report: Report = (what) => new MalformedAnswer(`an answer to ${sent.name} ${what}`);
  if (!isOk(fields.get('ok'))) {
    checkFields(fields, errorAnswer, '', report);
    return;
  }
  checkFields(fields, everyAnswer, '', report);
  const form = commandForms[sent.name];
  if (form === undefined) return;
  checkFields(fields, form, '', report);
  if (form === hello) checkHello(fields, report);
  if (sent.statements !== undefined) checkWrite(sent, sent.statements, fields, report);
}

type Fields = ReadonlyMap<string, RawElement>;

/** @param what - what is wrong with the answer. */
type Report = (what: string) => MalformedAnswer;

function fieldsOf(document: RawDocument): Fields {
  return new Map(elementsOf(document).map((element) => [element.name, element]));
}

function checkFields(fields: Fields, form: DocumentForm, path: string, report: Report): void {
  for (const [name, value] of Object.entries(form)) {
    const element = fields.get(name);
    const place = path + name;
    if (element === undefined || (element.type === bsonType.null && value.isOptional)) {
      if (!value.isOptional) throw report(`without ${place}`);
      continue;
    }
    checkValue(element, value, place, report);
  }
}

function checkValue(element: RawElement, form: ValueForm, place: string, report: Report): void {
  if (!form.types.includes(element.type))
    throw report(`whose ${place} has the BSON type ${element.type}`);
  if (form.isCount && !isCount(numberOf(element)))
    throw report(`whose ${place} is ${numberOf(element)}`);
  if (form.fields) checkFields(fieldsOf(valueBytes(element)), form.fields, `${place}.`, report);
  if (form.each)
    for (const each of elementsOf(valueBytes(element)))
      checkValue(each, form.each, `${place}.${each.name}`, report);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function numberOf({ type, bytes, offset }: RawElement): number {
  const buffer = asBuffer(bytes);
  switch (type) {
    case bsonType.double:
      return buffer.readDoubleLE(offset);
    case bsonType.int32:
      return buffer.readInt32LE(offset);
    case bsonType.int64:
      return Number(buffer.readBigInt64LE(offset));
    case bsonType.boolean:
      return buffer.readUInt8(offset);
    default:
      return Number.NaN;
  }
}

/** As the driver (7.8) treats it: an answer without `ok` is not an error that it would report. */
function isOk(ok: RawElement | undefined): boolean {
  return ok === undefined || numberOf(ok) !== 0;
}

/** Any of these fields identifies a member of a replica set. */
const memberFields = ['hosts', 'setVersion', 'electionId', 'primary', 'me', 'lastWrite'] as const;

/** The kind of a server, according to its own answer. */
export type ServerKind = 'member' | 'router' | 'standalone';

/** The kind of a server by its answer to hello; undefined for the answer to another command, or an error. */
export function serverKind({ name }: SentCommand, answer: RawDocument): ServerKind | undefined {
  if (commandForms[name] !== hello) return undefined;
  const fields = fieldsOf(answer);
  if (!isOk(fields.get('ok'))) return undefined;
  if (fields.has('setName')) return 'member';
  return isRouter(fields) ? 'router' : 'standalone';
}

function isRouter(fields: Fields): boolean {
  const msg = fields.get('msg');
  return msg !== undefined && stringValue(msg) === 'isdbgrid';
}

/**
 * If a server seems to be another kind of server for a moment, the driver (7.8) removes it from its list of servers and never
 * asks it again: no answer may leave the kind open.
 */
function checkHello(fields: Fields, report: Report): void {
  const primary = fields.get('isWritablePrimary') ?? fields.get('ismaster');
  if (primary === undefined) throw report('without isWritablePrimary');
  if (!flag.types.includes(primary.type))
    throw report(`whose ${primary.name} has the BSON type ${primary.type}`);
  const isMember = fields.has('setName');
  const member = memberFields.find((name) => fields.has(name));
  if (!isMember && member !== undefined) throw report(`with ${member}, and without setName`);
  const hosts = fields.get('hosts');
  if (isMember && (hosts === undefined || elementsOf(valueBytes(hosts)).length === 0))
    throw report('with setName, and without hosts');
  if (numberOf(primary) !== 0 && !fields.has('logicalSessionTimeoutMinutes'))
    throw report('without logicalSessionTimeoutMinutes');
}

/** The counts in the answer to a write must match its statements. */
function checkWrite(
  { name, isOrdered }: SentCommand,
  statements: number,
  fields: Fields,
  report: Report,
): void {
  const errors = indexesIn(fields.get('writeErrors'), 'writeErrors', statements, report);
  indexesIn(fields.get('upserted'), 'upserted', statements, report);
  if (isOrdered && errors.length > 1)
    throw report(`with ${errors.length} writeErrors, though it is ordered`);
  const n = fields.get('n');
  if (name !== 'insert' || n === undefined) return;
  const expected = isOrdered ? (errors[0] ?? statements) : statements - errors.length;
  if (numberOf(n) !== expected)
    throw report(`whose n is ${numberOf(n)}, and not ${expected}, of ${statements} documents`);
}

function indexesIn(
  list: RawElement | undefined,
  place: string,
  statements: number,
  report: Report,
): number[] {
  if (list === undefined || list.type === bsonType.null) return [];
  const indexes = elementsOf(valueBytes(list)).map((entry) => {
    const index = fieldsOf(valueBytes(entry)).get('index');
    return index === undefined ? Number.NaN : numberOf(index);
  });
  const wrong = indexes.find((index) => !(index < statements));
  if (wrong !== undefined)
    throw report(`whose ${place} have the index ${wrong}, of ${statements} statements`);
  if (new Set(indexes).size < indexes.length) throw report(`whose ${place} have one index twice`);
  return indexes;
}
