import type { ClusterSync } from '../api/clustersync.ts';
import { holderKey, type LeaseHolder } from '../leases/lease-holder.ts';
import type { ObjectLookup } from '../operand/object-cache.ts';
import type { WatchedNamespaces } from '../operand/watched-namespaces.ts';
import type { ClaimWitnesses } from './destination-claims.ts';

/**
 * What the caches show of the holders of Leases. In a namespace of another operator, only that operator can tell who is gone; in one that
 * cannot be read now, nobody can.
 */
export function holderSight(
  watched: Pick<WatchedNamespaces, 'isKnown' | 'isUnseen'>,
  clusterSyncs: Pick<ObjectLookup<ClusterSync>, 'get'>,
): Pick<ClaimWitnesses, 'isGone' | 'isUnseen'> {
  return {
    isGone: (holder: LeaseHolder) =>
      watched.isKnown(holder.namespace) &&
      clusterSyncs.get(holderKey(holder))?.metadata.uid !== holder.uid,
    isUnseen: ({ namespace }) => watched.isUnseen(namespace),
  };
}
