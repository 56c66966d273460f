import type { Document } from 'mongodb';
import type { ClusterClient } from './cluster-client.ts';
import { RawCursor } from './raw-cursor.ts';
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
  for await (const { documents } of cursor.batches()) rows.push(...documents.map(decodeSpec));
  return rows;
}
