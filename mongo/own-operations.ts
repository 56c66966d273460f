import type { Db, Document, UUID } from 'mongodb';
import type { CheckedValue } from './checked-value.ts';
import { askPrimary, type Ask } from './ask-server.ts';

/** The comment of index builds that nothing waits for: they run beside all other work. */
export const backgroundBuild = 'clustersync: an index that was left';

/**
 * The operations that a cluster's primary, or router, runs for a user, from `$currentOp`. No role is needed.
 * @param admin - of the user.
 * @param match - which of them.
 */
export async function ownOperations(
  admin: Db,
  match: Document,
  signal: AbortSignal,
): Promise<CheckedValue[]> {
  const ask = askPrimary(admin);
  return await currentOp(ask, { idleConnections: false }, { active: true, ...match }, signal);
}

/**
 * The writes that the shards of a cluster run, for any client: not every shard knows under whose name they came to the
 * router. Catalog writes continue without a client: a coordinator on a shard finishes what it has started. Needs the action
 * `inprog`. Builds of indexes that nothing waits for do not count.
 * @param except - a database whose writes do not count.
 */
export async function writesOnShards(
  admin: Db,
  except: string,
  signal: AbortSignal,
): Promise<Set<string>> {
  const pipeline = [
    { $currentOp: { allUsers: true, idleConnections: false } },
    {
      $match: {
        active: true,
        desc: { $regex: '^conn|Coordinator$' },
        op: { $nin: ['query', 'getmore', 'none'] },
        ns: { $not: { $regex: `^(admin|config|local|${except})\\.` } },
        'command.comment': { $ne: backgroundBuild },
      },
    },
    { $project: { opid: 1, shard: 1, desc: 1, ns: 1 } },
  ];
  const found = await firstBatch(askPrimary(admin), pipeline, signal);
  return new Set(found.map(operationId));
}

/** The id on a shard, or through it as `<shard>:<number>`; operations that continue without a client have none. */
export function operationId(row: CheckedValue): string {
  const id = row.optional('opid');
  if (id === undefined)
    return ['shard', 'desc', 'ns'].map((name) => row.optional(name)?.text() ?? '').join(' ');
  return id.textOrNumber();
}

/** An index that a command with the comment {@link backgroundBuild} builds. */
export interface BackgroundBuild {
  /** Undefined if the command does not say it. */
  readonly collectionUUID: UUID | undefined;
  readonly name: string;
}

/**
 * How many commands that build an index in the background a cluster runs for a user, begun or not: a server may queue them, for
 * example until other builds end.
 * @param isSharded - then it asks the shards, for operations of any client. Needs the action `inprog`.
 */
export async function backgroundBuildsUnderWay(
  admin: Db,
  { collectionUUID, name }: BackgroundBuild,
  isSharded: boolean,
  signal: AbortSignal,
): Promise<number> {
  const match = {
    active: true,
    'command.comment': backgroundBuild,
    'command.indexes.name': name,
    ...(collectionUUID && { 'command.collectionUUID': collectionUUID }),
  };
  const options = { allUsers: isSharded, idleConnections: false };
  return (await currentOp(askPrimary(admin), options, match, signal)).length;
}

/** Whether a server, possibly a router, works on something that came on a connection with this number. */
export async function isWorkedOn(
  ask: Ask,
  connectionId: number,
  signal: AbortSignal,
): Promise<boolean> {
  const options = { idleConnections: false, localOps: true };
  const operations = await currentOp(ask, options, { active: true, connectionId }, signal);
  return operations.length > 0;
}

/** How many commands of a name a server, possibly a router, runs for a user. */
export async function commandsWorkedOn(
  ask: Ask,
  command: string,
  signal: AbortSignal,
): Promise<number> {
  const match = { active: true, [`command.${command}`]: { $exists: true } };
  return (await currentOp(ask, { idleConnections: false, localOps: true }, match, signal)).length;
}

/** Which of the connections with these numbers a server considers open. */
export async function openConnections(
  ask: Ask,
  connectionIds: readonly number[],
  signal: AbortSignal,
): Promise<Set<number>> {
  const match = { connectionId: { $in: connectionIds } };
  const open = await currentOp(ask, { idleConnections: true, localOps: true }, match, signal);
  return new Set(open.map((row) => row.field('connectionId').count()));
}

/**
 * How many open connections of a user a server knows under a name, without those that have a mark in the platform that they
 * send.
 */
export async function connectionsOfOthers(
  ask: Ask,
  { appName, mark }: { readonly appName: string; readonly mark: string },
  signal: AbortSignal,
): Promise<number> {
  const match = { appName, 'clientMetadata.platform': { $not: { $regex: mark } } };
  return (await currentOp(ask, { idleConnections: true, localOps: true }, match, signal)).length;
}

async function currentOp(
  ask: Ask,
  options: {
    readonly allUsers?: boolean;
    readonly idleConnections: boolean;
    readonly localOps?: boolean;
  },
  match: Document,
  signal: AbortSignal,
): Promise<CheckedValue[]> {
  const pipeline = [
    { $currentOp: { allUsers: false, ...options } },
    { $match: match },
    { $project: { opid: 1, connectionId: 1 } },
  ];
  return await firstBatch(ask, pipeline, signal);
}

async function firstBatch(
  ask: Ask,
  pipeline: readonly Document[],
  signal: AbortSignal,
): Promise<CheckedValue[]> {
  const answer = await ask({ aggregate: 1, pipeline, cursor: { batchSize: 10_000 } }, signal);
  return answer.field('cursor').field('firstBatch').list();
}
