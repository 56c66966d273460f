import { BSON, type Document, type Long } from 'mongodb';
import { elementsOf, type RawDocument } from '../../../../mongo/raw-bson.ts';
import { openChangeStream } from './change-stream.ts';
import { staleTries } from './cluster-view.ts';
import { errorCodes, failure, isStale, succeeded } from './command-failure.ts';
import type { NeededPrivilege } from './privileges.ts';
import {
  argumentsOf,
  commandOf,
  knownArguments,
  namespaceOf,
  onCollection,
  onNothing,
  rewritten,
  splitNamespace,
  transactionNumberOf,
  type CommandRequest,
  type CommandTable,
  type RouterState,
} from './router-state.ts';
import { currentOperations, isOfOwnUser, isOfRouter } from './current-operations.ts';
import { readInside } from './inner-router.ts';
import { ownersOfFilter } from './owners.ts';
import { updateShardKeys } from './shard-key-updates.ts';
import { decode, encode } from './wire.ts';

/** The names of the router's code inside mongod. */
const innerNames = {
  find: 'clusterFind',
  insert: 'clusterInsert',
  update: 'clusterUpdate',
  delete: 'clusterDelete',
  aggregate: 'clusterAggregate',
  getMore: 'clusterGetMore',
} as const;

/** The transaction number of a retryable write would abort the inner router. */
const notForInner: ReadonlySet<string> = new Set(['txnNumber']);

/** The commands that read and write documents. */
export const documentCommands: CommandTable = {
  find: { needs: onCollection('find'), run: runFind },
  aggregate: { needs: neededByAggregate, run: runAggregate },
  insert: { needs: onCollection('insert'), isUserWrite: true, run: runWrite },
  update: { needs: onCollection('update'), isUserWrite: true, run: runWrite },
  delete: { needs: onCollection('remove'), isUserWrite: true, run: runWrite },
  // A cursor can be used in the session that it was opened in only.
  getMore: { needs: onNothing, run: runGetMore },
  killCursors: { needs: onNothing, run: killCursors },
  explain: { needs: onNothing, run: explain },
  count: { needs: onCollection('find'), run: count },
  findAndModify: {
    needs: onCollection('find', 'update'),
    isUserWrite: true,
    run: findAndModify,
  },
};

/** Runs a command as it is in the inner router. */
async function runInside(
  state: RouterState,
  request: CommandRequest,
  name: keyof typeof innerNames,
): Promise<RawDocument> {
  await catchUpInside(state, request);
  const body = rewritten(request.body, innerNames[name], notForInner);
  return name === 'find' || name === 'aggregate'
    ? await readInside(state, body, request.signal)
    : await state.cluster.sendTo(state.inner, body, request.signal, request.sequences);
}

/**
 * A read after a cluster time waits for it on the inner router too, which has no part in the cluster's writes and may
 * never reach it by itself: its own oplog is brought to that time.
 */
async function catchUpInside(
  { cluster, inner }: RouterState,
  { body, signal }: CommandRequest,
): Promise<void> {
  const element = elementsOf(body).find(({ name }) => name === 'readConcern');
  if (element === undefined) return;
  const { afterClusterTime, atClusterTime } = BSON.deserialize(
    element.bytes.subarray(element.offset, element.offset + element.length),
  );
  const time: unknown = afterClusterTime ?? atClusterTime;
  if (time === undefined) return;
  const data = { router: 'catch up' };
  const note = { appendOplogNote: 1, data, maxClusterTime: time, $db: 'admin' };
  await cluster.sendTo(inner, encode(note), signal);
}

async function runFind(state: RouterState, request: CommandRequest): Promise<RawDocument> {
  const isTailable = elementsOf(request.body).some(
    ({ name, bytes, offset }) => name === 'tailable' && bytes[offset] === 1,
  );
  if (!isTailable) return await runInside(state, request, 'find');
  const { cluster } = state;
  const { owners } = await cluster.placement(namespaceOf(request), request.signal);
  const [owner, ...others] = owners;
  if (owner === undefined || others.length > 0) {
    throw failure('BadValue', 'a tailable cursor needs a capped collection, which is not sharded');
  }
  const [shard, version] = owner;
  const address = await cluster.addressOf({ shard }, request.signal);
  const command = { ...commandOf(request), ...version };
  return await onShard(state, address, encode(command), request.signal);
}

/** Runs a command on a shard itself, whose cursor is the client's then. */
export async function onShard(
  { cluster, shardCursors }: RouterState,
  address: string,
  body: RawDocument,
  signal: AbortSignal,
): Promise<RawDocument> {
  const answer = await cluster.sendTo(address, body, signal);
  const { cursor } = decode(answer) as { cursor?: { id: Long } };
  if (cursor && !cursor.id.isZero()) shardCursors.set(cursor.id.toString(), address);
  return answer;
}

function pipelineOf(command: Document): readonly Document[] {
  return Array.isArray(command['pipeline']) ? (command['pipeline'] as Document[]) : [];
}

