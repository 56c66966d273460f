import { Timestamp } from 'mongodb';
import type { CheckedValue } from './checked-value.ts';
import type { ClusterClient } from './cluster-client.ts';
import { MalformedAnswer } from './malformed-answer.ts';
import { runCommand } from './run-command.ts';
import { elementsOf, textValue, type RawDocument } from './raw-bson.ts';
import { isRouter } from './topology.ts';
import { RawCursor } from './raw-cursor.ts';
import { codeOf, serverCode } from './server-errors.ts';

/** True when `left` is not later than `right`. */
export function isAtMost(left: Timestamp, right: Timestamp): boolean {
  return left.compare(right) <= 0;
}

/** The later of two cluster times. */
export function later(left: Timestamp, right: Timestamp): Timestamp {
  return isAtMost(left, right) ? right : left;
}

/** Whole seconds from `earlier` to `later`, never negative. */
export function secondsBetween(earlier: Timestamp, later: Timestamp): number {
  return Math.max(0, later.t - earlier.t);
}

/**
 * The latest cluster time that a majority of the members has: every write up to it is visible on the primary, with no holes (a
 * plain operationTime may have writes in flight before it). The same applies to all shards of a sharded cluster: whatever any of
 * them writes later has a later time.
 */
export async function majorityTime(
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<Timestamp> {
  const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
  if (!isRouter(hello)) return lastWrite(hello, 'majorityOpTime');
  const time = await writeNoop(cluster, 'time', signal);
  // It may be the time of one shard, whose clock is ahead. The second no-op advances the clocks of all shards past it.
  await writeNoop(cluster, 'time', signal);
  return time;
}

/**
 * The time of the primary's latest write, majority or not. A router cannot report it: through a router, a no-op is written on
 * all shards, which also keeps its change streams moving (they wait for the shard that has nothing to report).
 */
export async function latestWriteTime(
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<Timestamp> {
  const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
  if (isRouter(hello)) return await writeNoop(cluster, 'time', signal);
  return lastWrite(hello, 'opTime');
}

/**
 * Writes a no-op into the cluster's oplog and returns its cluster time once a majority has it: every write that was
 * acknowledged before the call is at or before it.
 */
export async function writeNoop(
  cluster: ClusterClient,
  note: string,
  signal: AbortSignal,
): Promise<Timestamp> {
  const answer = await runCommand(
    cluster.admin,
    { appendOplogNote: 1, data: { clustersync: note }, writeConcern: { w: 'majority' } },
    { signal },
  );
  const time = answer.optional('operationTime');
  if (time !== undefined) return time.timestamp();
  // A primary that has just started omits it for a while (seen on 6.0.5).
  const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
  return lastWrite(hello, 'opTime');
}

function lastWrite(hello: CheckedValue, which: 'opTime' | 'majorityOpTime'): Timestamp {
  return hello.field('lastWrite').field(which).field('ts').timestamp();
}

/**
 * The key string in a resume token: as texts, those of a change stream sort in the order of its events.
 * @throws MalformedAnswer if it has none.
 */
export function resumeTokenText(token: RawDocument): string {
  const data = elementsOf(token).find(({ name }) => name === '_data');
  if (data === undefined) throw new MalformedAnswer('a resume token without _data');
  return textValue(data);
}

/**
 * The cluster time in a resume token of a change stream. Its `_data` is a hexadecimal key string that begins with the type byte
 * of a timestamp (0x82) and its eight bytes, big-endian (server 4.2 to 8.0, resume_token.cpp).
 * @throws MalformedAnswer if it does not.
 */
export function resumeTokenTime(token: RawDocument): Timestamp {
  const hex = resumeTokenText(token);
  if (!/^82[0-9A-F]{16}/i.test(hex)) {
    throw new MalformedAnswer(
      `a resume token that begins with ${JSON.stringify(hex.slice(0, 18))}`,
    );
  }
  return new Timestamp({ t: parseInt(hex.slice(2, 10), 16), i: parseInt(hex.slice(10, 18), 16) });
}

const deadlineMs = 60_000;

/**
 * True while a change stream of the whole cluster can be opened at a cluster time: its oplog, or those of all its shards, reach
 * back to it.
 */
export async function hasHistorySince(
  cluster: ClusterClient,
  time: Timestamp,
  signal: AbortSignal,
): Promise<boolean> {
  // A router returns empty batches before all shards have answered, so read on until something later appears.
  await writeNoop(cluster, 'history', signal);
  const changeStream = { allChangesForCluster: true, startAtOperationTime: time };
  const pipeline = [{ $changeStream: changeStream }, { $project: { _id: 1 } }];
  const limited = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
  try {
    await using cursor = await RawCursor.open(
      cluster.raw,
      'admin',
      { aggregate: 1, pipeline, cursor: { batchSize: 0 }, readConcern: { level: 'majority' } },
      { signal: limited, batchSize: 1, maxAwaitMs: 500 },
    );
    for (;;) {
      const batch = await cursor.next();
      const token = batch?.postBatchResumeToken;
      if (batch?.isEmpty === false || !token || !isAtMost(resumeTokenTime(token), time))
        return true;
    }
  } catch (error) {
    if (codeOf(error) === serverCode.changeStreamHistoryLost) return false;
    throw error;
  }
}

/** True if a client is connected to a sharded cluster, that is, to its routers. */
export async function isSharded(cluster: ClusterClient, signal: AbortSignal): Promise<boolean> {
  const hello = await runCommand(cluster.admin, { hello: 1 }, { signal });
  return isRouter(hello);
}

/**
 * A cluster time at or after every write to a sharded cluster that was acknowledged before the call, on any shard and through
 * any router. It may be later than the latest write of any shard: all reach it by the no-ops that idle servers write (every 10
 * s). Needs no privilege beyond being logged in.
 *
 * A router notes the cluster time in every answer of a shard, and to list databases it asks all shards.
 */
export async function timeOfAllShards(
  cluster: ClusterClient,
  signal: AbortSignal,
): Promise<Timestamp> {
  const answer = await runCommand(cluster.admin, { listDatabases: 1, nameOnly: true }, { signal });
  return answer.field('$clusterTime').field('clusterTime').timestamp();
}
