import type { Document } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { RawCursor } from './raw-cursor.ts';
import { bsonType, type RawDocument } from './raw-bson.ts';
import { RawValue } from './raw-value.ts';
import { decodeSpec } from './specification.ts';

/**
 * What a command finds in the config database of a sharded cluster, where its router keeps how collections are placed.
 * Documents in it, as bounds and keys, stay bytes. Not for chunks: all is held at once.
 */
export async function readConfig(
  { raw }: ClusterClient,
  command: Document,
  signal: AbortSignal,
): Promise<Document[]> {
  const read = { ...command, readConcern: { level: 'majority' } };
  await using cursor = await RawCursor.open(raw, 'config', read, { signal });
  const rows: Document[] = [];
  for await (const { documents } of cursor.batches()) rows.push(...documents.map(readable));
  return rows;
}

/** With names as they are shown, also those that are not UTF-8: no collection of such a name is synced. */
function readable(row: RawDocument): Document {
  const fields = Object.entries(decodeSpec(row));
  return Object.fromEntries(
    fields.map(([name, value]) => {
      const isOdd = value instanceof RawValue && value.type === bsonType.string;
      return [name, isOdd ? value.decode() : value];
    }),
  );
}
