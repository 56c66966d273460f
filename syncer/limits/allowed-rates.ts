import type { OplogState } from '../monitor/oplog-window.ts';
import type { LimitsNow } from '../options/limit-schedule.ts';
import type { SyncView } from '../store/records.ts';
import type { BrakeName } from '../options/hold-back.ts';
import type { Brake, Reading } from './brakes.ts';

/** What is limited, by the name that people give it. */
export type RateName =
  'maxCopyBytesPerSecond' | 'maxCopyDocumentsPerSecond' | 'maxChangesPerSecond';

/** What is held back: the copy of documents, or changes. */
export type PacedKind = 'copy' | 'changes';

/** How much this instance may do now: undefined for no limit, 0 for nothing. */
export interface AllowedRates {
  readonly copyBytesPerSecond: number | undefined;
  readonly copyDocumentsPerSecond: number | undefined;
  readonly changesPerSecond: number | undefined;
  readonly concurrentBatches: number | undefined;
}

/** What the limits of a moment depend on. */
export interface LimitSituation {
  /** As they are at this time of the day. */
  readonly limits: LimitsNow;
  /** Those of the schedule that this system does not know. */
  readonly unknownTimeZones: readonly string[];
  /** Undefined in IDLE. */
  readonly view: Pick<SyncView, 'state' | 'phase' | 'source' | 'instances'> | undefined;
  /** Hidden if no router shows it. */
  readonly oplogState: OplogState | 'hidden' | null;
  readonly oplogSecondsLeft: number | null;
  /** Of the copy, what is still to be done by this instance; null while unknown. */
  readonly copyLeft: CopyLeft | null;
  /** What would hold the work back by what is measured, unless something wins over it. */
  readonly brakes: readonly Brake[];
  /** What is known of the servers. */
  readonly readings: readonly Reading[];
}

/** How much there is still to copy. */
export interface CopyLeft {
  readonly bytes: number;
  /** Null before any document was copied. */
  readonly documents: number | null;
}

/** What is allowed now, and what people have to know about it. */
export interface Allowance {
  /** By what was requested, apart from what is measured. */
  readonly rates: AllowedRates;
  /** What lets nothing pass now. */
  readonly brakes: Readonly<Record<PacedKind, readonly Brake[]>>;
  readonly warnings: readonly string[];
}

const unlimited: AllowedRates = {
  copyBytesPerSecond: undefined,
  copyDocumentsPerSecond: undefined,
  changesPerSecond: undefined,
  concurrentBatches: undefined,
};

const free: Allowance['brakes'] = { copy: [], changes: [] };

/**
 * How much an instance may do now. The instances divide what is requested for all of them, and never do more together. Nothing is
 * limited once a commit has been accepted: the applications wait for its end.
 *
 * A limit never lets the oplog run out silently: all limits yield while changes are applied and the oplog is short, unless
 * `oplogFirst` is false, and a warning says so. Those of the copy do, too: a change of the catalog may copy a collection, which all
 * changes after it wait for. While nobody can tell how long the oplog lasts, they do not, and a warning says that. During the initial
 * copy its limits stay, and a warning says what they lead to. Brakes are treated alike, but for that of the disk: a full disk ends the
 * destination, and with it the sync.
 */
export function allowedRates(situation: LimitSituation): Allowance {
  const { limits, view } = situation;
  if (view?.state === 'COMMITTING')
    return { rates: unlimited, brakes: free, warnings: liftedWarnings(situation) };
  if (view?.state !== 'RUNNING') return { rates: unlimited, brakes: free, warnings: [] };
  const instances = Math.max(1, view.instances.length);
  const share = (limit: number | undefined): number | undefined =>
    limit === undefined ? undefined : limit / instances;
  const { maxConcurrentBatches } = limits;
  const asked: AllowedRates = {
    copyBytesPerSecond: share(limits.maxCopyBytesPerSecond),
    copyDocumentsPerSecond: share(limits.maxCopyDocumentsPerSecond),
    changesPerSecond: share(limits.maxChangesPerSecond),
    concurrentBatches:
      maxConcurrentBatches === undefined
        ? undefined
        : Math.max(1, Math.floor(maxConcurrentBatches / instances)),
  };
  const doesYield =
    situation.oplogState === 'short' && view.phase === 'changes' && limits.oplogFirst !== false;
  const rates = doesYield ? unlimited : asked;
  const holding = doesYield
    ? situation.brakes.filter(({ limit }) => isOfDisk(limit))
    : situation.brakes;
  const brakes = { copy: holding, changes: holding };
  const warning = warningOf(situation, asked);
  const zones = situation.unknownTimeZones.map(
    (timeZone) =>
      `limits: the windows of the schedule in the time zone ${timeZone} do not apply: this system does not know that time zone`,
  );
  const warnings = [
    ...zones,
    ...(warning === undefined ? [] : [warning]),
    ...shortOplogWarnings(situation, brakes),
    ...unknownWarnings(situation),
  ];
  return { rates, brakes, warnings };
}

function isOfDisk(limit: BrakeName): boolean {
  return limit === 'minFreeDiskPercent';
}

/** `holdBack.a and holdBack.b`. Only what was measured: everything else is about to be. */
function namesOf(brakes: readonly Brake[]): string | undefined {
  const measured = brakes.filter(({ value }) => value !== undefined);
  if (measured.length === 0) return undefined;
  return [...new Set(measured.map(({ limit }) => `holdBack.${limit}`))].join(' and ');
}

