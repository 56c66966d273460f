import { createHash } from 'node:crypto';
import type { ClusterSyncSpec, Direction } from '../api/clustersync.ts';
import type { Lease } from '../kube/builtin-resources.ts';
import type { LeaseDraft } from '../leases/lease-book.ts';
import { heldBy, readHolder, type LeaseHolder } from '../leases/lease-holder.ts';

/** `spec.commit`. */
export type CommitOptions = ClusterSyncSpec['commit'];

/** A workload in the namespace of the ClusterSync. */
export interface WorkloadRef {
  readonly kind: 'Deployment' | 'StatefulSet';
  readonly name: string;
}

/** A workload that an attempt to commit scales down, and the size to restore. */
export interface HeldWorkload extends WorkloadRef {
  /** Of the workload that was found: a later namesake has its own size. */
  readonly uid: string;
  /** Its desired number of pods. */
  readonly replicas: number;
}

/** Why an attempt is abandoned. */
export type HoldEnd = 'DeadlineMissed' | 'NotAskedFor' | 'OptionsChanged';

/**
 * An attempt to commit that scales workloads down. It is recorded from before the first is scaled down until the last has
 * its size again or is left at zero for good: an operator that continues must know the previous sizes.
 */
export interface Hold {
  readonly holder: LeaseHolder;
  readonly direction: Direction;
  /** See {@link hashOfOptions}. */
  readonly optionsHash: string;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly workloads: readonly HeldWorkload[];
  /**
   * Set before a commit is sent, milliseconds since 1970: from then on it may have been accepted, whatever is known. Unset again once an
   * abandoned attempt is known to have none.
   */
  readonly commitSentMs?: number;
  /**
   * Set before it is published that the commit was carried out: `workloadsAfterCommit`, which holds even if the ClusterSync is deleted
   * from then on.
   */
  readonly afterCommit?: CommitOptions['workloadsAfterCommit'];
  /** Set when the attempt is abandoned, before the first workload gets its size back: then only a commit by hand continues it. */
  readonly ending?: HoldEnd;
}

const prefix = 'clustersync-hold-';
const holdAnnotation = 'clustersync.dev/hold';

/** The name of the Lease with the hold of a ClusterSync. */
export function holdName({ uid }: Pick<LeaseHolder, 'uid'>): string {
  return `${prefix}${uid}`;
}

/** Whether a Lease contains a hold. */
export function isHoldLease({ metadata }: Lease): boolean {
  return metadata.name.startsWith(prefix);
}

/** A hold, as it is stored. */
export function leaseOf({ holder, ...hold }: Hold): LeaseDraft {
  const { spec, annotations } = heldBy(holder);
  return { spec, annotations: { ...annotations, [holdAnnotation]: JSON.stringify(hold) } };
}

/** The hold in a Lease. @throws TypeError if somebody has changed it: then its content is unknown, and must not be guessed. */
export function readHold(lease: Lease): Hold {
  const holder = readHolder(lease);
  const hold: unknown = JSON.parse(lease.metadata.annotations?.[holdAnnotation] ?? 'null');
  if (!holder || !isHold(hold)) {
    throw new TypeError(`the Lease ${lease.metadata.name} holds no valid replicas of workloads`);
  }
  return { ...hold, holder };
}

/** Tells the options of one attempt from those of the next. */
export function hashOfOptions(options: CommitOptions): string {
  return createHash('sha256').update(JSON.stringify(options)).digest('hex').slice(0, 16);
}

function isHold(value: unknown): value is Omit<Hold, 'holder'> {
  if (typeof value !== 'object' || value === null) return false;
  const { sinceMs, optionsHash, direction, workloads } = value as Partial<
    Record<keyof Hold, unknown>
  >;
  return (
    typeof sinceMs === 'number' &&
    typeof optionsHash === 'string' &&
    (direction === 'Forward' || direction === 'Reverse') &&
    Array.isArray(workloads) &&
    workloads.every(isHeldWorkload)
  );
}

function isHeldWorkload(value: unknown): value is HeldWorkload {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, name, uid, replicas } = value as Partial<Record<keyof HeldWorkload, unknown>>;
  return (
    (kind === 'Deployment' || kind === 'StatefulSet') &&
    typeof name === 'string' &&
    typeof uid === 'string' &&
    Number.isSafeInteger(replicas)
  );
}
