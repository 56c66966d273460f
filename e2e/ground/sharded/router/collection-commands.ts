import type { Document, Long } from 'mongodb';
import { BSON } from 'mongodb';
import type { RawDocument } from '../../../../mongo/raw-bson.ts';
import { majority, staleTries } from './cluster-view.ts';
import { failure, isStale, succeeded, withoutServerFields } from './command-failure.ts';
import { onShard, sum } from './document-commands.ts';
import { refreshPlacement } from './inner-router.ts';
import {
  argumentsOf,
  commandOf,
  fullNamespaceOf,
  knownArguments,
  namespaceOf,
  onCluster,
  onCollection,
  onDatabase,
  splitNamespace,
  type CommandRequest,
  type CommandTable,
  type RouterCommand,
  type RouterState,
} from './router-state.ts';

/** The databases that are on the config server. */
const configDatabases: ReadonlySet<string> = new Set(['admin', 'config']);

/** The commands that make, change, drop and list databases, collections and indexes. */
export const collectionCommands: CommandTable = {
  listDatabases: { needs: onCluster('listDatabases'), run: listDatabases },
  listCollections: { needs: onDatabase('listCollections'), run: listCollections },
  listIndexes: { needs: onCollection('listIndexes'), run: listIndexes },
  collStats: { needs: onCollection('collStats'), run: collStats },
  dbStats: { needs: onDatabase('dbStats'), run: dbStats },
  create: {
    needs: onCollection('createCollection'),
    isUserWrite: true,
    async run({ cluster }, { db, signal, ...request }) {
      const command = commandOf({ ...request, db, signal });
      const create = { create: command['create'] as unknown, ...argumentsOf(command) };
      if (configDatabases.has(db)) {
        return await cluster.run('config', { ...create, $db: db }, signal);
      }
      return await cluster.runOnPrimary(db, create, signal, { isCreating: true });
    },
  },
  createIndexes: { needs: onCollection('createIndex'), isUserWrite: true, run: createIndexes },
  dropIndexes: onPrimary('dropIndex', '_shardsvrDropIndexes'),
  collMod: onPrimary('collMod', '_shardsvrCollMod'),
  convertToCapped: {
    needs: onCollection('convertToCapped'),
    isUserWrite: true,
    run: convertToCapped,
  },
  drop: {
    needs: onCollection('dropCollection'),
    isUserWrite: true,
    async run(state, request) {
      const { cluster } = state;
      const { db, signal } = request;
      const command = commandOf(request);
      const { collectionUUID } = knownArguments(command, ['collectionUUID']) as {
        readonly collectionUUID?: unknown;
      };
      if (!(await cluster.database(db, signal))) return { ok: 1 };
      const drop = {
        _shardsvrDropCollection: command['drop'] as unknown,
        ...(collectionUUID !== undefined && { collectionUUID }),
      };
      const answer = await cluster.runOnPrimary(db, drop, signal);
      await refreshPlacement(state, [namespaceOf(request)], signal);
      return answer;
    },
  },
  dropDatabase: {
    needs: onDatabase('dropDatabase'),
    isUserWrite: true,
    async run(state, { db, signal }) {
      const { cluster } = state;
      if (!(await cluster.database(db, signal))) return { ok: 1 };
      const ofDatabase = { _id: { $gte: `${db}.`, $lt: `${db}/` } };
      const sharded = await cluster.find('collections', ofDatabase, signal);
      await cluster.runOnPrimary(db, { _shardsvrDropDatabase: 1 }, signal);
      const namespaces = sharded.map(({ _id }) => String(_id));
      await refreshPlacement(state, namespaces, signal);
      return { dropped: db, ok: 1 };
    },
  },
  renameCollection: {
    needs(request) {
      const from = splitNamespace(fullNamespaceOf(request));
      const to = splitNamespace(String(commandOf(request)['to']));
      return from.db === to.db
        ? [{ action: 'renameCollectionSameDB', on: { db: from.db, collection: '' } }]
        : [
            { action: 'find', on: from },
            { action: 'dropCollection', on: from },
            { action: 'insert', on: to },
            { action: 'createIndex', on: to },
          ];
    },
    isUserWrite: true,
    run: renameCollection,
  },
};

