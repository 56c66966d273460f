import type { Document, Timestamp, UUID } from 'mongodb';
import { canonicalKey } from '../../mongo/canonical-id.ts';
import { checkedRow, type CheckedValue } from '../../mongo/checked-value.ts';
import type { DocumentKey } from '../../mongo/document-key.ts';
import { ElementPicker } from '../../mongo/element-scan.ts';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import {
  asBuffer,
  bsonType,
  documentValue,
  type RawDocument,
  type RawElement,
  requireType,
  textValue,
  uuidHexValue,
} from '../../mongo/raw-bson.ts';
import { decodeElement, RawValue } from '../../mongo/raw-value.ts';
import { fateOfEvent } from '../../mongo/server-features.ts';
import { decodeSpec } from '../../mongo/specification.ts';
import { namespaceIn } from '../../mongo/stored-document.ts';
import { SyncError } from '../../service/errors.ts';

/** A change of one document. Values are bytes, shared with the event. */
export type DocumentChange =
  | {
      readonly kind: 'insert' | 'replace';
      readonly key: DocumentKey;
      readonly document: RawDocument;
    }
  | { readonly kind: 'update'; readonly key: DocumentKey; readonly diff: RawElement }
  | { readonly kind: 'delete'; readonly key: DocumentKey };

/** The approximate number of bytes that a change sends to the destination. */
export function sizeOfChange(change: DocumentChange): number {
  switch (change.kind) {
    case 'insert':
    case 'replace':
      return change.document.length;
    case 'update':
      return change.diff.length;
    case 'delete':
      return change.key.id.length;
  }
}

/** The ids of the documents of some changes. */
export function idsOf(changes: readonly DocumentChange[]): RawElement[] {
  return changes.map(({ key }) => key.id);
}

/** A change event of a collection's document. */
export interface DocumentEvent {
  readonly type: 'document';
  /** UUID of the collection on the source, as 32 hexadecimal digits. */
  readonly collection: string;
  readonly change: DocumentChange;
}

/** A change event of the catalog. */
export interface CatalogEvent {
  readonly type: 'catalog';
  readonly operation: string;
  readonly time: Timestamp;
  readonly namespace: Namespace;
  /** Undefined for views, and for a whole database. */
  readonly uuid: UUID | undefined;
  /** The target of a rename. */
  readonly to: Namespace | undefined;
  /** True if the name that a creation or a rename gives is not UTF-8: the name given here only resembles it. */
  readonly givesOddName: boolean;
  /** The event's details of the operation (options, indexes, ...), as decodeSpec reads them. */
  readonly description: Document;
}

export type ChangeEvent = DocumentEvent | CatalogEvent;

const eventFields = new ElementPicker([
  'operationType',
  'collectionUUID',
  'documentKey',
  'fullDocument',
  'rawUpdateDescription',
  '_id',
  'clusterTime',
]);
const keyFields = new ElementPicker(['_id']);
const updateFields = new ElementPicker(['diff']);

/**
 * Reads a change event; only its top level if it is about a document.
 * @throws MalformedAnswer if it lacks what its kind must have: the caller then opens the stream again at that place. SyncError
 * ChangeNotSupported for an unknown event that does not say what it is about.
 */
export function parseChangeEvent(event: RawDocument): ChangeEvent {
  const {
    operationType,
    collectionUUID,
    documentKey,
    fullDocument,
    rawUpdateDescription,
    ...rest
  } = eventFields.pick(event);
  const { _id, clusterTime } = rest;
  const operation = textValue(needed(operationType, 'operationType'));
  documentElement(_id, '_id');
  requireType(needed(clusterTime, 'clusterTime'), bsonType.timestamp);
  const uuidHex = (): string => uuidHexValue(needed(collectionUUID, 'collectionUUID'));
  switch (operation) {
    case 'insert':
    case 'replace':
      return {
        type: 'document',
        collection: uuidHex(),
        change: {
          kind: operation,
          key: keyOf(documentKey),
          document: documentValue(needed(fullDocument, 'fullDocument')),
        },
      };
    case 'update': {
      const description = documentElement(rawUpdateDescription, 'rawUpdateDescription');
      const { diff } = updateFields.pick(description.bytes, description.offset);
      return {
        type: 'document',
        collection: uuidHex(),
        change: { kind: 'update', key: keyOf(documentKey), diff: documentElement(diff, 'diff') },
      };
    }
    case 'delete':
      return {
        type: 'document',
        collection: uuidHex(),
        change: { kind: 'delete', key: keyOf(documentKey) },
      };
    default:
      return parseCatalogEvent(event);
  }
}

