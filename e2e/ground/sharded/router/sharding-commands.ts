import type { Document } from 'mongodb';
import { majority, type ChunkRow, type ClusterView, type CollectionRow } from './cluster-view.ts';
import { failure, succeeded } from './command-failure.ts';
import { readInside, refreshPlacement } from './inner-router.ts';
import {
  argumentsOf,
  commandOf,
  fullNamespaceOf,
  knownArguments,
  onCluster,
  onNamespace,
  splitNamespace,
  type CommandRequest,
  type CommandTable,
  type RouterState,
} from './router-state.ts';
import { decode, encode } from './wire.ts';

/** The commands that place collections on shards. */
export const shardingCommands: CommandTable = {
  listShards: {
    needs: onCluster('listShards'),
    async run({ cluster }, { signal }) {
      return { shards: await cluster.find('shards', {}, signal), ok: 1 };
    },
  },
  enableSharding: {
    needs: (request) => [
      { action: 'enableSharding', on: { db: fullNamespaceOf(request), collection: '' } },
    ],
    async run({ cluster }, request) {
      const { primaryShard } = knownArguments(commandOf(request), ['primaryShard']);
      const primary = primaryShard === undefined ? undefined : String(primaryShard);
      await cluster.ensureDatabase(fullNamespaceOf(request), request.signal, primary);
      return { ok: 1 };
    },
  },
  shardCollection: {
    needs: onNamespace('enableSharding'),
    async run({ cluster }, request) {
      const { key, unique, ...rest } = argumentsOf(commandOf(request));
      const ns = fullNamespaceOf(request);
      const { db, collection } = splitNamespace(ns);
      const shard = {
        _shardsvrCreateCollection: collection,
        shardKey: key as unknown,
        unique: unique === true,
        ...rest,
      };
      await cluster.runOnPrimary(db, shard, request.signal, { isCreating: true });
      return { collectionsharded: ns, ok: 1 };
    },
  },
  refineCollectionShardKey: {
    needs: onNamespace('refineCollectionShardKey'),
    async run(state, request) {
      const { key } = knownArguments(commandOf(request), ['key']);
      const ns = fullNamespaceOf(request);
      const { db, collection } = splitNamespace(ns);
      const refine = { _shardsvrRefineCollectionShardKey: collection, newShardKey: key as unknown };
      const answer = await state.cluster.runOnPrimary(db, refine, request.signal);
      await refreshPlacement(state, [ns], request.signal);
      return answer;
    },
  },
  reshardCollection: {
    needs: onNamespace('reshardCollection'),
    async run(state, request) {
      const ns = fullNamespaceOf(request);
      const { db } = splitNamespace(ns);
      const reshard = { _shardsvrReshardCollection: ns, ...argumentsOf(commandOf(request)) };
      const answer = await state.cluster.runOnPrimary(db, reshard, request.signal, {
        $db: 'admin',
      });
      await refreshPlacement(state, [ns], request.signal);
      return answer;
    },
  },
  movePrimary: {
    needs: (request) => [
      { action: 'moveChunk', on: { db: fullNamespaceOf(request), collection: '' } },
    ],
    async run({ cluster }, request) {
      const { to } = knownArguments(commandOf(request), ['to']);
      const db = fullNamespaceOf(request);
      const move = { _shardsvrMovePrimary: db, to: to as unknown };
      return await cluster.runOnPrimary(db, move, request.signal, { $db: 'admin' });
    },
  },
  split: { needs: onNamespace('splitChunk'), run: split },
  moveChunk: { needs: onNamespace('moveChunk'), run: moveChunk },
  balancerStart: onConfig('_configsvrBalancerStart'),
  balancerStop: onConfig('_configsvrBalancerStop'),
  balancerStatus: onConfig('_configsvrBalancerStatus'),
  addShardToZone: onConfig('_configsvrAddShardToZone'),
  removeShardFromZone: onConfig('_configsvrRemoveShardFromZone'),
  updateZoneKeyRange: onConfig('_configsvrUpdateZoneKeyRange'),
  setUserWriteBlockMode: {
    needs: onCluster('setUserWriteBlockMode'),
    async run({ cluster, gate }, request) {
      const { global } = knownArguments(commandOf(request), ['global']);
      const set = { _configsvrSetUserWriteBlockMode: 1, global: global as unknown };
      await gate.change(global === true, async () => {
        await cluster.run('config', { ...set, ...majority, $db: 'admin' }, request.signal);
      });
      return { ok: 1 };
    },
  },
};

