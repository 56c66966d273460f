import type { Timestamp } from 'mongodb';
import { isAtMost } from '../../mongo/cluster-time.ts';
import { ElementPicker } from '../../mongo/element-scan.ts';
import { namespaceText, type Namespace } from '../../mongo/namespace.ts';
import type { RawDocument } from '../../mongo/raw-bson.ts';
import { decodeElement } from '../../mongo/raw-value.ts';
import { SyncError } from '../../service/errors.ts';
import type { TrackedCatalog } from '../store/tracked-catalog.ts';

const fields = new ElementPicker(['ns', 'clusterTime']);

/**
 * Looks at a change of a collection whose UUID is not known. Where another stands under its name, which no event has
 * dropped, that one was resharded: it has another UUID since then, and no event tells of it (6.0.5). Not so where that one
 * has replaced the collection by a rename: what a shard writes until it renames as well, its rename drops.
 * @param uuidHex - of the collection, as 32 hexadecimal digits.
 * @throws SyncError ChangeNotSupported.
 */
export function checkResharded(catalog: TrackedCatalog, uuidHex: string, event: RawDocument): void {
  const { ns, clusterTime } = fields.pick(event);
  if (ns === undefined || clusterTime === undefined) return;
  const namespace = decodeElement(ns) as Namespace;
  const tracked = catalog.collectionAt(namespace);
  // Before the catalog was read another collection may have had the name.
  if (!tracked || tracked.replacedUuid?.toHexString(false) === uuidHex) return;
  if (isAtMost(decodeElement(clusterTime) as Timestamp, tracked.namedBy)) return;
  throw reshardedError(namespace);
}

/** The error for a collection that has been resharded since the sync began. */
export function reshardedError(namespace: Namespace): SyncError {
  return new SyncError(
    'ChangeNotSupported',
    `${namespaceText(namespace)} was resharded on the source during the sync, which cannot be followed: start again with an empty destination`,
  );
}
