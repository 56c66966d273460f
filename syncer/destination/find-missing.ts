import { asBuffer, idElement, valueBytes, type RawElement } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import type { TrackedCollection } from '../store/records.ts';
import type { DestinationContext } from './destination-context.ts';
import { anyOf, groupsOf, type Identified } from '../../mongo/id-groups.ts';

/**
 * Those of some changes or documents whose `_id` no document of the destination has, in groups that can be read together. An `_id` that is
 * there in other bytes, as 1.0 for 1, is taken for missing.
 */
export async function* findMissing<T extends Identified>(
  context: Pick<DestinationContext, 'destination' | 'signal'>,
  { namespace: { db, coll } }: Pick<TrackedCollection, 'namespace'>,
  changes: readonly T[],
): AsyncGenerator<readonly T[]> {
  const { destination, signal } = context;
  for (const group of groupsOf(changes)) {
    const find = {
      find: coll,
      filter: anyOf(group.map(({ key }) => key.id)),
      projection: { _id: 1 },
    };
    const there = new Set<string>();
    await using cursor = await RawCursor.open(destination.raw, db, find, { signal });
    for await (const { documents } of cursor.batches())
      for (const document of documents) there.add(textOf(idElement(document)));
    const missing = group.filter(({ key }) => !there.has(textOf(key.id)));
    if (missing.length > 0) yield missing;
  }
}

function textOf(id: RawElement): string {
  return `${id.type}:${asBuffer(valueBytes(id)).toString('latin1')}`;
}
