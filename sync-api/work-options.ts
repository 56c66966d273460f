import type { OptionTable } from '../service/options.ts';

/** How hard a syncer works: options of its program, and of those that start it. */
export const syncerWorkOptions = {
  copyWorkers: {
    type: 'integer',
    range: [1, 100],
    description:
      'partitions and collections copied in parallel by each syncer, with three batches in progress for each; by default 8 to 16, and as many batches as increase the throughput',
  },
  applyWorkers: {
    type: 'integer',
    range: [1, 64],
    description:
      'batches of changes applied in parallel by each syncer; by default 4 to 64, as many as increase the throughput',
  },
} as const satisfies OptionTable;

/** The limit of what a verifier reads, as an option of its program, and of those that start it. */
export const readLimitOption = {
  type: 'integer',
  range: [1, Number.MAX_SAFE_INTEGER],
  description:
    'limit in bytes per second of documents read by this process, both sides together; unlimited by default',
} as const satisfies OptionTable[string];

/** The members that a verifier reads, as connection strings name them. */
export const readPreferences = [
  'primary',
  'primaryPreferred',
  'secondary',
  'secondaryPreferred',
  'nearest',
] as const;
