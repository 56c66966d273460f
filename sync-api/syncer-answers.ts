import { numberOf, objectOf, textOf, textsOf } from '../service/json-fields.ts';
import { redactValue } from '../service/redact.ts';
import type { TopologyAnswer } from './json.ts';

/*
 * Reads the answers of a sync tool, ours or another one: mongosync omits fields, has others, and has its own states. Undefined: a
 * tool does not report the value, or does not know it.
 */

/** The progress of an instance of a sync, as it reports it. */
export interface ReportedProgress {
  /** One of the contract, or another tool's name for it. */
  readonly state: string;
  readonly info: string | undefined;
  /** ISO time. */
  readonly startedAt: string | undefined;
  /** Identifies the options that the sync was started with. */
  readonly optionsDigest: string | undefined;
  /** How many times the sync was reversed. */
  readonly reversals: number | undefined;
  /** How many times the sync was repaired. */
  readonly repairs: number | undefined;
  readonly canCommit: boolean;
  /**
   * True until a commit is refused or completed; false if it is proven that none is under way; null if the tool knows neither.
   */
  readonly commitUnderWay: boolean | null | undefined;
  /** What prevents a commit from being accepted, once everything is copied. */
  readonly commitObstacle: string | undefined;
  readonly canWrite: boolean | undefined;
  readonly lagTimeSeconds: number | undefined;
  readonly estimatedTotalBytes: number | undefined;
  readonly estimatedCopiedBytes: number | undefined;
  /** `<name>: <host>:<port>`. */
  readonly source: string | undefined;
  readonly destination: string | undefined;
  /** From cluster0 to cluster1, or back. */
  readonly direction: 'Forward' | 'Reverse' | undefined;
  readonly syncerID: string | undefined;
  readonly coordinatorID: string | undefined;
  readonly totalEventsApplied: number | undefined;
  readonly estimatedSecondsToCatchUp: number | undefined;
  readonly estimatedOplogTimeRemainingSeconds: number | undefined;
  /** Of the indexes that are built after the copy. */
  readonly indexBuilding: IndexBuilding | undefined;
  /** Of a sync that was repaired, or whose destination had a copy at the start. */
  readonly reconciliation: Reconciliation | undefined;
  /** Undefined for a tool that has none. */
  readonly limits: ReportedLimits | undefined;
  readonly warnings: readonly string[];
  /** As received, except that users and passwords in connection strings are redacted. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** How many indexes there are to build, and how many are built. */
export interface IndexBuilding {
  readonly built: number;
  readonly total: number;
}

/** What was compared with the documents that the destination had already. */
export interface Reconciliation {
  readonly comparedDocuments: number;
  /** Those that differed: replaced, inserted or deleted. */
  readonly changedDocuments: number;
}

/** What a sync may demand of the servers, and what that costs. */
export interface ReportedLimits {
  /** As they were given last. */
  readonly requested: Readonly<Record<string, unknown>>;
  /** What work waits for at the moment. */
  readonly heldBackBy: readonly string[];
  /** Of the copy and the changes: those that took longer. */
  readonly secondsHeldBack: number;
  /** From 0 to 1. */
  readonly shareOfLastMinute: number;
}

/** The `info` while documents are copied. */
export const copyInfo = 'collection copy';

/** The prefix of a warning about what is in the way of a commit. */
export const commitObstaclePrefix = 'commit: not possible now: ';

/** Reads `progress` of a syncer's answer, just received or stored. Undefined if it has no state, and so is none. */
export function readProgress(progress: unknown): ReportedProgress | undefined {
  // Another tool may reveal what ours does not.
  const raw = objectOf(redactValue(progress));
  const state = textOf(raw['state']);
  if (state === undefined) return undefined;
  const copy = objectOf(raw['collectionCopy']);
  const mapping = objectOf(raw['directionMapping']);
  const [source, destination] = [textOf(mapping['Source']), textOf(mapping['Destination'])];
  const warnings = textsOf(raw['warnings']);
  const commitUnderWay = raw['commitUnderWay'];
  return {
    state,
    info: textOf(raw['info']),
    startedAt: textOf(raw['startedAt']),
    optionsDigest: textOf(raw['optionsDigest']),
    reversals: countOf(raw['reversals']),
    repairs: countOf(raw['repairs']),
    canCommit: raw['canCommit'] === true,
    commitUnderWay: commitUnderWay === null ? null : booleanOf(commitUnderWay),
    commitObstacle: obstacleIn(warnings),
    canWrite: booleanOf(raw['canWrite']),
    // Recent versions of mongosync report the lag by kinds of events.
    lagTimeSeconds:
      countOf(raw['lagTimeSeconds']) ?? countOf(objectOf(raw['lag'])['overallLagSeconds']),
    estimatedTotalBytes: countOf(copy['estimatedTotalBytes']),
    estimatedCopiedBytes: countOf(copy['estimatedCopiedBytes']),
    source,
    destination,
    direction: directionOf(source),
    syncerID: instanceIdOf(raw['syncerID']),
    coordinatorID: instanceIdOf(raw['coordinatorID']),
    totalEventsApplied: countOf(raw['totalEventsApplied']),
    estimatedSecondsToCatchUp: countOf(raw['estimatedSecondsToCatchUp']),
    estimatedOplogTimeRemainingSeconds: countOf(raw['estimatedOplogTimeRemainingSeconds']),
    indexBuilding: indexBuildingIn(raw['indexBuilding']),
    reconciliation: reconciliationIn(raw['reconciliation']),
    limits: limitsIn(raw['limits']),
    warnings,
    raw,
  };
}

/**
 * Whether an instance's report proves that no commit is under way. For a tool that does not say: either a commit request will
 * succeed, or its state excludes one.
 */
export function tellsNoCommit({
  state,
  canCommit,
  commitUnderWay,
}: Pick<ReportedProgress, 'state' | 'canCommit' | 'commitUnderWay'>): boolean {
  return commitUnderWay === undefined ? canCommit || state === 'PAUSED' : commitUnderWay === false;
}

/** The progress of a collection that is copied by one or several instances. */
export interface ReportedCollection {
  readonly namespace: string;
  readonly totalBytes: number;
  readonly copiedBytes: number;
  readonly isCopied: boolean;
}

/** The collections that are copied: the first of them, and their number. */
export interface ReportedCollections {
  readonly collections: readonly ReportedCollection[];
  readonly total: number;
  readonly copied: number;
}

/** Reads an answer of GET /collections; undefined if it lists none. */
export function readCollections(body: unknown): ReportedCollections | undefined {
  const { collections: list, total, copied } = objectOf(body);
  if (!Array.isArray(list)) return undefined;
  const collections = list.map(objectOf).map((one) => ({
    namespace: textOf(one['namespace']) ?? '',
    totalBytes: countOf(one['estimatedTotalBytes']) ?? 0,
    copiedBytes: countOf(one['estimatedCopiedBytes']) ?? 0,
    isCopied: one['isCopied'] === true,
  }));
  return {
    collections,
    total: Math.max(collections.length, countOf(total) ?? 0),
    copied: countOf(copied) ?? copiedAmong(collections),
  };
}

/** What is known of the collections of all instances together. */
export interface CombinedCollections extends ReportedCollections {
  /** Otherwise there are at least so many, and at least so many are copied. */
  readonly isExact: boolean;
  /** How many instances do not answer, or list none: one that has restarted does not know yet what it copies. */
  readonly unknownInstances: number;
}

/**
 * Combines the collections that several instances copy parts of. Each lists only the first of them, so that any that it does not list
 * may be one of another instance: a collection is copied only if no instance can still have to copy a part of it.
 */
export function combineCollections(
  lists: readonly ReportedCollections[],
  instanceCount: number,
): CombinedCollections {
  const known = lists.filter(({ total }) => total > 0);
  const unknownInstances = instanceCount - known.length;
  const parts = Map.groupBy(
    known.flatMap((list) => list.collections.map((one) => ({ one, list }))),
    ({ one }) => one.namespace,
  );
  const hiding = known.filter((list) => hiddenPending(list) > 0);
  const collections = Array.from(parts, ([namespace, its]) => ({
    namespace,
    totalBytes: Math.max(...its.map(({ one }) => one.totalBytes)),
    copiedBytes: its.reduce((sum, { one }) => sum + one.copiedBytes, 0),
    isCopied:
      unknownInstances === 0 &&
      its.every(({ one }) => one.isCopied) &&
      hiding.every((each) => its.some(({ list }) => list === each)),
  }));
  const total = Math.max(collections.length, ...known.map((list) => list.total));
  const pending = [...parts.values()].filter((its) => its.some(({ one }) => !one.isCopied));
  const mostPending = known.reduce((sum, list) => sum + hiddenPending(list), pending.length);
  return {
    collections,
    total,
    copied: unknownInstances === 0 ? Math.max(0, total - mostPending) : 0,
    isExact: unknownInstances === 0 && (known.length === 1 || known.every(isWhole)),
    unknownInstances,
  };
}

/** The same collections once the initial copy is done: then all are copied, even what an instance does not list. */
export function allCopied(combined: CombinedCollections): CombinedCollections {
  const collections = combined.collections.map((one) => ({ ...one, isCopied: true }));
  return { ...combined, collections, copied: combined.total };
}

function isWhole({ collections, total }: ReportedCollections): boolean {
  return collections.length === total;
}

/** How many collections an instance does not list although it has not copied its part of them. */
function hiddenPending({ collections, total, copied }: ReportedCollections): number {
  const listed = collections.length - copiedAmong(collections);
  return Math.max(0, total - copied - listed);
}

function copiedAmong(collections: readonly ReportedCollection[]): number {
  return collections.filter(({ isCopied }) => isCopied).length;
}

/** Reads an answer of GET /topology; undefined if it does not say what the source is. */
export function readTopology(body: unknown): TopologyAnswer['topology'] | undefined {
  const { kind, shards } = objectOf(objectOf(body)['topology']);
  if (kind !== 'replicaSet' && kind !== 'sharded') return undefined;
  const ids = textsOf(shards);
  const isWhole = Array.isArray(shards) && ids.length === shards.length;
  return isWhole ? { kind, shards: ids } : undefined;
}

/** Whatever an instance reports, more of it does not help. */
const maxObstacleLength = 500;

function obstacleIn(warnings: readonly string[]): string | undefined {
  return warnings
    .find((text) => text.startsWith(commitObstaclePrefix))
    ?.slice(commitObstaclePrefix.length, commitObstaclePrefix.length + maxObstacleLength);
}

/** A sync is started from cluster0 to cluster1. */
function directionOf(source: string | undefined): ReportedProgress['direction'] {
  const [name] = source?.split(':') ?? [];
  if (name === 'cluster0') return 'Forward';
  return name === 'cluster1' ? 'Reverse' : undefined;
}

function indexBuildingIn(value: unknown): IndexBuilding | undefined {
  const { indexesBuilt, totalIndexesToBuild } = objectOf(value);
  const [built, total] = [countOf(indexesBuilt), countOf(totalIndexesToBuild)];
  return built === undefined || total === undefined ? undefined : { built, total };
}

function reconciliationIn(value: unknown): Reconciliation | undefined {
  const { comparedDocuments, changedDocuments } = objectOf(value);
  const [compared, changed] = [countOf(comparedDocuments), countOf(changedDocuments)];
  if (compared === undefined || changed === undefined) return undefined;
  return { comparedDocuments: compared, changedDocuments: changed };
}

function limitsIn(value: unknown): ReportedLimits | undefined {
  const { requested, heldBackBy, secondsHeldBack, shareOfLastMinute } = objectOf(value);
  if (typeof requested !== 'object' || requested === null) return undefined;
  return {
    requested: objectOf(requested),
    heldBackBy: textsOf(heldBackBy),
    secondsHeldBack: largestOf(secondsHeldBack),
    shareOfLastMinute: Math.min(1, largestOf(shareOfLastMinute)),
  };
}

/** The larger one of what is said of the copy and of the changes. */
function largestOf(value: unknown): number {
  const { copy, changes } = objectOf(value);
  return Math.max(0, numberOf(copy) ?? 0, numberOf(changes) ?? 0);
}

function booleanOf(value: unknown): boolean | undefined {
  return typeof value === 'boolean' ? value : undefined;
}

/** No instance has a longer one: such a text is meaningless. */
const maxIdLength = 1024;

function instanceIdOf(value: unknown): string | undefined {
  const id = textOf(value);
  return id === undefined || id.length > maxIdLength ? undefined : id;
}

/** A number below 0, or too large to be exact, is meaningless. */
function countOf(value: unknown): number | undefined {
  const count = numberOf(value);
  return count === undefined || count < 0 || count > Number.MAX_SAFE_INTEGER
    ? undefined
    : Math.round(count);
}