function parseCatalogEvent(event: RawDocument): CatalogEvent {
  const decoded = checkedRow(decodeSpec(event), 'a change event');
  const operation = decoded.field('operationType').text();
  if (decoded.optional('ns') === undefined && fateOfEvent(operation) === 'refused')
    throw new SyncError('ChangeNotSupported', `${operation} on the source is not supported`);
  const named = decoded.optional('to') ?? decoded.field('ns');
  const description = decodeSpec(decoded.optional('operationDescription')?.raw().bytes ?? nothing);
  const uuid = decoded.optional('collectionUUID')?.uuid();
  checkCatalogEvent(operation, decoded, checkedRow(description, `a change event of ${operation}`));
  return {
    type: 'catalog',
    operation,
    time: decoded.field('clusterTime').timestamp(),
    namespace: namespaceOf(decoded.field('ns'), operation === 'dropDatabase'),
    uuid,
    to: decoded.optional('to') && namespaceOf(decoded.field('to'), false),
    givesOddName: isOdd(named),
    description,
  };
}

const nothing = Uint8Array.of(5, 0, 0, 0, 0);

/**
 * Checks the fields that are used of each kind of event: without them something else would be applied than what happened
 * (6.0.5).
 */
function checkCatalogEvent(
  operation: string,
  event: CheckedValue,
  description: CheckedValue,
): void {
  switch (operation) {
    case 'create':
    case 'modify':
      event.field('operationDescription');
      // Views have none.
      if (description.optional('viewOn') === undefined) event.field('collectionUUID');
      return;
    case 'createIndexes':
    case 'dropIndexes':
      event.field('collectionUUID');
      requireArray(description.field('indexes').raw());
      return;
    case 'rename':
      event.field('collectionUUID');
      event.field('operationDescription');
      event.field('to');
      description.optional('dropTarget')?.uuid();
      return;
    case 'shardCollection':
      event.field('collectionUUID');
      description.field('shardKey').raw();
      return;
    default:
  }
}

function requireArray({ type }: RawValue): void {
  if (type !== bsonType.array)
    throw new MalformedAnswer('a change event whose indexes are not an array');
}

function namespaceOf(value: CheckedValue, isDatabase: boolean): Namespace {
  const { db, coll } = decodeSpec(value.raw().bytes);
  return { db: textOf(db), coll: isDatabase ? '' : textOf(coll) };
}

function textOf(name: unknown): string {
  const text = name instanceof RawValue ? name.decode() : name;
  if (typeof text !== 'string') throw new MalformedAnswer('a change event without its namespace');
  return text;
}

function isOdd(namespace: CheckedValue): boolean {
  const names = Object.values(decodeSpec(namespace.raw().bytes));
  return names.some((name) => name instanceof RawValue);
}

/** The size of a document with only an `_id`, apart from the value: length, type, name, end. */
const bytesAroundId = 4 + 1 + 4 + 1;

function keyOf(documentKey: RawElement | undefined): DocumentKey {
  const { bytes, offset, length } = documentElement(documentKey, 'documentKey');
  const id = needed(keyFields.pick(bytes, offset)._id, 'documentKey._id');
  const isPlaced = length > id.length + bytesAroundId;
  const exactly = isPlaced ? { offset, length } : id;
  const exact = `${id.type}:${asBuffer(bytes).toString('latin1', exactly.offset, exactly.offset + exactly.length)}`;
  const placed = isPlaced ? bytes.subarray(offset, offset + length) : undefined;
  // canonicalKey would return the same.
  const canonical = id.type === bsonType.objectId && !isPlaced ? exact : canonicalKey(id);
  return { id, placed, exact, canonical };
}

function documentElement(element: RawElement | undefined, name: string): RawElement {
  const found = needed(element, name);
  requireType(found, bsonType.document);
  return found;
}

function needed<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new MalformedAnswer(`a change event without ${name}`);
  return value;
}

/** The time of a change event, from its field clusterTime. @throws MalformedAnswer if it is not a timestamp. */
export function eventTime(clusterTime: RawElement | undefined): Timestamp {
  if (clusterTime === undefined) throw new MalformedAnswer('a change event without clusterTime');
  return checkedRow({ clusterTime: decodeElement(clusterTime) }, 'a change event')
    .field('clusterTime')
    .timestamp();
}

/** The namespace of a change of a document, from its field ns. @throws MalformedAnswer if it is not a namespace. */
export function eventNamespace(ns: RawElement): Namespace {
  return namespaceIn(checkedRow({ ns: decodeElement(ns) }, 'a change event').field('ns'));
}