/** Decided by the first stage; collections that `$lookup` and similar stages read are ignored. */
function neededByAggregate(request: CommandRequest): readonly NeededPrivilege[] {
  const command = commandOf(request);
  const pipeline = pipelineOf(command);
  const name: unknown = command['aggregate'];
  const collection = typeof name === 'string' ? name : '';
  const first = Object.keys(pipeline[0] ?? {})[0] ?? '';
  const asked = pipeline[0]?.['$currentOp'] as Document | undefined;
  if (asked) return isOfOwnUser(asked) ? [] : [{ action: 'inprog', on: 'cluster' }];
  if (first === '$documents') return [];
  const options = pipeline[0]?.['$changeStream'] as Document | undefined;
  const on =
    options?.['allChangesForCluster'] === true
      ? { db: '', collection: '' }
      : { db: request.db, collection };
  const actions =
    { $changeStream: ['changeStream', 'find'], $collStats: ['collStats'] }[first] ??
    (first === '$indexStats' ? ['indexStats'] : ['find']);
  const isWrite = writesOf(pipeline) !== undefined;
  return [
    ...actions.map((action) => ({ action, on })),
    ...(isWrite ? ['insert', 'remove'].map((action) => ({ action, on })) : []),
  ];
}

function writesOf(pipeline: readonly Document[]): Document | undefined {
  return pipeline.find((stage) => '$out' in stage || '$merge' in stage);
}

async function runAggregate(state: RouterState, request: CommandRequest): Promise<RawDocument> {
  const command = commandOf(request);
  const pipeline = pipelineOf(command);
  if (pipeline[0] && '$changeStream' in pipeline[0]) {
    return encode(await openChangeStream(state, request, command));
  }
  if (isOfRouter(pipeline)) return await currentOperations(state, request, pipeline);
  if (command['$_passthroughToShard'] !== undefined) {
    throw failure('InvalidOptions', 'per shard cursor pipeline must contain $changeStream');
  }
  const run = async (): Promise<RawDocument> => await runInside(state, request, 'aggregate');
  const mayWrite = request.session.login?.privileges.allow(bypassPrivilege) === true;
  return writesOf(pipeline) && !mayWrite ? await state.gate.write(run) : await run();
}

/** Write blocking does not stop a user who has it. */
export const bypassPrivilege = { action: 'bypassWriteBlockingMode', on: 'cluster' } as const;

async function runWrite(state: RouterState, request: CommandRequest): Promise<RawDocument> {
  const name = request.name as 'insert' | 'update' | 'delete';
  const retryable = transactionNumberOf(request.body);
  if (retryable === undefined) return await runInside(state, request, name);
  const run = async (): Promise<RawDocument> => {
    const answer = await runInside(state, request, name);
    return await updateShardKeys(state, request, answer, async (rest) => {
      return await runInside(state, rest, name);
    });
  };
  const { session, number } = retryable;
  return await state.retriedWrites.once(session, number, run, isGood);
}

function isGood(answer: RawDocument): boolean {
  return decode(answer)['ok'] === 1;
}

async function runGetMore(state: RouterState, request: CommandRequest): Promise<RawDocument> {
  const [first] = elementsOf(request.body);
  if (first?.length !== 8) throw failure('BadValue', 'getMore needs the id of a cursor');
  const id = Buffer.from(first.bytes).readBigInt64LE(first.offset).toString();
  const stream = state.streams.get(id);
  if (stream) return await stream.more(commandOf(request), request.signal);
  const address = state.shardCursors.get(id);
  if (address === undefined) return await runInside(state, request, 'getMore');
  const answer = await state.cluster.sendTo(address, request.body, request.signal);
  const { cursor } = decode(answer) as { cursor?: { id: Long } };
  if (cursor === undefined || cursor.id.isZero()) state.shardCursors.delete(id);
  return answer;
}

async function killCursors(state: RouterState, request: CommandRequest): Promise<Document> {
  const { cursors, killCursors: collection, lsid } = commandOf(request) as Record<string, unknown>;
  const answer = {
    cursorsKilled: [] as Long[],
    cursorsNotFound: [] as Long[],
    cursorsAlive: [] as Long[],
    cursorsUnknown: [] as Long[],
    ok: 1,
  };
  for (const id of cursors as Long[]) {
    const key = id.toString();
    const address = state.shardCursors.get(key);
    const stream = state.streams.get(key);
    if (stream) {
      await stream.close();
    } else if (address !== undefined) {
      const kill = { killCursors: collection, cursors: [id], lsid, $db: request.db };
      await state.cluster.sendTo(address, encode(kill), request.signal);
      state.shardCursors.delete(key);
    } else {
      const end = await killInside(state, request, { id, collection, lsid });
      answer[end].push(id);
      continue;
    }
    answer.cursorsKilled.push(id);
  }
  return answer;
}

