import type { Limits } from '../../sync-api/json.ts';

/** The limits that hold the work back by what is measured on the servers. */
export type HoldBack = NonNullable<Limits['holdBack']>;

/** One of {@link HoldBack}. */
export type BrakeName = keyof HoldBack;

/** The limits that there are, in the order in which they are reported. */
export const brakeNames = [
  'maxReplicationLagSeconds',
  'maxQueuedOperations',
  'maxCacheDirtyPercent',
  'minFreeDiskPercent',
] as const satisfies BrakeName[];
