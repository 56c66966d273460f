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

/** A workload that an attempt to commit takes down, and what it is to have again. */
export interface HeldWorkload extends WorkloadRef {
  /** Of the workload that was found: a namesake that is made later has its own size. */
  readonly uid: string;
  /** Pods that it was to have. */
  readonly replicas: number;
}

/** Why an attempt is given up. */
export type HoldEnd = 'DeadlineMissed' | 'NotAskedFor' | 'OptionsChanged';

/**
 * An attempt to commit for which workloads are taken down. It is on record before the first of them is, until the last has
 * its size again or is left at zero for good: whoever goes on has to know what there was.
 */
export interface Hold {
  readonly holder: LeaseHolder;
  readonly direction: Direction;
  /** See {@link hashOfOptions}. */
  readonly optionsHash: string;
  /** Milliseconds since 1970. */
  readonly sinceMs: number;
  readonly workloads: readonly HeldWorkload[];
  /** Set before a commit is sent, milliseconds since 1970: from then on it may have been taken, whatever is known. */
  readonly commitSentMs?: number;
  /** Set when the attempt is given up, before the first workload gets its size: it is not gone on with then. */
  readonly ending?: HoldEnd;
}

const prefix = 'clustersync-hold-';
const holdAnnotation = 'clustersync.dev/hold';

/** The name of the Lease with the hold of a ClusterSync. */
export function holdName({ uid }: Pick<LeaseHolder, 'uid'>): string {
  return `${prefix}${uid}`;
}

/** Whether a Lease has a hold in it. */
export function isHoldLease({ metadata }: Lease): boolean {
  return metadata.name.startsWith(prefix);
}

/** A hold, as it is stored. */
export function leaseOf({ holder, ...hold }: Hold): LeaseDraft {
  const { spec, annotations } = heldBy(holder);
  return { spec, annotations: { ...annotations, [holdAnnotation]: JSON.stringify(hold) } };
}

/** The hold in a Lease. @throws TypeError where somebody has changed it: then nothing is known, and nothing to be guessed. */
export function readHold(lease: Lease): Hold {
  const holder = readHolder(lease);
  const hold: unknown = JSON.parse(lease.metadata.annotations?.[holdAnnotation] ?? 'null');
  if (!holder || !isHold(hold)) {
    throw new TypeError(`the Lease ${lease.metadata.name} holds no valid replicas of workloads`);
  }
  return { ...hold, holder };
}

/** Tells options of one attempt from those of the next. */
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
