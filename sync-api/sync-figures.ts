import type {
  IndexBuilding,
  Reconciliation,
  ReportedLimits,
  ReportedProgress,
} from './syncer-answers.ts';

/* The progress of a sync, combined from the reports of its instances. Undefined: an instance has not reported; null: the figure is unknown. */
type Instances = readonly (ReportedProgress | undefined)[];

/** The main figures of a sync. */
export interface SummaryFigures {
  /** Each instance reports the total for all. */
  readonly totalBytes: number | null;
  /** All instances together. */
  readonly copiedBytes: number | null;
  /** The largest; null if one instance does not know. */
  readonly lagSeconds: number | null;
  /** All instances together; null if one does not report it. */
  readonly eventsApplied: number | null;
  /** Time until the oplog of the source no longer holds what the sync needs: the smallest; null if one instance does not know. */
  readonly oplogSeconds: number | null;
}

/** Additional figures for a view of only this sync. */
export interface DetailFigures {
  /** The largest; null if one instance does not know. */
  readonly catchUpSeconds: number | null;
  /** Indexes that are being built after the copy. */
  readonly indexes: IndexBuilding | null;
  /** What was compared with the documents that the destination had already: all instances together. */
  readonly reconciliation: Reconciliation | null;
  /** What holds the work back, if there are limits, and what that costs: the largest of what the instances report. */
  readonly heldBack: HeldBack | null;
  /** The warnings of the instances, each once. */
  readonly warnings: readonly string[];
}

/** What limits cost. */
export type HeldBack = Omit<ReportedLimits, 'requested'>;

/** The main figures of a sync, from the reports of its instances. */
export function summaryFigures(instances: Instances): SummaryFigures {
  return {
    totalBytes: largest(known(instances, 'estimatedTotalBytes')),
    copiedBytes: sumOf(known(instances, 'estimatedCopiedBytes')),
    lagSeconds: largest(knownToAll(instances, 'lagTimeSeconds')),
    eventsApplied: sumOf(knownToAll(instances, 'totalEventsApplied')),
    oplogSeconds: smallest(knownToAll(instances, 'estimatedOplogTimeRemainingSeconds')),
  };
}

/** The other figures of a sync, from the reports of its instances. */
export function detailFigures(instances: Instances): DetailFigures {
  const indexes = instances.flatMap((one) => one?.indexBuilding ?? []);
  const reconciled = instances.flatMap((one) => one?.reconciliation ?? []);
  const [compared, changed] = [
    sumOf(reconciled.map((one) => one.comparedDocuments)),
    sumOf(reconciled.map((one) => one.changedDocuments)),
  ];
  const [built, total] = [
    sumOf(indexes.map((one) => one.built)),
    sumOf(indexes.map((one) => one.total)),
  ];
  return {
    catchUpSeconds: largest(knownToAll(instances, 'estimatedSecondsToCatchUp')),
    indexes: built === null || total === null ? null : { built, total },
    reconciliation:
      compared === null || changed === null
        ? null
        : { comparedDocuments: compared, changedDocuments: changed },
    heldBack: heldBackOf(instances),
    warnings: [...new Set(instances.flatMap((one) => one?.warnings ?? []))],
  };
}

function heldBackOf(instances: Instances): HeldBack | null {
  const told = instances.flatMap((one) => one?.limits ?? []);
  const isLimited = told.some(
    ({ requested, secondsHeldBack }) => Object.keys(requested).length > 0 || secondsHeldBack >= 1,
  );
  if (!isLimited) return null;
  return {
    heldBackBy: [...new Set(told.flatMap(({ heldBackBy }) => heldBackBy))],
    secondsHeldBack: Math.max(...told.map(({ secondsHeldBack }) => secondsHeldBack)),
    shareOfLastMinute: Math.max(...told.map(({ shareOfLastMinute }) => shareOfLastMinute)),
  };
}

/**
 * The copied share in whole percent. At most 99, since both figures are estimates: only the end of the copy makes it 100.
 * @param totalBytes - 0 while the catalog is read.
 */
export function percentOfCopy(copiedBytes: number, totalBytes: number): number {
  const share = totalBytes === 0 ? 0 : copiedBytes / totalBytes;
  return Math.min(99, Math.floor(share * 100));
}

/** The names of the fields that hold numbers. */
type NumberField = {
  [Name in keyof ReportedProgress]-?: ReportedProgress[Name] extends number | undefined
    ? Name
    : never;
}[keyof ReportedProgress];

function known(instances: Instances, field: NumberField): readonly number[] {
  return instances.map((one) => one?.[field]).filter((value) => value !== undefined);
}

/** Empty if one instance does not report its own. */
function knownToAll(instances: Instances, field: NumberField): readonly number[] {
  const values = known(instances, field);
  return values.length === instances.length ? values : [];
}

function largest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.max(...values);
}

function smallest(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.min(...values);
}

function sumOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}
