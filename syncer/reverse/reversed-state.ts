import type { Timestamp } from 'mongodb';
import type { SyncRecord, TrackedCollection, TrackedView } from '../store/records.ts';

/** What is stored of a sync, and is another after its reversal. */
export interface ReversedState {
  readonly record: SyncRecord;
  readonly collections: readonly TrackedCollection[];
  readonly views: readonly TrackedView[];
}

/**
 * The state of a committed sync after its direction was reversed.
 *
 * The invariant: _at the cluster time `writableTime` of the old destination, the selected namespaces of both clusters
 * were the same, and everything that users wrote to the old destination came later._ It holds because that time is taken
 * when
 *
 * - every change of the old source is applied up to the commit's time, acknowledged by a majority, and that cluster's
 *   users have been blocked since before that time (reversible needs write blocking): nothing is written there any more,
 *   by its TTL monitor neither, which a blocked server leaves idle (seen on 6.0.5);
 * - the old destination has not been unblocked yet. It is taken once: what repeats a commit after a crash keeps it.
 *
 * So the change events of the old destination from that time on, applied in their order to the old source, carry back
 * all that users wrote, and no more. Among them are those of the commit's own steps, which give collections their true
 * characteristics: they change the tracked specifications, which are the true ones all along, to what they are already.
 * They are in their place between the changes of users, so that where a user and the commit changed the same index the
 * last one counts, as it did there.
 *
 * On the old destination all specifications count as known up to that time. Each collection has, on the other cluster,
 * the name that it had at that time, and its two UUIDs change places.
 *
 * @throws Error when the sync is not one that can be reversed.
 */
export function reversedState(
  record: SyncRecord,
  collections: readonly TrackedCollection[],
  views: readonly TrackedView[],
): ReversedState {
  const { writableTime, options, source, destination } = record;
  if (writableTime === null) throw new Error('a sync is reversed that was not committed');
  return {
    record: {
      ...record,
      state: 'RUNNING',
      phase: 'preparing',
      reversals: record.reversals + 1,
      options: { ...options, source: options.destination, destination: options.source },
      source: destination,
      destination: source,
      startTime: writableTime,
      writableTime: null,
      commitTime: null,
      isFixingCommitTime: false,
      canWrite: false,
      catalogTimes: [],
      catalogEvent: null,
      estimatedTotalBytes: 0,
    },
    collections: collections.map((collection) => reversedCollection(collection, writableTime)),
    views: views.map((view) => ({
      ...view,
      specifiedAt: writableTime,
      specifiedBy: writableTime,
    })),
  };
}

function reversedCollection(collection: TrackedCollection, time: Timestamp): TrackedCollection {
  const { uuid, destinationUuid } = collection;
  if (destinationUuid === null) throw new Error('a committed collection is not on the destination');
  return {
    ...collection,
    uuid: destinationUuid,
    destinationUuid: uuid,
    namedAt: time,
    namedBy: time,
    replacedUuid: null,
    specifiedAt: time,
  };
}
