import type { Document, UUID } from 'mongodb';
import { isAtMost } from '../../mongo/cluster-time.ts';
import { type Namespace, namespaceText } from '../../mongo/namespace.ts';
import { SyncError } from '../../service/errors.ts';
import type { CatalogEvent } from '../source/change-event.ts';
import type { TrackedCollection } from '../store/records.ts';

/** Events of one transaction have the same time: a change as old as the state may be missing in it, and does no harm twice. */
export function isNews({ specifiedAt }: TrackedCollection, { time }: CatalogEvent): boolean {
  return isAtMost(specifiedAt, time);
}

/**
 * Collections that the server makes temporarily: when renaming into another database, or converting to capped. They are copied
 * when they get their final name.
 */
export function isTemporary({ coll }: Namespace, options: Document): boolean {
  return options['temp'] === true && /^tmp[A-Za-z0-9]{5}\./.test(coll);
}

/** The error for a destination catalog that does not match the earlier events. */
export function unexpected(
  { operation, namespace }: Pick<CatalogEvent, 'operation' | 'namespace'>,
  found: string,
): SyncError {
  return new SyncError(
    'InternalError',
    `${operation} of ${namespaceText(namespace)}, but ${found}`,
  );
}

/**
 * A server gives the UUID of each dropped collection, and none for a view. A drop without a UUID where a collection was at that
 * time is wrong; if it was skipped, the collection would stay on the destination.
 * @param standing - what is known under the name; it may have come later than the event.
 * @throws SyncError InternalError.
 */
export function requireView(
  event: Pick<CatalogEvent, 'operation' | 'namespace' | 'time'>,
  standing: Pick<TrackedCollection, 'namedBy'> | undefined,
): void {
  if (event.operation !== 'drop' || !standing || isAtMost(event.time, standing.namedBy)) return;
  throw unexpected(
    event,
    'a collection already exists there, and the event does not report its UUID',
  );
}

/** True for the collection at a rename's target that the rename dropped. */
export function isDropTarget({ description }: CatalogEvent, { uuid }: TrackedCollection): boolean {
  const dropped = description['dropTarget'] as UUID | undefined;
  return dropped !== undefined && uuid.equals(dropped);
}
