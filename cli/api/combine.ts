import {
  detailFigures,
  summaryFigures,
  type DetailFigures,
  type SummaryFigures,
} from '../../sync-api/sync-figures.ts';
import { tellsNoCommit, type ReportedProgress } from '../../sync-api/syncer-answers.ts';

/** States of a sync, in the order in which it goes through them. */
const syncStates = ['IDLE', 'PAUSED', 'RUNNING', 'COMMITTING', 'COMMITTED'] as const;
export type SyncState = (typeof syncStates)[number];

/** A sync, combined from the reports of its instances. */
export interface SyncProgress extends SummaryFigures, DetailFigures {
  /** The state of the instance furthest behind: an unknown state counts as further behind than any other. */
  readonly state: string;
  readonly startedAt: string | null;
  /** The largest; null if no instance reports it. */
  readonly reversals: number | null;
  /** Whether every instance can. */
  readonly canCommit: boolean;
  /** True if an instance says so; false if all say that there is none. */
  readonly commitUnderWay: boolean | null;
  readonly canWrite: boolean | null;
  /** That of the first instance in this state. */
  readonly info: string | null;
  readonly source: string | null;
  readonly destination: string | null;
  readonly coordinatorId: string | null;
  readonly instances: readonly ReportedProgress[];
}

/** Combines the reports of a sync's instances; undefined if there are none. */
export function combineProgress(instances: readonly ReportedProgress[]): SyncProgress | undefined {
  const [first] = instances;
  if (!first) return undefined;
  const leader = leastFar(instances) ?? first;
  const reversals = instances.flatMap((one) => one.reversals ?? []);
  return {
    state: leader.state,
    startedAt: leader.startedAt ?? null,
    reversals: reversals.length === 0 ? null : Math.max(...reversals),
    canCommit: instances.every(({ canCommit }) => canCommit),
    commitUnderWay: commitUnderWayOf(instances),
    canWrite: leader.canWrite ?? null,
    info: leader.info ?? null,
    source: leader.source ?? null,
    destination: leader.destination ?? null,
    coordinatorId: leader.coordinatorID ?? null,
    ...summaryFigures(instances),
    ...detailFigures(instances),
    instances,
  };
}

/** A sync whose instances do not answer: what passes with time is not known of it. */
export function withoutTimes(sync: SyncProgress): SyncProgress {
  return { ...sync, lagSeconds: null, catchUpSeconds: null, oplogSeconds: null };
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

/** Null if the instance does not say: states that only another tool has are unknown. */
function isCommitUnderWay(instance: ReportedProgress): boolean | null {
  const { state, commitUnderWay } = instance;
  if (state === 'IDLE' || state === 'COMMITTED') return false;
  if (state === 'COMMITTING' || commitUnderWay === true) return true;
  return tellsNoCommit(instance) ? false : null;
}
