import { isDeepStrictEqual } from 'node:util';
import type { Timestamp } from 'mongodb';
import { isAtMost } from '../../mongo/cluster-time.ts';
import { syncDatabase } from '../../mongo/namespace.ts';
import { SyncError } from '../../service/errors.ts';
import { differencesOf, optionsDigest } from '../../sync-api/options-digest.ts';
import type { StartOptions } from '../options/command-bodies.ts';
import type { SyncState } from './transitions.ts';
import type { InstanceRecord, SyncRecord } from './records.ts';

/** An instance without a heartbeat for this long is reported as silent. */
const silentMs = 30_000;

/** How many names an error lists: what to do follows them in a condition, and must have room there. */
const maxNamed = 10;

/** All instances of a sync, as stored. */
export interface Assembly {
  readonly sync: SyncRecord;
  readonly instances: ReadonlyMap<string, InstanceRecord>;
}

/** The state that an instance shows: a command counts for it once it has been given it. */
export function stateOf(
  { instances, received, commandCount, formerState, state, paused }: SyncRecord,
  id: string,
): SyncState {
  const isCurrent = received[instances.indexOf(id)] === commandCount;
  const own: SyncState = isCurrent ? state : formerState;
  return own === 'RUNNING' && paused.includes(id) ? 'PAUSED' : own;
}

/** How many repairs an instance has been given: it shows none that only others have been given yet. */
export function repairsOf(
  { instances, received, commandCount, command, repairs }: SyncRecord,
  id: string,
): number {
  if (command !== 'repair') return repairs;
  const missed = commandCount - (received[instances.indexOf(id)] ?? commandCount);
  return Math.max(0, repairs - missed);
}

/**
 * @param ids - the names of all instances that the process was started with; undefined if it knows its own only.
 * @throws SyncError NotAnInstance for a process whose name is none of the sync's instances, or that expects others: the sync
 * would wait for one that nobody starts.
 */
export function requireMember(
  { instances }: SyncRecord,
  id: string,
  ids?: readonly string[],
): void {
  const isAll = ids === undefined || isDeepStrictEqual(ids.toSorted(), instances.toSorted());
  if (instances.includes(id) && isAll) return;
  const own = ids === undefined ? id : counted(ids, '');
  throw new SyncError(
    'NotAnInstance',
    `the sync was started with ${counted(instances, `, which instances in ${syncDatabase}.sync names`)}, not with ${own}`,
  );
}

/** @param where - says where those are that are left out. */
function counted(ids: readonly string[], where: string): string {
  const more = ids.length - maxNamed;
  const rest = more > 0 ? ` and ${more} more${where}` : '';
  const names = ids.slice(0, maxNamed).join(', ');
  return `${ids.length} ${ids.length === 1 ? 'instance' : 'instances'} (${names}${rest})`;
}

/** The part of a sync's record that identifies it. */
type Identified = Pick<SyncRecord, 'options' | 'reversals'>;

/** The identity of a sync: the digest of the options that it was started with. A reversal does not change it. */
export function digestOf(record: Identified): string {
  return optionsDigest(givenOptions(record));
}

/** Why a command for the sync of this digest is not for this one: DifferentSync. Undefined for no digest, which any sync has. */
export function digestMismatch(
  digest: string | undefined,
  record: Identified,
): SyncError | undefined {
  if (digest === undefined || digest === digestOf(record)) return undefined;
  return new SyncError(
    'DifferentSync',
    'the command is for a sync with start options other than those of the existing sync',
  );
}

/** @throws SyncError of this name if a sync was started with other options: it says what differs. */
export function requireSameOptions(
  options: StartOptions,
  record: Identified,
  name: 'DifferentSync' | 'OtherStartOptions' = 'DifferentSync',
): void {
  const differences = differencesOf(options, givenOptions(record));
  if (differences.length === 0) return;
  throw new SyncError(
    name,
    `the sync was started with different options: ${differences.join('; ')}`,
  );
}

/** The options as the first start gave them: a reversal exchanges source and destination. */
function givenOptions({ options, reversals }: Identified): StartOptions {
  if (reversals % 2 === 0) return options;
  return { ...options, source: options.destination, destination: options.source };
}

/** The instances that have not been given the last command. */
export function instancesWithoutCommand({
  instances,
  received,
  commandCount,
}: SyncRecord): readonly string[] {
  return instances.filter((_, index) => received[index] !== commandCount);
}

/** What the last command waits for; undefined once all instances have been given it. */
export function commandWaitsFor({ sync }: Assembly): string | undefined {
  const missing = instancesWithoutCommand(sync);
  if (missing.length === 0) return undefined;
  return `${missing.join(' and ')} ${missing.length === 1 ? 'has' : 'have'} not received ${sync.command}`;
}

/**
 * What beginning a sync, or beginning it again, waits for; undefined once all instances have been given the command, and nothing can
 * still arrive of what they sent before it. A change that they sent may still be on its way when they stop: it could overwrite a
 * document that a repair has already compared.
 * @param nowMs - by the clock of their heartbeats.
 */
export function beginningWaitsFor(assembly: Assembly, nowMs?: number): string | undefined {
  const { commandCount } = assembly.sync;
  const hasBegun = ({ begunWith }: InstanceRecord): boolean => begunWith === commandCount;
  return (
    commandWaitsFor(assembly) ?? workWaitsFor(assembly, 'ended its earlier work', hasBegun, nowMs)
  );
}