/** killCursors does not know the cursors of the inner router, but this error ends them, on the shards too. */
async function killInside(
  { cluster, inner }: RouterState,
  { db, signal }: CommandRequest,
  { id, collection, lsid }: { id: Long; collection: unknown; lsid: unknown },
): Promise<'cursorsKilled' | 'cursorsNotFound' | 'cursorsAlive'> {
  const wrong = { clusterGetMore: id, collection, maxTimeMS: 1, lsid, $db: db };
  const answer = decode(await cluster.sendTo(inner, encode(wrong), signal));
  if (answer['code'] === errorCodes.BadValue) return 'cursorsKilled';
  return answer['code'] === errorCodes.CursorNotFound ? 'cursorsNotFound' : 'cursorsAlive';
}

async function explain(state: RouterState, request: CommandRequest): Promise<RawDocument> {
  const command = commandOf(request);
  const explained = command['explain'] as Document;
  const [name = ''] = Object.keys(explained);
  if (!(name in innerNames)) {
    throw failure('NotImplemented', `the router of the tests does not explain ${name}`);
  }
  const { [name]: value, $db: _db, ...options } = explained;
  const inner = { [innerNames[name as keyof typeof innerNames]]: value as unknown, ...options };
  const body = encode({ ...command, explain: inner });
  return await readInside(state, body, request.signal);
}

/** As a real router does it: the fast count of a whole collection includes orphaned documents. */
async function count(state: RouterState, request: CommandRequest): Promise<RawDocument | Document> {
  const command = commandOf(request);
  const known = ['query', 'limit', 'skip', 'collation', 'hint', 'fields'];
  const { query = {}, limit, skip, collation, hint } = knownArguments(command, known);
  const { collection: name } = splitNamespace(namespaceOf(request));
  const { cluster } = state;
  const [info] = await collectionInfos(state, request, name);
  const isView = info?.['type'] === 'view';
  const isWhole = Object.keys(query as Document).length === 0 && Number(limit ?? 0) === 0;
  if (isWhole && Number(skip ?? 0) === 0 && !isView) {
    const counting = { count: name, readConcern: command['readConcern'] as unknown };
    const { answers } = await cluster.runOnOwners(namespaceOf(request), counting, request.signal);
    return { n: sum(answers.values(), 'n'), ok: 1 };
  }
  const pipeline = [
    { $match: query as Document },
    ...(Number(skip ?? 0) > 0 ? [{ $skip: skip as unknown }] : []),
    ...(Number(limit ?? 0) === 0 ? [] : [{ $limit: Math.abs(Number(limit)) }]),
    { $count: 'n' },
  ];
  const aggregate = {
    clusterAggregate: name,
    pipeline,
    cursor: {},
    collation: collation as unknown,
    hint: hint as unknown,
    readConcern: command['readConcern'] as unknown,
    $db: request.db,
  };
  const answer = succeeded(decode(await readInside(state, encode(aggregate), request.signal)));
  const [row] = (answer['cursor'] as { firstBatch: { n: number }[] }).firstBatch;
  return { n: row?.n ?? 0, ok: 1 };
}

/** What listCollections says of one collection, on the primary shard. */
async function collectionInfos(
  { cluster }: RouterState,
  { db, signal }: CommandRequest,
  name: string,
): Promise<readonly Document[]> {
  const database = await cluster.database(db, signal);
  if (!database) return [];
  const list = { listCollections: 1, filter: { name }, $db: db };
  const answer = await cluster.run({ shard: database.primary }, list, signal);
  return (answer['cursor'] as { firstBatch: Document[] }).firstBatch;
}

export function sum(answers: Iterable<Document>, field: string): number {
  let total = 0;
  for (const answer of answers) total += Number(answer[field] ?? 0);
  return total;
}

async function findAndModify(
  state: RouterState,
  request: CommandRequest,
): Promise<RawDocument | Document> {
  const command = commandOf(request);
  const { cluster } = state;
  const { signal } = request;
  const ns = namespaceOf(request);
  const { query = {}, upsert, collation } = argumentsOf(command);
  if (upsert === true) await cluster.ensureDatabase(request.db, signal);
  for (let attempt = 0; ; attempt++) {
    const placement = await cluster.placement(ns, signal);
    const owners = placement.collection
      ? await ownersOfFilter(state, { ns, filter: query as Document, collation, signal })
      : [...placement.owners.keys()];
    const [shard, ...others] = owners;
    if (others.length > 0) {
      throw failure(
        'ShardKeyNotFound',
        'Query for sharded findAndModify must contain the shard key',
      );
    }
    if (shard === undefined) {
      return { lastErrorObject: { n: 0, updatedExisting: false }, value: null, ok: 1 };
    }
    // The shard itself knows the retries of this one: it gets the transaction number.
    const body = encode({ ...command, ...placement.owners.get(shard) });
    const answer = await cluster.sendTo(await cluster.addressOf({ shard }, signal), body, signal);
    if (attempt >= staleTries || !isStale(decode(answer))) return answer;
  }
}
