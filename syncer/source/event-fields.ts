import type { Timestamp } from 'mongodb';
import { checkedRow } from '../../mongo/checked-value.ts';
import { MalformedAnswer } from '../../mongo/malformed-answer.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import type { RawElement } from '../../mongo/raw-bson.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { namespaceIn } from '../../mongo/stored-document.ts';

/** The time of a change event, by its field clusterTime. @throws MalformedAnswer where it is none. */
export function eventTime(clusterTime: RawElement | undefined): Timestamp {
  if (clusterTime === undefined) throw new MalformedAnswer('a change event without clusterTime');
  return checkedRow({ clusterTime: decodeElement(clusterTime) }, 'a change event')
    .field('clusterTime')
    .timestamp();
}

/** The namespace of a change of a document, by its field ns. @throws MalformedAnswer where it is none. */
export function eventNamespace(ns: RawElement): Namespace {
  return namespaceIn(checkedRow({ ns: decodeElement(ns) }, 'a change event').field('ns'));
}