/** A command that the primary shard of the database carries out on all shards. */
function onPrimary(action: string, innerName: string): RouterCommand {
  return {
    needs: onCollection(action),
    isUserWrite: true,
    async run({ cluster }, request) {
      const command = commandOf(request);
      const inner = {
        [innerName]: command[request.name] as unknown,
        ...argumentsOf(command),
      };
      return await cluster.runOnPrimary(request.db, inner, request.signal);
    },
  };
}

async function createIndexes(state: RouterState, request: CommandRequest): Promise<Document> {
  const { cluster } = state;
  const command = commandOf(request);
  await cluster.ensureDatabase(request.db, request.signal);
  const create = {
    createIndexes: command['createIndexes'] as unknown,
    ...argumentsOf(command),
    ...majority,
  };
  const { answers } = await cluster.runOnOwners(namespaceOf(request), create, request.signal);
  return { raw: rawOf(answers), ok: 1 };
}

/**
 * The shards do not refuse it for a sharded collection, but by its version: one that is sharded meanwhile would be another
 * collection on one of its shards.
 */
async function convertToCapped(
  { cluster }: RouterState,
  request: CommandRequest,
): Promise<Document> {
  const command = commandOf(request);
  const { db, signal } = request;
  const ns = namespaceOf(request);
  const convert = {
    convertToCapped: command['convertToCapped'] as unknown,
    ...argumentsOf(command),
    ...majority,
    $db: db,
  };
  for (let attempt = 0; ; attempt++) {
    const { collection, owners } = await cluster.placement(ns, signal);
    if (collection)
      throw failure('IllegalOperation', `You can't convertToCapped a sharded collection: ${ns}`);
    const [[shard, version] = []] = owners;
    if (shard === undefined) throw failure('NamespaceNotFound', `ns does not exist: ${ns}`);
    const answer = await cluster.answerOf({ shard }, { ...convert, ...version }, signal);
    if (attempt >= staleTries || !isStale(answer)) return succeeded(answer);
  }
}

function rawOf(answers: ReadonlyMap<string, Document>): Document {
  return Object.fromEntries(
    Array.from(answers, ([shard, answer]) => [shard, withoutServerFields(answer)]),
  );
}

async function renameCollection(state: RouterState, request: CommandRequest): Promise<Document> {
  const { cluster } = state;
  const command = commandOf(request);
  const { to, dropTarget } = knownArguments(command, ['to', 'dropTarget']);
  const from = fullNamespaceOf(request);
  const { db, collection } = splitNamespace(from);
  const target = splitNamespace(String(to)).db;
  if (target !== db) {
    const source = await cluster.database(db, request.signal);
    if (!source) throw failure('NamespaceNotFound', `database ${db} not found`);
    await cluster.ensureDatabase(target, request.signal, source.primary);
  }
  const rename = {
    _shardsvrRenameCollection: collection,
    to: to as unknown,
    dropTarget: dropTarget === true,
  };
  const answer = await cluster.runOnPrimary(db, rename, request.signal);
  await refreshPlacement(state, [from, String(to)], request.signal);
  return answer;
}

async function listCollections(
  state: RouterState,
  { db, body, signal }: CommandRequest,
): Promise<RawDocument | Document> {
  const { cluster } = state;
  if (configDatabases.has(db)) {
    return await onShard(state, await cluster.addressOf('config', signal), body, signal);
  }
  const database = await cluster.database(db, signal);
  if (!database) {
    return {
      cursor: { id: BSON.Long.ZERO, ns: `${db}.$cmd.listCollections`, firstBatch: [] },
      ok: 1,
    };
  }
  const address = await cluster.addressOf({ shard: database.primary }, signal);
  return await onShard(state, address, body, signal);
}

async function listIndexes(state: RouterState, request: CommandRequest): Promise<RawDocument> {
  const { cluster } = state;
  const { db, signal, body } = request;
  if (configDatabases.has(db)) {
    return await onShard(state, await cluster.addressOf('config', signal), body, signal);
  }
  const ns = namespaceOf(request);
  const { owners, database } = await cluster.placement(ns, signal);
  const shard = owners.has(database?.primary ?? '') ? database?.primary : [...owners.keys()][0];
  if (shard === undefined) throw failure('NamespaceNotFound', `ns does not exist: ${ns}`);
  return await onShard(state, await cluster.addressOf({ shard }, signal), body, signal);
}

