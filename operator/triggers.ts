import { isDeepStrictEqual } from 'node:util';
import { clusterSyncs, type ClusterSync } from './api/clustersync.ts';
import { syncVerifications, type SyncVerification } from './api/sync-verification.ts';
import type { Lease, Pod } from './kube/builtin-resources.ts';
import type { ObjectHandler } from './kube/delivery.ts';
import type { ObjectEvent } from './kube/object-store.ts';
import { controllerKey } from './kube/owner.ts';
import { objectKey, type KubeObject } from './kube/resource.ts';
import { holderKey, readHolder } from './leases/lease-holder.ts';
import type { ObjectLookup } from './operand/object-cache.ts';
import { ownerAnnotation } from './operand/names.ts';

/** Receives the keys of objects to reconcile. */
export interface Queues {
  readonly clusterSyncs: (key: string) => void;
  readonly syncVerifications: (key: string) => void;
}

/**
 * Queues a custom resource that is new, gone or has a changed spec, but not for a changed status. Somebody waits for a changed
 * spec, so that is urgent. New ones are not: when the operator starts, they may be all that there are.
 */
export function onResource(
  add: (key: string, isUrgent: boolean) => void,
): ObjectHandler<KubeObject> {
  return (event) => {
    const isUpdated = event.kind === 'updated';
    if (isUpdated && !isChanged(event.old, event.object)) return;
    add(objectKey(event.object.metadata), isUpdated);
  };
}

/** Queues the owner of a changed object that the operator created. */
export function onOwned(queues: Queues): ObjectHandler<KubeObject> {
  return ({ object }) => {
    const syncKey = controllerKey(object, clusterSyncs);
    if (syncKey !== undefined) queues.clusterSyncs(syncKey);
    const verificationKey = controllerKey(object, syncVerifications);
    if (verificationKey !== undefined) queues.syncVerifications(verificationKey);
  };
}

/** Queues the resource that a pod is for. */
export function onPod(queues: Queues): ObjectHandler<Pod> {
  return ({ object: { metadata } }) => {
    const [kind, name] = metadata.annotations?.[ownerAnnotation]?.split('/') ?? [];
    if (name === undefined) return;
    const key = objectKey({ namespace: metadata.namespace, name });
    if (kind === clusterSyncs.kind) queues.clusterSyncs(key);
    if (kind === syncVerifications.kind) queues.syncVerifications(key);
  };
}

/** Queues the ClusterSync that holds a Lease, even if it is gone, so that the Lease is released. */
export function onLease(add: (key: string) => void): ObjectHandler<Lease> {
  return ({ object }) => {
    const holder = readHolder(object);
    if (holder) add(holderKey(holder));
  };
}

/** Queues the verifications of a ClusterSync when it is created, deleted, or reaches a milestone. */
export function onVerifiedSync(
  add: (key: string) => void,
  verifications: ObjectLookup<SyncVerification>,
): ObjectHandler<ClusterSync> {
  return (event) => {
    if (event.kind === 'updated' && !isMilestone(event)) return;
    const { name, namespace } = event.object.metadata;
    for (const { metadata, spec } of verifications.list()) {
      if (metadata.namespace !== namespace || spec.clusterSyncRef.name !== name) continue;
      add(objectKey(metadata));
    }
  };
}

/** Queues the ClusterSync of a SyncVerification: whether it is ready to commit depends on that. */
export function onVerification(
  add: (key: string) => void,
  clusterSyncs: ObjectLookup<ClusterSync>,
): ObjectHandler<SyncVerification> {
  return (event) => {
    const { namespace } = event.object.metadata;
    const named = event.kind === 'updated' ? [event.object, event.old] : [event.object];
    const keys = named.map(({ spec }) => objectKey({ namespace, name: spec.clusterSyncRef.name }));
    for (const key of new Set(keys)) if (clusterSyncs.get(key)) add(key);
  };
}

function isChanged({ metadata: old }: KubeObject, { metadata }: KubeObject): boolean {
  return (
    old.uid !== metadata.uid ||
    old.generation !== metadata.generation ||
    old.deletionTimestamp !== metadata.deletionTimestamp
  );
}

function isMilestone({
  object,
  old,
}: Extract<ObjectEvent<ClusterSync>, { kind: 'updated' }>): boolean {
  const milestones = ({ status }: ClusterSync): unknown => [
    // It follows the verifications.
    status?.conditions?.filter(({ type }) => type !== 'ReadyToCommit'),
    status?.direction,
    status?.startedAt,
  ];
  return !isDeepStrictEqual(milestones(object), milestones(old));
}
