import type { Document } from 'mongodb';
import { defaultDeadlineMs } from '../../ground/default-deadline.ts';
import type { ShardedGround } from '../../ground/sharded/use-sharded-cluster.ts';
import type { Side } from './cluster-pair.ts';

/** Parameters of a server that can be told to be slow. */
export const canBeSlow = { enableTestCommands: 1 } as const;

/** How the syncer calls itself on a server. */
const appName = 'clustersync syncer syncer';

/** Something that holds up commands until it is disposed of. */
export interface Obstacle extends AsyncDisposable {
  /** Resolves when that many commands have come to it. */
  reached(count: number): Promise<void>;
}

/**
 * Makes a server take longer for some commands of the syncer, or those on one namespace, before they begin, until the result is
 * disposed of: what waits by then waits to the end of its time.
 */
export async function slowCommands(
  side: Side,
  commands: readonly string[],
  blockTimeMS: number,
  namespace?: string,
): Promise<Obstacle> {
  return await setFailPoint(side, 'failCommand', {
    failCommands: commands,
    blockConnection: true,
    blockTimeMS,
    appName,
    ...(namespace !== undefined && { namespace }),
  });
}

/**
 * Makes a server take longer for the next command of one kind of the syncer, on one namespace or any, before it begins: its
 * sender can be killed, and the server still carries it out. The function that is returned resolves as soon as the command has come.
 */
export async function delayNext(
  { client }: Pick<Side, 'client'>,
  command: string,
  blockTimeMS: number,
  { id = 'syncer', namespace }: { readonly id?: string; readonly namespace?: string } = {},
): Promise<() => Promise<void>> {
  const data = {
    ...{ failCommands: [command], blockConnection: true, blockTimeMS },
    appName: `clustersync syncer ${id}`,
    ...(namespace !== undefined && { namespace }),
  };
  const next = await setFailPoint({ client }, 'failCommand', data, { times: 1 });
  return async () => {
    await next.reached(1);
  };
}

/** Makes a server refuse some commands of the syncer on one namespace, as one that shuts down does. */
export async function failCommands(
  side: Side,
  commands: readonly string[],
  namespace: string,
): Promise<Obstacle> {
  const shutdownInProgress = 91;
  return await failCommandsWith(side, commands, shutdownInProgress, namespace);
}

/**
 * Makes a server answer some commands of the syncer on one namespace with an error of this code.
 * @param skipped - how many pass before the first that fails.
 */
export async function failCommandsWith(
  side: Side,
  commands: readonly string[],
  errorCode: number,
  namespace: string,
  skipped = 0,
): Promise<Obstacle> {
  const data = { failCommands: commands, errorCode, appName, namespace };
  return await setFailPoint(side, 'failCommand', data, modeAfter(skipped));
}

/** Makes all shards of a cluster, or some, take longer for some commands of anybody, the cluster's own too. */
export async function slowOnShards(
  { cluster }: Pick<ShardedGround, 'cluster'>,
  commands: readonly string[],
  blockTimeMS: number,
  {
    shards = cluster.shards,
    namespace,
  }: { readonly shards?: readonly string[]; readonly namespace?: string } = {},
): Promise<Obstacle> {
  const data = {
    failCommands: commands,
    failInternalCommands: true,
    blockConnection: true,
    blockTimeMS,
    ...(namespace !== undefined && { namespace }),
  };
  const obstacles = await Promise.all(
    shards.map(async (shard) => {
      return await setFailPoint({ client: cluster.shardClient(shard) }, 'failCommand', data);
    }),
  );
  return {
    // On any of them.
    async reached(count) {
      const reached = obstacles.map(async (obstacle) => {
        await obstacle.reached(count);
      });
      await Promise.any(reached);
    },
    async [Symbol.asyncDispose]() {
      for (const obstacle of obstacles) await obstacle[Symbol.asyncDispose]();
    },
  };
}

/** Where commands of a server can be held, before they read or change anything but begin an index build. */
const holdingPoints = {
  createIndexes: 'hangAfterStartingIndexBuild',
  insert: 'hangDuringBatchInsert',
  delete: 'hangDuringBatchRemove',
  listIndexes: 'hangBeforeListIndexes',
  getMore: 'waitAfterPinningCursorBeforeGetMoreBatch',
} as const;

/**
 * Holds commands of everybody on a server, or those on one namespace, until the result is disposed of.
 * @param skipped - how many pass before one is held; an insert of many documents may count as several.
 */
export async function holdCommands(
  side: Pick<Side, 'client'>,
  command: keyof typeof holdingPoints,
  namespace?: string,
  skipped = 0,
): Promise<Obstacle> {
  const data = namespace ? { nss: namespace } : {};
  return await setFailPoint(side, holdingPoints[command], data, modeAfter(skipped));
}

function modeAfter(skipped: number): Document | 'alwaysOn' {
  return skipped > 0 ? { skip: skipped } : 'alwaysOn';
}

/** Sets a fail point of a server until the result is disposed of. A server has each fail point once. */
export async function setFailPoint(
  { client }: Pick<Side, 'client'>,
  name: string,
  data: Document,
  mode: Document | 'alwaysOn' = 'alwaysOn',
): Promise<Obstacle> {
  const admin = client.db('admin');
  const answer = await admin.command({ configureFailPoint: name, mode, data });
  return {
    async reached(count) {
      const timesEntered = Number(answer['count']) + count;
      await admin.command({ waitForFailPoint: name, timesEntered, maxTimeMS: defaultDeadlineMs });
    },
    async [Symbol.asyncDispose]() {
      await admin.command({ configureFailPoint: name, mode: 'off' });
    },
  };
}
