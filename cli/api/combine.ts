import {
  syncStates,
  type CollectionCopy,
  type CollectionList,
  type InstanceProgress,
  type SyncState,
} from './syncer-api.ts';

/** A sync, put together from what its instances say. */
export interface SyncProgress {
  /** That of the instance that is least far. */
  readonly state: SyncState;
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
  readonly indexes: InstanceProgress['indexes'];
  /** Each once. */
  readonly warnings: readonly string[];
  readonly instances: readonly InstanceProgress[];
}

/** Puts together what the instances of a sync say; undefined where there is none. */
export function combineProgress(instances: readonly InstanceProgress[]): SyncProgress | undefined {
  const [first] = instances;
  if (!first) return undefined;
  const state =
    syncStates.find((each) => instances.some((one) => one.state === each)) ?? first.state;
  const leader = instances.find((one) => one.state === state) ?? first;
  const known = (field: NumberField): number[] =>
    instances.map((one) => one[field]).filter((value) => value !== null);
  const isKnown = (field: NumberField): boolean => known(field).length === instances.length;
  const indexes = instances.map((one) => one.indexes).filter((one) => one !== null);
  return {
    state,
    startedAt: leader.startedAt,
    reversals: known('reversals').length > 0 ? Math.max(...known('reversals')) : null,
    canCommit: instances.every(({ canCommit }) => canCommit),
    commitUnderWay: commitUnderWayOf(instances),
    canWrite: leader.canWrite,
    info: leader.info,
    lagSeconds: isKnown('lagSeconds') ? Math.max(...known('lagSeconds')) : null,
    totalBytes: known('totalBytes').length > 0 ? Math.max(...known('totalBytes')) : null,
    copiedBytes: sumOf(known('copiedBytes')),
    source: leader.source,
    destination: leader.destination,
    coordinatorId: leader.coordinatorId,
    eventsApplied: sumOf(known('eventsApplied')),
    catchUpSeconds: isKnown('catchUpSeconds') ? Math.max(...known('catchUpSeconds')) : null,
    oplogSeconds: known('oplogSeconds').length > 0 ? Math.min(...known('oplogSeconds')) : null,
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

function commitUnderWayOf(instances: readonly InstanceProgress[]): boolean | null {
  if (instances.some(({ commitUnderWay }) => commitUnderWay === true)) return true;
  return instances.every(({ commitUnderWay }) => commitUnderWay === false) ? false : null;
}

type NumberField =
  | 'reversals'
  | 'lagSeconds'
  | 'totalBytes'
  | 'copiedBytes'
  | 'eventsApplied'
  | 'catchUpSeconds'
  | 'oplogSeconds';

function sumOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0);
}

/** Puts together the collections that several instances copy parts of. One is copied when each has done its part. */
export function combineCollections(lists: readonly CollectionList[]): CollectionList {
  const found = new Map<string, CollectionCopy>();
  for (const one of lists.flatMap(({ collections }) => collections)) {
    const other = found.get(one.namespace);
    found.set(one.namespace, {
      namespace: one.namespace,
      totalBytes: Math.max(one.totalBytes, other?.totalBytes ?? 0),
      copiedBytes: one.copiedBytes + (other?.copiedBytes ?? 0),
      isCopied: one.isCopied && (other?.isCopied ?? true),
    });
  }
  const [only] = lists;
  if (only && lists.length === 1) return { ...only, collections: [...found.values()] };
  return {
    collections: [...found.values()],
    total: Math.max(found.size, ...lists.map(({ total }) => total)),
    copied: [...found.values()].filter(({ isCopied }) => isCopied).length,
  };
}
