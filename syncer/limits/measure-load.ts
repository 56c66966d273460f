import type { CheckedValue } from '../../mongo/checked-value.ts';
import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { type Deadline, runCommand } from '../../mongo/run-command.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';
import type { Topology } from '../../mongo/topology.ts';
import { messageOf } from '../../service/errors.ts';
import type { BrakeName, HoldBack } from '../options/hold-back.ts';
import { type Gauge, gaugesOf, type Reading } from './brakes.ts';

/** Within what time a server must answer: later, nothing is known. */
const deadlineMs = 5_000;

/** A deployment to be measured. */
export interface MeasuredSide {
  readonly cluster: Pick<ClusterClient, 'admin'>;
  readonly kind: Topology['kind'];
}

/** Both sides, as they are now: a reversal exchanges them. */
export type MeasuredSides = Readonly<Record<Gauge['side'], MeasuredSide>>;

/** A value, and what of it could not be read. */
type Measured = Pick<Reading, 'value'> & Partial<Pick<Reading, 'problem'>>;

const measures: Readonly<
  Record<BrakeName, (side: MeasuredSide, call: Deadline) => Promise<Measured>>
> = {
  maxReplicationLagSeconds: replicationLag,
  maxQueuedOperations: queuedOperations,
  maxCacheDirtyPercent: cacheDirtyPercent,
  minFreeDiskPercent: freeDiskPercent,
};

/**
 * Measures what the limits ask for, one command after the other, each with a deadline. A failure becomes the problem of its
 * reading: nothing fails but by the signal. The role `clusterMonitor` allows all of it.
 */
export async function measureLoad(
  holdBack: HoldBack,
  sides: MeasuredSides,
  signal: AbortSignal,
): Promise<Reading[]> {
  const readings: Reading[] = [];
  for (const gauge of gaugesOf(holdBack)) {
    const measured = await orProblem(gauge, signal, async () => {
      return await measures[gauge.limit](sides[gauge.side], { signal, deadlineMs });
    });
    readings.push({ problem: undefined, ...gauge, ...measured });
  }
  return readings;
}

async function orProblem(
  { limit, side }: Gauge,
  signal: AbortSignal,
  measure: () => Promise<Measured>,
): Promise<Measured> {
  try {
    return await measure();
  } catch (error) {
    signal.throwIfAborted();
    const isRefused = codeOf(error) === serverCode.unauthorized;
    const problem = isRefused
      ? `the user of the ${side} may not run ${commandOf[limit]}: grant it the role clusterMonitor`
      : `${commandOf[limit]} on the ${side}: ${messageOf(error)}`;
    return { value: undefined, problem };
  }
}

const commandOf: Readonly<Record<BrakeName, string>> = {
  maxReplicationLagSeconds: 'replSetGetStatus',
  maxQueuedOperations: 'serverStatus',
  maxCacheDirtyPercent: 'serverStatus',
  minFreeDiskPercent: 'dbStats',
};

const behindRouters: Measured = {
  value: undefined,
  problem: 'routers do not show the members of shards',
};

async function replicationLag({ cluster, kind }: MeasuredSide, call: Deadline): Promise<Measured> {
  if (kind === 'sharded') return behindRouters;
  const hello = await runCommand(cluster.admin, { hello: 1 }, call);
  const status = await runCommand(cluster.admin, { replSetGetStatus: 1 }, call);
  return replicationLagIn(status, hello);
}

/**
 * The largest lag of the secondaries that clients may read from: those that `hello` lists, which leaves out members that are
 * hidden, delayed or without data. Of one that is down, the primary knows no time; it is behind at least since it was last heard
 * of.
 * @param status - the answer of the primary to replSetGetStatus.
 */
export function replicationLagIn(status: CheckedValue, hello: CheckedValue): Measured {
  const listed = new Set(
    ['hosts', 'passives'].flatMap((field) =>
      (hello.optional(field)?.list() ?? []).map((name) => name.text()),
    ),
  );
  const members = status
    .field('members')
    .list()
    .filter((member) => listed.has(member.field('name').text()));
  const primary = members.find((member) => member.field('state').integer() === primaryState);
  if (!primary) throw new Error('no member is primary');
  const latest = primary.field('optimeDate').date().getTime();
  const lags: number[] = [0];
  const unknown: string[] = [];
  for (const member of members.filter((each) => each !== primary)) {
    const ms = timeIn(member, 'optimeDate') ?? timeIn(member, 'lastHeartbeatRecv');
    if (ms === undefined) unknown.push(textOf(member));
    else lags.push(Math.max(0, (latest - ms) / 1000));
  }
  const problem = unknown.length === 0 ? undefined : `nothing is known of ${unknown.join(', ')}`;
  return { value: Math.round(Math.max(...lags)), problem };
}

const primaryState = 1;

/** The milliseconds of a date; undefined for 1970, which the server shows for none. */
function timeIn(member: CheckedValue, field: string): number | undefined {
  const ms = member.optional(field)?.date().getTime();
  return ms === 0 ? undefined : ms;
}

function textOf(member: CheckedValue): string {
  return `${member.field('name').text()} (${member.field('stateStr').text()})`;
}

async function queuedOperations(side: MeasuredSide, call: Deadline): Promise<Measured> {
  if (side.kind === 'sharded') return behindRouters;
  const status = await serverStatus(side, call);
  return { value: status.field('globalLock').field('currentQueue').field('total').count() };
}

async function cacheDirtyPercent(side: MeasuredSide, call: Deadline): Promise<Measured> {
  if (side.kind === 'sharded') return behindRouters;
  const cache = (await serverStatus(side, call)).field('wiredTiger').field('cache');
  const dirty = cache.field('tracked dirty bytes in the cache').number();
  return { value: (100 * dirty) / positive(cache.field('maximum bytes configured')) };
}

async function serverStatus({ cluster }: MeasuredSide, call: Deadline): Promise<CheckedValue> {
  const unneeded = { metrics: 0, tcmalloc: 0, locks: 0, transactions: 0, repl: 0 };
  return await runCommand(cluster.admin, { serverStatus: 1, ...unneeded }, call);
}

/** A router answers with those of all shards: the fullest counts. */
async function freeDiskPercent({ cluster }: MeasuredSide, call: Deadline): Promise<Measured> {
  // Every server has this database.
  const stats = await runCommand(cluster.admin, { dbStats: 1 }, call);
  const shards = stats.optional('raw')?.entries() ?? [];
  const parts = shards.length > 0 ? shards.map(([, part]) => part) : [stats];
  return { value: Math.min(...parts.map(freePercentIn)) };
}

function freePercentIn(stats: CheckedValue): number {
  const total = positive(stats.field('fsTotalSize'));
  return (100 * Math.max(0, total - stats.field('fsUsedSize').number())) / total;
}

/** What a share is of. */
function positive(value: CheckedValue): number {
  const number = value.number();
  if (number <= 0) throw value.error(`is ${number}`);
  return number;
}
