import {
  tellsNoCommit,
  type IndexBuilding,
  type ReportedProgress,
} from '../../sync-api/syncer-answers.ts';

/** States of a sync, in the order in which it goes through them. */
const syncStates = ['IDLE', 'PAUSED', 'RUNNING', 'COMMITTING', 'COMMITTED'] as const;
export type SyncState = (typeof syncStates)[number];

/** A sync, put together from what its instances say. */
export interface SyncProgress {
  /** That of the instance that is least far: one that has a state of its own before all others. */
  readonly state: string;
  readonly startedAt: string | null;
  /** The largest; null where no instance says it. */
  readonly reversals: number | null;
  /** Every instance can. */
  readonly canCommit: boolean;
  /** True where an instance says so; false where all say that none is. */
  readonly commitUnderWay: boolean | null;
  readonly canWrite: boolean | null;
  /** That of the first instance that is in this state. */
  readonly info: string | null;
  /** The largest. */
  readonly lagSeconds: number | null;
  readonly totalBytes: number | null;
  /** By all together. */
  readonly copiedBytes: number | null;
  readonly source: string | null;
  readonly destination: string | null;
  readonly coordinatorId: string | null;
  readonly eventsApplied: number | null;
  /** The largest; null where one instance does not know. */
  readonly catchUpSeconds: number | null;
  /** The smallest. */
  readonly oplogSeconds: number | null;
  readonly indexes: IndexBuilding | null;
  /** Each once. */
  readonly warnings: readonly string[];
  readonly instances: readonly ReportedProgress[];
}

/** Puts together what the instances of a sync say; undefined where there is none. */
export function combineProgress(instances: readonly ReportedProgress[]): SyncProgress | undefined {
  const [first] = instances;
  if (!first) return undefined;
  const leader = leastFar(instances) ?? first;
  const known = (field: NumberField): number[] =>
    instances.map((one) => one[field]).filter((value) => value !== undefined);
  const isKnown = (field: NumberField): boolean => known(field).length === instances.length;
  const indexes = instances.flatMap(({ indexBuilding }) => indexBuilding ?? []);
  return {
    state: leader.state,
    startedAt: leader.startedAt ?? null,
    reversals: largest(known('reversals')),
    canCommit: instances.every(({ canCommit }) => canCommit),
    commitUnderWay: commitUnderWayOf(instances),
    canWrite: leader.canWrite ?? null,
    info: leader.info ?? null,
    lagSeconds: isKnown('lagTimeSeconds') ? largest(known('lagTimeSeconds')) : null,
    totalBytes: largest(known('estimatedTotalBytes')),
    copiedBytes: sumOf(known('estimatedCopiedBytes')),
    source: leader.source ?? null,
    destination: leader.destination ?? null,
    coordinatorId: leader.coordinatorID ?? null,
    eventsApplied: sumOf(known('totalEventsApplied')),
    catchUpSeconds: isKnown('estimatedSecondsToCatchUp')
      ? largest(known('estimatedSecondsToCatchUp'))
      : null,
    oplogSeconds: smallest(known('estimatedOplogTimeRemainingSeconds')),
    indexes:
      indexes.length === 0
        ? null
        : {
            built: indexes.reduce((sum, { built }) => sum + built, 0),
            total: indexes.reduce((sum, { total }) => sum + total, 0),
          },
    warnings: [...new Set(instances.flatMap(({ warnings }) => warnings))],
    instances,
  };
}

function leastFar(instances: readonly ReportedProgress[]): ReportedProgress | undefined {
  const order: readonly string[] = syncStates;
  const places = instances.map(({ state }) => order.indexOf(state));
  return instances[places.indexOf(Math.min(...places))];
}

function commitUnderWayOf(instances: readonly ReportedProgress[]): boolean | null {
  const told = instances.map(isCommitUnderWay);
  if (told.includes(true)) return true;
  return told.every((each) => each === false) ? false : null;
}

/** Null where the instance does not say: what a state means that another tool alone has, nobody knows. */
function isCommitUnderWay(instance: ReportedProgress): boolean | null {
  const { state, commitUnderWay } = instance;
  if (state === 'IDLE' || state === 'COMMITTED') return false;
  if (state === 'COMMITTING' || commitUnderWay === true) return true;
  return tellsNoCommit(instance) ? false : null;
}

type NumberField =
  | 'reversals'
  | 'lagTimeSeconds'
  | 'estimatedTotalBytes'
  | 'estimatedCopiedBytes'
  | 'totalEventsApplied'
  | 'estimatedSecondsToCatchUp'
  | 'estimatedOplogTimeRemainingSeconds';

function largest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.max(...values);
}

function smallest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.min(...values);
}

function sumOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}
