import { BSON, type Document } from 'mongodb';
import { namespaceText } from '../../mongo/namespace.ts';
import { anyOf } from '../../mongo/id-groups.ts';
import type { RawElement } from '../../mongo/raw-bson.ts';
import { RawCursor } from '../../mongo/raw-cursor.ts';
import { readConcernNow } from './read-concern.ts';
import { SyncError } from '../../service/errors.ts';
import type { TrackedCollection } from '../store/records.ts';
import { locateCollection } from './locate-collection.ts';
import type { SourceContext } from './source-context.ts';

/**
 * Makes sure that a sharded source has no two documents of one of these ids, on different shards: it does not prevent that,
 * and where both would come on one shard of the destination, there is no room for the second. Read at one time, as a document
 * that is on its way to another shard would be seen twice.
 * @throws SyncError DuplicateIds.
 */
export async function checkDuplicateIds(
  context: Pick<SourceContext, 'source' | 'monitor' | 'signal'>,
  collection: Pick<TrackedCollection, 'uuid' | 'namespace' | 'shardKey'>,
  ids: readonly RawElement[],
): Promise<void> {
  const { source, signal } = context;
  // A shard has each of its own once.
  if (ids.length === 0 || collection.shardKey === null) return;
  const now = await locateCollection(context, collection.uuid);
  if (!now) return;
  const { db, coll } = now.namespace;
  const pipeline = [
    { $match: anyOf(ids) },
    { $group: { _id: '$_id', count: { $sum: 1 } } },
    { $match: { count: { $gt: 1 } } },
    { $limit: 1 },
  ];
  await using cursor = await RawCursor.open(
    source.raw,
    db,
    {
      aggregate: coll,
      pipeline,
      cursor: {},
      readConcern: readConcernNow(context, collection.shardKey),
    },
    { signal },
  );
  for await (const { documents } of cursor.batches()) {
    const [found] = documents;
    if (found === undefined) continue;
    const { _id } = BSON.deserialize(found, { promoteValues: false });
    throw new SyncError(
      'DuplicateIds',
      `${namespaceText(now.namespace)} has several documents with the _id ${BSON.EJSON.stringify(_id as Document)}, on different shards of the source`,
    );
  }
}