/** A command that the config server carries out. Those of zones need what a cluster manager may do. */
function onConfig(innerName: string): CommandTable[string] {
  return {
    needs: onCluster('listShards'),
    async run({ cluster }, request) {
      const command = commandOf(request);
      const inner = {
        [innerName]: command[request.name] as unknown,
        ...argumentsOf(command),
        ...(innerName.startsWith('_configsvrBalancer') ? {} : majority),
        $db: 'admin',
      };
      return await cluster.run('config', inner, request.signal);
    },
  };
}

async function shardedCollection(
  cluster: ClusterView,
  ns: string,
  signal: AbortSignal,
): Promise<CollectionRow> {
  const collection = await cluster.collection(ns, signal);
  if (!collection) throw failure('NamespaceNotSharded', `${ns} is not sharded`);
  return collection;
}

/** The chunk that a value of the shard key, hashed where it is hashed, is in. */
async function chunkOf(
  cluster: ClusterView,
  { uuid }: CollectionRow,
  key: unknown,
  signal: AbortSignal,
): Promise<ChunkRow> {
  const filter = { uuid, min: { $lte: key } };
  const [chunk] = await cluster.find('chunks', filter, signal, { sort: { min: -1 }, limit: 1 });
  if (!chunk) throw failure('BadValue', 'no chunk has this value of the shard key');
  return chunk as ChunkRow;
}

/** The chunk that a command names by `bounds`, or by a document with the shard key in `find`. */
async function namedChunk(
  state: RouterState,
  { bounds, find }: Document,
  collection: CollectionRow,
  signal: AbortSignal,
): Promise<ChunkRow> {
  const { cluster } = state;
  if (Array.isArray(bounds)) return await chunkOf(cluster, collection, bounds[0], signal);
  if (find === undefined) throw failure('BadValue', 'find or bounds is needed');
  const computed = Object.entries(collection.key).map(([field, kind]) => [
    field,
    kind === 'hashed' ? { $toHashedIndexKey: `$${field}` } : `$${field}`,
  ]);
  const hash = {
    clusterAggregate: 1,
    pipeline: [
      { $documents: [{ $literal: find as unknown }] },
      { $project: { _id: 0, ...(Object.fromEntries(computed) as Document) } },
    ],
    cursor: {},
    $db: splitNamespace(collection._id).db,
  };
  const answer = succeeded(decode(await readInside(state, encode(hash), signal)));
  const [key] = (answer['cursor'] as { firstBatch: Document[] }).firstBatch;
  return await chunkOf(cluster, collection, key, signal);
}

async function moveChunk(state: RouterState, request: CommandRequest): Promise<Document> {
  const { cluster } = state;
  const { signal } = request;
  const ns = fullNamespaceOf(request);
  const command = knownArguments(commandOf(request), ['find', 'bounds', 'to', '_waitForDelete']);
  const collection = await shardedCollection(cluster, ns, signal);
  const { min, max } = await namedChunk(state, command, collection, signal);
  await cluster.addressOf({ shard: String(command['to']) }, signal);
  const move = {
    _configsvrMoveRange: ns,
    min,
    max,
    toShard: command['to'] as unknown,
    waitForDelete: command['_waitForDelete'] === true,
    forceJumbo: 0,
    ...majority,
    $db: 'admin',
  };
  return await cluster.run('config', move, signal);
}

async function split(state: RouterState, request: CommandRequest): Promise<Document> {
  const { cluster } = state;
  const { signal } = request;
  const ns = fullNamespaceOf(request);
  const command = knownArguments(commandOf(request), ['middle', 'find', 'bounds']);
  const collection = await shardedCollection(cluster, ns, signal);
  const { key: keyPattern, lastmodEpoch: epoch, timestamp } = collection;
  const middle: unknown = command['middle'];
  const chunk =
    middle === undefined
      ? await namedChunk(state, command, collection, signal)
      : await chunkOf(cluster, collection, middle, signal);
  const { min, max, shard } = chunk;
  const splitKeys =
    middle === undefined ? await medianOf(cluster, ns, collection, chunk, signal) : [middle];
  const splitting = {
    splitChunk: ns,
    from: shard,
    keyPattern,
    epoch,
    timestamp,
    min,
    max,
    splitKeys,
    $db: 'admin',
  };
  return await cluster.run({ shard }, splitting, signal);
}

async function medianOf(
  cluster: ClusterView,
  ns: string,
  { key: keyPattern }: CollectionRow,
  { min, max, shard }: ChunkRow,
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const ask = { splitVector: ns, keyPattern, min, max, force: true, $db: 'admin' };
  const { splitKeys } = await cluster.run({ shard }, ask, signal);
  if (!Array.isArray(splitKeys) || splitKeys.length === 0) {
    throw failure('CannotSplit', 'cannot find median in chunk, possibly empty');
  }
  return splitKeys as unknown[];
}
