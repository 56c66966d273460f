import { SyncError } from '../../service/errors.ts';
import type { ClusterName } from '../options/start-body.ts';
import { findRecord } from '../store/find-record.ts';
import type { Topologies } from '../store/clusters.ts';
import { requireMember } from '../store/instances.ts';
import type { LiveSync } from '../store/live-sync.ts';
import type { SyncRecord } from '../store/records.ts';
import type { ResetDestination } from '../options/reset-body.ts';
import type { SyncStore } from '../store/store.ts';
import { resetError } from '../store/reset-error.ts';

/** Where the record of a sync is looked for. */
export interface RecordPlaces {
  /** Of this instance. */
  readonly id: string;
  readonly topologies: Topologies;
  readonly live: LiveSync;
  readonly storeOn: (cluster: ClusterName) => SyncStore;
}

/** Attempts to record a reset beside others that change the sync. */
const maxAttempts = 5;

/** Of such a sync no user may have written to the destination, in whichever direction. */
const cleanable: Pick<SyncRecord, 'reversals' | 'writableTime'> = {
  reversals: 0,
  writableTime: null,
};

/** What has become of a reset that this instance was given. */
export type Receipt =
  /** With the sync as it is stored then; undefined where there is none. */
  | { readonly kind: 'received'; readonly record: SyncRecord | undefined }
  /** By CleanNotAllowed; by ResetUnderWay where it is being reset to do less. */
  | { readonly kind: 'refused'; readonly error: SyncError };

/**
 * Records that this instance has been given a reset. May be repeated.
 * @throws SyncError NotAnInstance.
 */
export async function receiveReset(
  places: RecordPlaces,
  destination: ResetDestination,
): Promise<Receipt> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const found = await findStoredSync(places);
    if (!found) return { kind: 'received', record: undefined };
    requireMember(found, places.id);
    const store = places.storeOn(found.destination.name);
    if (await store.receiveReset(found, destination, cleanable))
      return { kind: 'received', record: await findStoredSync(places) };
    const now = await findStoredSync(places);
    const error = now && refusalOf(now, destination);
    if (error) return { kind: 'refused', error };
  }
  throw new SyncError('SupersededByOtherInstance', 'the sync is given other commands elsewhere');
}

/** @throws SyncError what the reset was refused by. */
export function recordOf(receipt: Receipt): SyncRecord | undefined {
  switch (receipt.kind) {
    case 'received':
      return receipt.record;
    case 'refused':
      throw receipt.error;
  }
}

/** The sync as it is stored. A source that is not needed for that need not be there. */
export async function findStoredSync({
  topologies,
  live,
  storeOn,
}: RecordPlaces): Promise<SyncRecord | undefined> {
  const known = live.storedOrNone;
  const on = known && !known.options.reversible ? [known.destination.name] : undefined;
  return await findRecord(topologies, storeOn, on);
}

function refusalOf(record: SyncRecord, destination: ResetDestination): SyncError | undefined {
  const { reset, reversals, writableTime, options } = record;
  if (reset !== null) return reset.destination === destination ? undefined : resetError(record);
  const isCleanable = reversals === cleanable.reversals && writableTime === cleanable.writableTime;
  if (destination !== 'Clean' || isCleanable) return undefined;
  return new SyncError(
    'CleanNotAllowed',
    `the destination (${options.destination}) is in use since a commit of this sync, and is not cleaned`,
  );
}
