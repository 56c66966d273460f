import type { Document, WriteConcernSettings } from 'mongodb';
import { exactKey } from '../../mongo/canonical-id.ts';
import { runOnPrimary } from '../../mongo/command-on-router.ts';
import type { Deployment } from '../../mongo/deployment.ts';
import { anyOf, groupsOf, type Identified } from '../../mongo/id-groups.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { asBuffer, idElement, type RawDocument } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { writeAnswer, type WriteAnswer } from '../../mongo/write-answer.ts';

/** What writing documents to the destination needs. */
export interface WriteContext {
  readonly destination: Deployment;
  readonly signal: AbortSignal;
}

const majority: WriteConcernSettings = { w: 'majority' };

/**
 * Sends a write of documents to the destination, and returns its answer: it quotes ids and keys, which may not be UTF-8.
 * Acknowledged by a majority, unless the caller waits for that.
 */
export async function runDocumentWrite(
  { destination, signal }: WriteContext,
  db: string,
  command: Document,
  writeConcern = majority,
): Promise<WriteAnswer> {
  const bson = { enableUtf8Validation: false };
  const write = { ...command, writeConcern };
  return writeAnswer(await runOnPrimary(destination.decoded.db(db), write, signal, bson));
}

/**
 * The changes or documents whose `_id` no document of the destination has, in groups that can be read together. An `_id` that
 * is there in other bytes, such as 1.0 for 1, counts as missing.
 */
export async function* findMissing<T extends Identified>(
  { destination, signal }: WriteContext,
  { db, coll }: Namespace,
  changes: readonly T[],
): AsyncGenerator<readonly T[]> {
  for (const group of groupsOf(changes)) {
    const find = {
      find: coll,
      filter: anyOf(group.map(({ key }) => key.id)),
      projection: { _id: 1 },
    };
    const there = new Set<string>();
    await using cursor = await RawCursor.open(destination.raw, db, find, { signal });
    for await (const { documents } of cursor.batches())
      for (const document of documents) there.add(exactKey(idElement(document)));
    const missing = group.filter(({ key }) => !there.has(exactKey(key.id)));
    if (missing.length > 0) yield missing;
  }
}

/** The documents that the destination does not have byte for byte, whatever it has under their ids. */
export async function findUnequal(
  { destination, signal }: WriteContext,
  { db, coll }: Namespace,
  documents: readonly RawDocument[],
): Promise<RawDocument[]> {
  const unequal: RawDocument[] = [];
  const keyed = documents.map((document) => ({ document, key: { id: idElement(document) } }));
  for (const group of groupsOf(keyed)) {
    const missing = new Set(group.map(({ document }) => document));
    const byId = Map.groupBy(group, ({ key }) => exactKey(key.id));
    const find = { find: coll, filter: anyOf(group.map(({ key }) => key.id)) };
    await using cursor = await RawCursor.open(destination.raw, db, find, { signal });
    for await (const batch of cursor.batches()) {
      for (const there of batch.documents) {
        for (const { document } of byId.get(exactKey(idElement(there))) ?? [])
          if (asBuffer(document).equals(there)) missing.delete(document);
      }
    }
    unequal.push(...missing);
  }
  return unequal;
}
