import {
  elementsOf,
  stringValue,
  type RawDocument,
  type RawElement,
} from '../../mongo/raw-bson.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { keyOfElement, type IdKey } from '../compare/id-key.ts';

/** What a change does to the number of documents: one more, one less, or the same. */
export type DocumentEffect = 'insert' | 'delete' | 'update';

/** What a change event means for a comparison. */
export type ObservedChange =
  | {
      readonly kind: 'document';
      readonly namespace: Namespace;
      readonly id: IdKey;
      readonly effect: DocumentEffect;
    }
  | { readonly kind: 'metadata'; readonly namespace: Namespace }
  | { readonly kind: 'whole'; readonly namespaces: readonly Namespace[] }
  | { readonly kind: 'database'; readonly db: string };

/** The fields of an event that `observedChange` needs, as a $project stage. */
export const neededFields = { operationType: 1, ns: 1, to: 1, documentKey: 1 } as const;

/** Reads a change event, of which no more than `neededFields` need be there. */
export function observedChange(event: RawDocument): ObservedChange {
  let operationType = '';
  let ns: RawElement | undefined;
  let to: RawElement | undefined;
  let documentKey: RawElement | undefined;
  for (const element of elementsOf(event)) {
    if (element.name === 'operationType') operationType = stringValue(element);
    else if (element.name === 'ns') ns = element;
    else if (element.name === 'to') to = element;
    else if (element.name === 'documentKey') documentKey = element;
  }
  const { db, coll } = namespaceOf(ns);
  if (operationType === 'dropDatabase' || coll === undefined) return { kind: 'database', db };
  const namespace = { db, coll };
  switch (operationType) {
    case 'insert':
    case 'delete':
      return { kind: 'document', namespace, id: idOf(documentKey), effect: operationType };
    case 'update':
    case 'replace':
      return { kind: 'document', namespace, id: idOf(documentKey), effect: 'update' };
    // These change no document.
    case 'createIndexes':
    case 'dropIndexes':
    case 'modify':
    case 'refineCollectionShardKey':
      return { kind: 'metadata', namespace };
    default: {
      const target = to && namespaceOf(to);
      return target?.coll === undefined
        ? { kind: 'whole', namespaces: [namespace] }
        : { kind: 'whole', namespaces: [namespace, { db: target.db, coll: target.coll }] };
    }
  }
}

function namespaceOf(element: RawElement | undefined): { db: string; coll: string | undefined } {
  let db: string | undefined;
  let coll: string | undefined;
  for (const part of element ? elementsOf(element.bytes, element.offset) : []) {
    if (part.name === 'db') db = stringValue(part);
    else if (part.name === 'coll') coll = stringValue(part);
  }
  if (db === undefined) throw new Error('a change event without a namespace');
  return { db, coll };
}

function idOf(documentKey: RawElement | undefined): IdKey {
  const elements = documentKey ? elementsOf(documentKey.bytes, documentKey.offset) : [];
  const id = elements.find(({ name }) => name === '_id');
  if (!id) throw new Error('a change event without a document key');
  return keyOfElement(id);
}
