import { SeededRandom } from '../ground/workload/seeded-random.ts';

export type SideName = 'source' | 'destination';

/** One thing that goes wrong, and passes. */
export type Fault =
  /** SIGKILL; started again after `forMs`. */
  | { readonly kind: 'kill the syncer'; readonly forMs: number }
  /** SIGSTOP, then SIGCONT. */
  | { readonly kind: 'stop the syncer'; readonly forMs: number }
  /** It may allocate no more memory, and dies of it; started again after `forMs`. */
  | { readonly kind: 'starve the syncer'; readonly forMs: number }
  | { readonly kind: 'step down'; readonly side: SideName }
  /** SIGKILL; started again after `forMs`, when another member may have been elected. */
  | { readonly kind: 'kill the primary'; readonly side: SideName; readonly forMs: number }
  /** SIGSTOP, then SIGCONT: connections stay open, and nothing answers. */
  | { readonly kind: 'stop the primary'; readonly side: SideName; readonly forMs: number }
  /**
   * Between the syncer and one or all members. `refuse`: all connections break, new ones too; `freeze`: nothing comes
   * through, and nothing says so; `strand`: so it is for ever on the connections there are, and new ones work; `cut`: the
   * connections break, new ones work.
   */
  | {
      readonly kind: 'break the network';
      readonly how: 'refuse' | 'freeze' | 'strand' | 'cut';
      readonly side: SideName;
      readonly of: 'the primary' | 'all members';
      readonly forMs: number;
    };

/** A fault and its time, from the beginning of its stage on. Faults may overlap. */
export interface ScheduledFault {
  readonly atMs: number;
  readonly fault: Fault;
}

/** What happens in one run: everything but the servers' own timing follows from the seed and the length. */
export interface FaultSchedule {
  readonly buildIndexes: 'beforeDataCopy' | 'afterDataCopy';
  readonly enableUserWriteBlocking: boolean;
  /** How far away the sides are from the syncer. */
  readonly roundTripsMs: Readonly<Record<SideName, number>>;
  /** How long users write, from the start of the sync on. */
  readonly writingMs: number;
  /** From the start of the sync on. */
  readonly sync: readonly ScheduledFault[];
  /** From the first commit request on. */
  readonly commit: readonly ScheduledFault[];
  /** When pause is given, and how long after it is taken resume is. */
  readonly pauses: readonly ScheduledPause[];
}

/** A pause and its time, from the start of the sync on; a later one if one before it lasts so long. */
export interface ScheduledPause {
  readonly atMs: number;
  readonly forMs: number;
}

/** `short`: all in a few seconds; `long`: faults of up to a minute. */
export type ScheduleLength = 'short' | 'long';

const bounds = {
  short: { writingMs: 3_500, faults: 3, minMs: 500, maxMs: 2_500 },
  long: { writingMs: 20_000, faults: 6, minMs: 500, maxMs: 60_000 },
} as const;

/** Draws the faults of a run. */
export function drawSchedule(seed: number, length: ScheduleLength): FaultSchedule {
  const random = new SeededRandom(seed * 7919 + (length === 'long' ? 1 : 0));
  const { writingMs, faults, minMs, maxMs } = bounds[length];
  // As many short ones as long ones, on a scale of orders of magnitude.
  const forMs = (): number => Math.round(minMs * (maxMs / minMs) ** random.next());
  const draw = (count: number, withinMs: number): ScheduledFault[] =>
    Array.from({ length: count }, () => ({
      atMs: random.below(withinMs),
      fault: drawFault(random, forMs),
    })).sort((left, right) => left.atMs - right.atMs);
  return {
    buildIndexes: random.pick(['beforeDataCopy', 'afterDataCopy']),
    enableUserWriteBlocking: random.chance(0.3),
    roundTripsMs: roundTripsOf(seed),
    writingMs,
    sync: draw(1 + random.below(faults), writingMs),
    commit: draw(random.below(3), 600),
    pauses: drawPauses(seed, writingMs),
  };
}

/** One side is far away in each third seed. */
export function roundTripsOf(seed: number): Readonly<Record<SideName, number>> {
  const near = { source: 0, destination: 0 };
  if (seed % 3 !== 0) return near;
  return { ...near, [seed % 2 === 0 ? 'destination' : 'source']: 30 };
}

/** They have numbers of their own, so that the faults of a seed are what they were before there were pauses. */
function drawPauses(seed: number, writingMs: number): ScheduledPause[] {
  const random = new SeededRandom(seed * 104_729);
  return Array.from({ length: random.below(3) }, () => ({
    atMs: random.below(writingMs),
    forMs: random.below(writingMs / 4),
  })).sort((left, right) => left.atMs - right.atMs);
}

function drawFault(random: SeededRandom, forMs: () => number): Fault {
  const side = random.pick(['source', 'destination'] as const);
  return random.weighted<() => Fault>([
    [3, () => ({ kind: 'kill the syncer', forMs: random.below(300) })],
    [1, () => ({ kind: 'stop the syncer', forMs: forMs() })],
    [1, () => ({ kind: 'starve the syncer', forMs: random.below(300) })],
    [2, () => ({ kind: 'step down', side })],
    [3, () => ({ kind: 'kill the primary', side, forMs: forMs() })],
    [2, () => ({ kind: 'stop the primary', side, forMs: forMs() })],
    [
      5,
      () => ({
        kind: 'break the network',
        how: random.pick(['refuse', 'freeze', 'strand', 'cut']),
        side,
        of: random.pick(['the primary', 'all members']),
        forMs: forMs(),
      }),
    ],
  ])();
}

/** The schedule for a person, a line for each fault. */
export function scheduleText(schedule: FaultSchedule): string {
  const { buildIndexes, enableUserWriteBlocking, writingMs, sync, commit, pauses } = schedule;
  const { source, destination } = schedule.roundTripsMs;
  const blocking = enableUserWriteBlocking ? 'with' : 'without';
  return [
    `indexes ${buildIndexes}, ${blocking} write blocking, users write for ${writingMs} ms`,
    `round trips of ${source} ms to the source, of ${destination} ms to the destination`,
    ...sync.map((scheduled) => `start  + ${faultText(scheduled)}`),
    ...pauses.map(({ atMs, forMs }) => `start  + ${timeText(atMs)}: pause, for ${forMs} ms`),
    ...commit.map((scheduled) => `commit + ${faultText(scheduled)}`),
  ].join('\n');
}

function faultText({ atMs, fault }: ScheduledFault): string {
  const { kind, ...rest } = fault;
  const details = Object.entries(rest).map(([name, value]) => `${name} ${String(value)}`);
  return `${timeText(atMs)}: ${[kind, ...details].join(', ')}`;
}

function timeText(ms: number): string {
  return `${String(ms).padStart(5)} ms`;
}
