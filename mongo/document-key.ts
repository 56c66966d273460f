import { bsonType, elementsOf, RawWriter, type RawDocument, type RawElement } from './raw-bson.ts';
import type { ShardKey } from './shard-key.ts';

/** Identifies the document of a change. */
export interface DocumentKey {
  readonly id: RawElement;
  /** The id and the shard key of a document that was in a sharded collection, `{k: 1, _id: 5}`; undefined for others. */
  readonly placed: RawDocument | undefined;
  /** The exact bytes of the key, with the id's type, as a text: equal only for the same bytes. */
  readonly exact: string;
  /** Equal for all ids that are equal to the server (see canonicalKey). */
  readonly canonical: string;
}

const none = { type: bsonType.null, bytes: new Uint8Array(), offset: 0, length: 0 };

/**
 * The query for the one document with an id and a shard key, `{_id: 5, k: 1}`. Events omit the fields of the shard key that a
 * document does not have: the server treats those as null.
 */
export function placedQuery({ id, placed }: DocumentKey, shardKey: ShardKey | null): RawDocument {
  const values = placed === undefined ? [] : elementsOf(placed);
  const writer = new RawWriter((placed ?? id).length + 64).value('_id', id);
  for (const { field } of shardKey ?? [])
    if (field !== '_id') writer.value(field, values.find(({ name }) => name === field) ?? none);
  return writer.finish();
}

/** Whether an id and a shard key, `{k: 1, _id: 5}`, have no fields other than the id and those of this shard key. */
export function hasNoOtherFields(placed: RawDocument, shardKey: ShardKey): boolean {
  return elementsOf(placed).every(
    ({ name }) => name === '_id' || shardKey.some(({ field }) => field === name),
  );
}
