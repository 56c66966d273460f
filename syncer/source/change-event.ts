import { UUID, type Document, type Timestamp } from 'mongodb';
import { canonicalKey } from '../../mongo/canonical-id.ts';
import { ElementPicker } from '../../mongo/element-scan.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import {
  asBuffer,
  bsonType,
  stringValue,
  valueBytes,
  type RawDocument,
  type RawElement,
} from '../../mongo/raw-bson.ts';
import { RawValue } from '../../mongo/raw-value.ts';
import { decodeSpec } from '../../mongo/specification.ts';
import type { DocumentKey } from '../../mongo/document-key.ts';

/** A change of one document. Values are bytes, shared with the event. */
export type DocumentChange =
  | {
      readonly kind: 'insert' | 'replace';
      readonly key: DocumentKey;
      readonly document: RawDocument;
    }
  | { readonly kind: 'update'; readonly key: DocumentKey; readonly diff: RawElement }
  | { readonly kind: 'delete'; readonly key: DocumentKey };

/** About the bytes that go to the destination for a change. */
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
  /** Where a rename leads. */
  readonly to: Namespace | undefined;
  /** True where the name that a creation or a rename gives is not UTF-8: what it is called here is only like it. */
  readonly givesOddName: boolean;
  /** What the event says of the operation (options, indexes, ...), as decodeSpec reads it. */
  readonly description: Document;
}

export type ChangeEvent = DocumentEvent | CatalogEvent;

const eventFields = new ElementPicker([
  'operationType',
  'collectionUUID',
  'documentKey',
  'fullDocument',
  'rawUpdateDescription',
]);
const keyFields = new ElementPicker(['_id']);
const updateFields = new ElementPicker(['diff']);

/** Reads a change event, its top level alone where it is of a document. */
export function parseChangeEvent(event: RawDocument): ChangeEvent {
  const { operationType, collectionUUID, documentKey, fullDocument, rawUpdateDescription } =
    eventFields.pick(event);
  const operation = operationType ? stringValue(operationType) : '';
  // int32 length, subtype byte, 16 bytes
  const collection = collectionUUID
    ? asBuffer(event).toString('hex', collectionUUID.offset + 5, collectionUUID.offset + 21)
    : '';
  switch (operation) {
    case 'insert':
    case 'replace':
      return {
        type: 'document',
        collection,
        change: {
          kind: operation,
          key: keyOf(documentKey),
          document: valueBytes(needed(fullDocument, 'fullDocument')),
        },
      };
    case 'update': {
      const description = needed(rawUpdateDescription, 'rawUpdateDescription');
      const { diff } = updateFields.pick(description.bytes, description.offset);
      return {
        type: 'document',
        collection,
        change: { kind: 'update', key: keyOf(documentKey), diff: needed(diff, 'diff') },
      };
    }
    case 'delete':
      return { type: 'document', collection, change: { kind: 'delete', key: keyOf(documentKey) } };
    default:
      return parseCatalogEvent(event);
  }
}

function parseCatalogEvent(event: RawDocument): CatalogEvent {
  const decoded = decodeSpec(event);
  const uuid = decoded['collectionUUID'] as UUID | undefined;
  return {
    type: 'catalog',
    operation: String(decoded['operationType']),
    time: decoded['clusterTime'] as Timestamp,
    namespace: namespaceOf(decoded['ns']),
    uuid: uuid === undefined ? undefined : new UUID(uuid.buffer),
    to: decoded['to'] === undefined ? undefined : namespaceOf(decoded['to']),
    givesOddName: isOdd(decoded['to'] ?? decoded['ns']),
    description: decodedFields(decoded['operationDescription']),
  };
}

function namespaceOf(value: unknown): Namespace {
  const { db, coll } = decodedFields(value) as Readonly<Record<string, unknown>>;
  return { db: textOf(db), coll: textOf(coll) };
}

function isOdd(namespace: unknown): boolean {
  return Object.values(decodedFields(namespace)).some((name) => name instanceof RawValue);
}

function textOf(name: unknown): string {
  const text = name instanceof RawValue ? name.decode() : name;
  return typeof text === 'string' ? text : '';
}

function decodedFields(value: unknown): Document {
  return value instanceof RawValue ? decodeSpec(value.bytes) : {};
}

/** Of a document with an `_id` alone: its length, the type, the name, the end. */
const bytesAroundId = 4 + 1 + 4 + 1;

function keyOf(documentKey: RawElement | undefined): DocumentKey {
  const { bytes, offset, length } = needed(documentKey, 'documentKey');
  const id = needed(keyFields.pick(bytes, offset)._id, 'documentKey._id');
  const isPlaced = length > id.length + bytesAroundId;
  const exactly = isPlaced ? { offset, length } : id;
  const exact = `${id.type}:${asBuffer(bytes).toString('latin1', exactly.offset, exactly.offset + exactly.length)}`;
  const placed = isPlaced ? bytes.subarray(offset, offset + length) : undefined;
  // canonicalKey makes the same of it.
  const canonical = id.type === bsonType.objectId && !isPlaced ? exact : canonicalKey(id);
  return { id, placed, exact, canonical };
}

function needed<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`a change event without ${name}`);
  return value;
}
