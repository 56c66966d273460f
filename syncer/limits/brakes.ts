import type { Limits } from '../../sync-api/json.ts';
import { durationText } from '../../service/quantities.ts';

/** The limits that hold the work back by what is measured on the servers. */
export type HoldBack = NonNullable<Limits['holdBack']>;

/** One of {@link HoldBack}. */
export type BrakeName = keyof HoldBack;

/** What is measured for a limit, and where. */
export interface Gauge {
  readonly limit: BrakeName;
  readonly side: 'source' | 'destination';
}

/** What a measurement has brought. */
export interface Reading extends Gauge {
  /** Undefined if there is none. */
  readonly value: number | undefined;
  /** What could not be measured, and what it takes; undefined if everything could be. */
  readonly problem: string | undefined;
}

/** What holds the work back. */
export interface Brake extends Gauge {
  readonly bound: number;
  /** As it was measured last; undefined before the first measurement, until which nothing may pass. */
  readonly value: number | undefined;
}

/** A limit that is exceeded holds until the value is this share of it, so that work does not stop and go. */
const releaseShare = 0.8;

/** The space on a disk moves slowly: this is enough. */
const diskReleasePoints = 1;

const sidesOf: Readonly<Record<BrakeName, readonly Gauge['side'][]>> = {
  maxReplicationLagSeconds: ['destination', 'source'],
  maxQueuedOperations: ['destination'],
  maxCacheDirtyPercent: ['destination'],
  minFreeDiskPercent: ['destination'],
};

/** The limits that there are, in the order in which they are told. */
const brakeNames = [
  'maxReplicationLagSeconds',
  'maxQueuedOperations',
  'maxCacheDirtyPercent',
  'minFreeDiskPercent',
] as const satisfies BrakeName[];

/** What is to be measured. */
export function gaugesOf(holdBack: HoldBack): Gauge[] {
  return brakeNames
    .filter((limit) => holdBack[limit] !== undefined)
    .flatMap((limit) => sidesOf[limit].map((side) => ({ limit, side })));
}

/**
 * What holds the work back now. A brake holds as soon as its limit is exceeded, and until a measurement shows that the value is
 * back by a margin: one that fails neither holds nor releases it.
 * @param readings - the last of each gauge.
 * @param before - what has held it back so far.
 */
export function brakesAfter(
  holdBack: HoldBack,
  readings: readonly Reading[],
  before: readonly Brake[],
): Brake[] {
  return gaugesOf(holdBack).flatMap((gauge): Brake[] => {
    const bound = holdBack[gauge.limit];
    if (bound === undefined) return [];
    const reading = readings.find((each) => isSame(each, gauge));
    if (!reading) return [{ ...gauge, bound, value: undefined }];
    const held = before.find((each) => isSame(each, gauge) && each.value !== undefined);
    const value = reading.value ?? held?.value;
    if (value === undefined) return [];
    const brake = { ...gauge, bound, value };
    const holds = isExceeded(brake) || (held !== undefined && !isBack(brake));
    return holds ? [brake] : [];
  });
}

/** What holds the work back, with what was measured and the limit. */
export function brakeText({ limit, side, bound, value }: Brake): string {
  if (value === undefined) return `holdBack.${limit}: the ${side} is not measured yet`;
  const [what, unit] = wordsOf[limit];
  const until = isExceeded({ limit, bound, value })
    ? ''
    : `, held until ${unit(releaseAt(limit, bound))}`;
  return `${what} the ${side} ${unit(value)}, limit ${unit(bound)}${until}`;
}

const percent = (value: number): string => `${Math.round(value * 10) / 10} %`;

const wordsOf: Readonly<Record<BrakeName, readonly [string, (value: number) => string]>> = {
  maxReplicationLagSeconds: ['replication lag of', durationText],
  maxQueuedOperations: ['queued operations of', (count) => String(Math.floor(count))],
  maxCacheDirtyPercent: ['dirty cache of', percent],
  minFreeDiskPercent: ['free disk of', percent],
};

function isSame(one: Gauge, other: Gauge): boolean {
  return one.limit === other.limit && one.side === other.side;
}

interface Measured {
  readonly limit: BrakeName;
  readonly bound: number;
  readonly value: number;
}

function isExceeded({ limit, bound, value }: Measured): boolean {
  return limit === 'minFreeDiskPercent' ? value < bound : value > bound;
}

function isBack({ limit, bound, value }: Measured): boolean {
  const release = releaseAt(limit, bound);
  return limit === 'minFreeDiskPercent' ? value >= release : value <= release;
}

/** The value at which a brake is released. */
function releaseAt(limit: BrakeName, bound: number): number {
  return limit === 'minFreeDiskPercent'
    ? Math.min(100, bound + diskReleasePoints)
    : bound * releaseShare;
}