/** Why a sync that is being reset accepts nothing else; undefined if it is not. */
export function resetError({
  reset,
  instances,
}: Pick<SyncRecord, 'reset' | 'instances'>): SyncError | undefined {
  if (reset === null) return undefined;
  const waitsFor = resetWaitsFor(instances, reset);
  return new SyncError(
    'ResetUnderWay',
    `the sync is being reset, with the destination ${reset.destination}${waitsFor === undefined ? '' : `: ${waitsFor}`}`,
  );
}

/** What a reset waits for before it does anything; undefined once the work of every instance has ended. */
export function resetWaitsFor(
  instances: readonly string[],
  { received, ended }: NonNullable<SyncRecord['reset']>,
): string | undefined {
  const missing = instances.filter((id) => !received.includes(id));
  if (missing.length > 0)
    return `${missing.join(' and ')} ${missing.length === 1 ? 'has' : 'have'} not received reset`;
  const working = instances.filter((id) => !ended.includes(id));
  if (working.length > 0)
    return `${working.join(' and ')} ${working.length === 1 ? 'has' : 'have'} not ended the work`;
  return undefined;
}

/**
 * What the work of all instances waits for; undefined once all are as far as required.
 * @param what - what they have not done.
 * @param nowMs - by the clock of their heartbeats.
 */
export function workWaitsFor(
  { sync, instances }: Assembly,
  what: string,
  isDone: (instance: InstanceRecord) => boolean,
  nowMs: number = Date.now(),
): string | undefined {
  const waited = sync.instances.filter((id) => {
    const instance = instances.get(id);
    return instance === undefined || !isDone(instance);
  });
  if (waited.length === 0) return undefined;
  const described = waited.map((id) => `${id}${obstacleOf(sync, id, instances.get(id), nowMs)}`);
  return `${described.join(' and ')} ${waited.length === 1 ? 'has' : 'have'} not ${what}`;
}

/** What keeps an instance from its work, in parentheses; empty if nothing is known to. @param nowMs - by the clock of its heartbeats. */
export function obstacleOf(
  { failure, paused }: SyncRecord,
  id: string,
  instance: InstanceRecord | undefined,
  nowMs: number,
): string {
  if (failure?.instance === id) return ` (stopped: ${failure.name})`;
  if (paused.includes(id)) return ' (paused)';
  if (!instance) return ' (never seen)';
  const quietMs = nowMs - instance.heartbeatAt.getTime();
  return quietMs < silentMs ? '' : ` (no heartbeat for ${Math.round(quietMs / 1000)} seconds)`;
}

/** The place of a change in the change stream. */
export interface StreamPlace {
  /** As texts, places sort in the order of the stream. */
  readonly text: string;
  readonly time: Timestamp;
}

/** Whether a change of the catalog is applied, or is left out as it is not before the commit. */
export function isSettled(
  { catalogEvent, commitTime }: Pick<SyncRecord, 'catalogEvent' | 'commitTime'>,
  { text, time }: StreamPlace,
): boolean {
  if (catalogEvent !== null && catalogEvent >= text) return true;
  // Others may never reach it.
  return commitTime !== null && isAtMost(commitTime, time);
}

/** What a change of the catalog waits for; undefined once all instances have reached it. */
export function changeWaitsFor(
  assembly: Assembly,
  { text }: Pick<StreamPlace, 'text'>,
): string | undefined {
  return workWaitsFor(
    assembly,
    'reached a catalog change',
    ({ arrivedAt }) => arrivedAt !== null && arrivedAt >= text,
  );
}

/** What the commit waits for; undefined once all instances have applied every change before it. */
export function commitWaitsFor(assembly: Assembly, commitTime: Timestamp): string | undefined {
  return workWaitsFor(
    assembly,
    'applied the changes up to the commit',
    ({ appliedTime }) => appliedTime !== null && isAtMost(commitTime, appliedTime),
  );
}

/** Whether the time of a commit is to be fixed: every instance has been given the commit, and looks for its time. */
export function isTimeOfCommitDue(sync: SyncRecord): boolean {
  const { state, commitTime } = sync;
  return (
    state === 'COMMITTING' && commitTime === null && instancesWithoutCommand(sync).length === 0
  );
}

/**
 * The two writes that fix the time of a commit, in this order, each with the condition on the record. The time is taken between
 * them: it is later than anything that any instance has applied, since what instances read from the first one on waits for the
 * second.
 */
export const commitTimeWrites = {
  intention: {
    change: { isFixingCommitTime: true },
    expected: { state: 'COMMITTING', commitTime: null },
  },
  time: (commitTime: Timestamp) => ({ change: { commitTime }, expected: { commitTime: null } }),
} as const;

/**
 * The time of the commit, as the record says it to an instance that has been given the commit. Null if there is none: it is
 * later than everything read before. `awaited` if it may be earlier, and is about to be known.
 */
export function commitTimeIn({
  commitTime,
  isFixingCommitTime,
}: Pick<SyncRecord, 'commitTime' | 'isFixingCommitTime'>): Timestamp | 'awaited' | null {
  if (commitTime !== null) return commitTime;
  return isFixingCommitTime ? 'awaited' : null;
}