/** The databases of all shards, and what the config server has of admin and config. */
async function listDatabases({ cluster }: RouterState, request: CommandRequest): Promise<Document> {
  const command = commandOf(request);
  const { filter, nameOnly } = knownArguments(command, [
    'filter',
    'nameOnly',
    'authorizedDatabases',
  ]);
  const isNameOnly = Boolean((nameOnly as Document | boolean | undefined)?.valueOf());
  const list = { listDatabases: 1, filter: filter as unknown, $db: 'admin' };
  const databases = new Map<string, { sizeOnDisk: number; empty: boolean; shards: Document }>();
  const shards = [...(await cluster.shards(request.signal)).keys()];
  for (const shard of [...shards, 'config']) {
    const target = shard === 'config' ? 'config' : { shard };
    const answer = await cluster.run(target, list, request.signal);
    for (const { name, sizeOnDisk, empty } of answer['databases'] as DatabaseInfo[]) {
      if (name === 'local' || (name === 'admin' && shard !== 'config')) continue;
      const entry = databases.get(name) ?? { sizeOnDisk: 0, empty: true, shards: {} };
      entry.sizeOnDisk += Number(sizeOnDisk);
      entry.empty &&= empty;
      entry.shards[shard] = sizeOnDisk;
      databases.set(name, entry);
    }
  }
  const sorted = [...databases].sort(([left], [right]) => (left < right ? -1 : 1));
  if (isNameOnly) return { databases: sorted.map(([name]) => ({ name })), ok: 1 };
  return {
    databases: sorted.map(([name, entry]) => ({ name, ...entry })),
    totalSize: sorted.reduce((total, [, { sizeOnDisk }]) => total + sizeOnDisk, 0),
    ok: 1,
  };
}

interface DatabaseInfo {
  readonly name: string;
  readonly sizeOnDisk: Long | number;
  readonly empty: boolean;
}

const summedSizes = ['count', 'size', 'storageSize', 'totalIndexSize', 'totalSize'] as const;

async function collStats({ cluster }: RouterState, request: CommandRequest): Promise<Document> {
  const command = commandOf(request);
  const stats = {
    collStats: command['collStats'] as unknown,
    ...knownArguments(command, ['scale']),
  };
  const ns = namespaceOf(request);
  const placement = await cluster.placement(ns, request.signal);
  const answers = new Map<string, Document>();
  for (const shard of placement.owners.keys()) {
    const whole = { ...stats, $db: request.db };
    answers.set(shard, await cluster.run({ shard }, whole, request.signal));
  }
  const rows = [...answers.values()];
  const sums = Object.fromEntries(summedSizes.map((field) => [field, sum(rows, field)]));
  return {
    ns,
    sharded: placement.collection !== undefined,
    ...(placement.collection ? {} : { primary: placement.database?.primary }),
    capped: rows[0]?.['capped'] === true,
    ...sums,
    avgObjSize: Number(sums['size']) / Math.max(1, Number(sums['count'])),
    nindexes: Number(rows[0]?.['nindexes'] ?? 0),
    shards: rawOf(answers),
    ok: 1,
  };
}

const summedOfDatabase = [
  'collections',
  'views',
  'objects',
  'dataSize',
  'storageSize',
  'indexes',
  'indexSize',
  'totalSize',
] as const;

async function dbStats({ cluster }: RouterState, request: CommandRequest): Promise<Document> {
  const command = commandOf(request);
  const stats = { dbStats: 1, ...knownArguments(command, ['scale']), $db: request.db };
  const answers = new Map<string, Document>();
  for (const shard of (await cluster.shards(request.signal)).keys()) {
    answers.set(shard, await cluster.run({ shard }, stats, request.signal));
  }
  const rows = [...answers.values()];
  return {
    db: request.db,
    raw: rawOf(answers),
    ...Object.fromEntries(summedOfDatabase.map((field) => [field, sum(rows, field)])),
    ok: 1,
  };
}