function liftedWarnings({ brakes }: LimitSituation): string[] {
  const names = namesOf(brakes);
  return names === undefined
    ? []
    : [`limits: a commit was accepted, and lifts these limits: ${names}`];
}

/** What wins while the oplog is short: it, or what holds back. */
function shortOplogWarnings(
  { limits, view, oplogState, brakes }: LimitSituation,
  { copy, changes }: Allowance['brakes'],
): string[] {
  if (!view || oplogState !== 'short') return [];
  const short = `limits: the oplog of ${view.source.name} runs short`;
  const lost = 'the sync is about to be lost';
  if (view.phase === 'copy') {
    const names = namesOf(copy);
    const warning = `${short}, and ${names} holds the copy back: ${lost}; lift it, or enlarge the oplog (replSetResizeOplog)`;
    return names === undefined ? [] : [warning];
  }
  if (view.phase !== 'changes') return [];
  const yielding = namesOf(brakes.filter((brake) => !changes.includes(brake)));
  const staying = namesOf(changes);
  const reason = limits.oplogFirst === false ? 'oplogFirst: false' : 'a full disk would end both';
  return [
    ...(yielding === undefined
      ? []
      : [
          `${short}: ${yielding} does not apply until the oplog lasts long enough again (oplogFirst)`,
        ]),
    ...(staying === undefined
      ? []
      : [
          `${short}, and ${staying} stays (${reason}): ${lost}; make room on the destination, lift it, or enlarge the oplog (replSetResizeOplog)`,
        ]),
  ];
}

/** What cannot be measured. Such a brake stays as it is. */
function unknownWarnings({ brakes, readings }: LimitSituation): string[] {
  return readings.flatMap(({ limit, side, value, problem }) => {
    if (problem === undefined) return [];
    const holds = brakes.some((brake) => brake.limit === limit && brake.side === side);
    const effect =
      value !== undefined
        ? 'does not count all'
        : holds
          ? 'applies until it can be measured again'
          : 'does not apply';
    return [`limits: holdBack.${limit} ${effect}: ${problem}`];
  });
}

function warningOf(
  { limits, view, oplogState, oplogSecondsLeft, copyLeft }: LimitSituation,
  asked: AllowedRates,
): string | undefined {
  const oplog = `the oplog of ${view?.source.name ?? 'the source'}`;
  const isShort = view?.phase === 'changes' && oplogState === 'short';
  const doesYield = limits.oplogFirst !== false;
  const yielding = requestedOf(limits, isShort && doesYield ? limitNames : changeLimitNames);
  const names = yielding.join(' and ');
  const [does, stays] = yielding.length > 1 ? ['do', 'stay'] : ['does', 'stays'];
  if (yielding.length > 0 && doesYield) {
    if (oplogState === 'hidden' || oplogState === 'unknown')
      return `limits: ${names} ${does} not yield to ${oplog}: ${unknownBecause[oplogState]}`;
    if (isShort)
      return `limits: ${oplog} runs short: ${names} ${does} not apply until the oplog lasts long enough again (oplogFirst)`;
  } else if (yielding.length > 0 && isShort) {
    return `limits: ${oplog} runs short, and ${names} ${stays} (oplogFirst: false): the sync is about to be lost; raise the limit, or enlarge the oplog (replSetResizeOplog)`;
  }
  const seconds = view?.phase === 'copy' && copyLeft ? copySecondsLeft(copyLeft, asked) : null;
  if (seconds === null || oplogSecondsLeft === null || seconds < oplogSecondsLeft) return undefined;
  return `limits: the copy takes longer than ${oplog} lasts, and its limit stays: the sync is lost before the copy is complete; raise the limit, or enlarge the oplog (replSetResizeOplog)`;
}

/** Why nobody can tell how long an oplog lasts. */
const unknownBecause = {
  hidden: 'a sharded cluster does not report how long the oplogs of its shards last',
  unknown: 'it or its statistics cannot be read (local.oplog.rs)',
} as const;

/** What limits changes whenever they are applied, and with what limits the collections that they copy. */
const changeLimitNames = ['maxChangesPerSecond', 'maxConcurrentBatches'] as const;
const limitNames = [
  ...changeLimitNames,
  'maxCopyBytesPerSecond',
  'maxCopyDocumentsPerSecond',
] as const;

/** Those of the limits that were requested. */
function requestedOf<T extends (typeof limitNames)[number]>(
  limits: LimitsNow,
  names: readonly T[],
): T[] {
  return names.filter((name) => limits[name] !== undefined);
}

/** How long the rest of the copy takes at least; null if nothing limits it. */
export function copySecondsLeft(
  { bytes, documents }: CopyLeft,
  {
    copyBytesPerSecond,
    copyDocumentsPerSecond,
  }: Pick<AllowedRates, 'copyBytesPerSecond' | 'copyDocumentsPerSecond'>,
): number | null {
  const times = [
    ...(copyBytesPerSecond === undefined ? [] : [bytes / copyBytesPerSecond]),
    ...(copyDocumentsPerSecond === undefined || documents === null
      ? []
      : [documents / copyDocumentsPerSecond]),
  ];
  return times.length === 0 ? null : Math.max(...times);
}
