import { SyncError } from '../../service/errors.ts';
import type { ResetDestination } from '../options/command-bodies.ts';
import type { ClusterPair } from '../store/clusters.ts';
import { digestMismatch, resetError } from '../store/instances.ts';
import type { SyncRecord } from '../store/records.ts';

/** Attempts to record a reset while others change the sync. */
const maxAttempts = 5;

/** The conditions under which no user can have written to the destination, in either direction. */
const cleanable: Pick<SyncRecord, 'reversals' | 'writableTime'> = {
  reversals: 0,
  writableTime: null,
};

/** The outcome of a reset that this instance was given. */
export type Receipt =
  /** With the sync as stored then; undefined if there is none. */
  | { readonly kind: 'received'; readonly record: SyncRecord | undefined }
  /** With DifferentSync; with CleanNotAllowed; with ResetUnderWay if it is being reset to do less. */
  | { readonly kind: 'refused'; readonly error: SyncError };

/** Which sync a reset is for: that with this digest of its start options, undefined for any; or that which was started then. */
export type ResetScope = { readonly digest: string | undefined } | Pick<SyncRecord, 'startedAt'>;

/**
 * Records that this instance has been given a reset. May be repeated.
 * @param known - the sync as this process knows it; undefined if it knows none. Another one may be stored.
 * @throws SyncError NotAnInstance.
 */
export async function receiveReset(
  pair: ClusterPair,
  known: SyncRecord | undefined,
  destination: ResetDestination,
  scope: ResetScope,
): Promise<Receipt> {
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const found = await findStoredSync(pair, known);
    if (!found) return { kind: 'received', record: undefined };
    const mismatch = mismatchOf(found, scope);
    if (mismatch) return { kind: 'refused', error: mismatch };
    pair.requireMember(found);
    const store = pair.recordOn(found.destination.name);
    const isReceived = await store.receiveReset(found, destination, cleanable);
    const now = await findStoredSync(pair, known);
    // The other instances may have ended it by now, and another one may have begun.
    if (isReceived) return { kind: 'received', record: now && isOf(now, found) ? now : undefined };
    const error = now && (mismatchOf(now, scope) ?? refusalOf(now, destination));
    if (error) return { kind: 'refused', error };
  }
  throw new SyncError(
    'SupersededByOtherInstance',
    'the sync has received other commands elsewhere',
  );
}

/** @throws SyncError the reason why the reset was refused. */
export function recordOf(receipt: Receipt): SyncRecord | undefined {
  switch (receipt.kind) {
    case 'received':
      return receipt.record;
    case 'refused':
      throw receipt.error;
  }
}

/**
 * The sync as stored. A source that is not needed for that may be unreachable.
 * @param known - the sync as this process knows it; undefined if it knows none.
 */
export async function findStoredSync(
  pair: ClusterPair,
  known: SyncRecord | undefined,
): Promise<SyncRecord | undefined> {
  return await pair.findRecord(
    known && !known.options.reversible ? [known.destination.name] : undefined,
  );
}

function isOf({ startedAt }: SyncRecord, sync: Pick<SyncRecord, 'startedAt'>): boolean {
  return startedAt.getTime() === sync.startedAt.getTime();
}

function mismatchOf(record: SyncRecord, scope: ResetScope): SyncError | undefined {
  if ('digest' in scope) return digestMismatch(scope.digest, record);
  return isOf(record, scope)
    ? undefined
    : new SyncError('DifferentSync', 'another sync was started since');
}

function refusalOf(record: SyncRecord, destination: ResetDestination): SyncError | undefined {
  const { reset, reversals, writableTime, options } = record;
  if (reset !== null) return reset.destination === destination ? undefined : resetError(record);
  const isCleanable = reversals === cleanable.reversals && writableTime === cleanable.writableTime;
  if (destination !== 'Clean' || isCleanable) return undefined;
  return new SyncError(
    'CleanNotAllowed',
    `the destination (${options.destination}) has been in use since a commit of this sync, and is not cleaned`,
  );
}
