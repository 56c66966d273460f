import type { Long } from 'mongodb';
import { BSON, type Document } from 'mongodb';
import {
  arrayDocuments,
  elementsOf,
  valueBytes,
  type RawDocument,
} from '../../../../mongo/raw-bson.ts';
import type { Placement } from './cluster-view.ts';
import {
  CommandFailure,
  errorCodes,
  failure,
  isStale,
  succeeded,
  withoutServerFields,
} from './command-failure.ts';
import { onShard } from './document-commands.ts';
import { ownersOfFilter } from './owners.ts';
import {
  commandOf,
  knownArguments,
  namespaceOf,
  splitNamespace,
  transactionNumberOf,
  type CommandRequest,
  type RouterState,
} from './router-state.ts';
import { decode, decodeExactly, encode, type DocumentSequence } from './wire.ts';

/** An open transaction: its statements went to these shards themselves, the first of which coordinates the commit. */
export interface RouterTransaction {
  readonly number: bigint;
  readonly readConcern: unknown;
  readonly participants: Set<string>;
}

const passing = ['TransientTransactionError'] as const;

/** A statement on one collection, and where that is. */
interface Subject {
  readonly state: RouterState;
  readonly request: CommandRequest;
  readonly command: Document;
  readonly transaction: RouterTransaction;
  readonly ns: string;
  readonly placement: Placement;
}

/** Runs a command with `autocommit: false`. */
export async function runInTransaction(
  state: RouterState,
  request: CommandRequest,
): Promise<RawDocument | Document> {
  const command = commandOf(request);
  const id = transactionNumberOf(request.body);
  if (!id) throw failure('BadValue', 'a transaction needs a session and a number');
  const { session, number } = id;
  if (request.name === 'commitTransaction' || request.name === 'abortTransaction') {
    return await endTransaction(state, request, command, session, number);
  }
  if (command['startTransaction'] === true) {
    const readConcern: unknown = command['readConcern'];
    state.transactions.set(session, { number, readConcern, participants: new Set() });
  }
  const transaction = state.transactions.get(session);
  if (transaction?.number !== number) throw noSuchTransaction(number);
  const ns = namespaceOf(request);
  if (request.name === 'insert' || request.name === 'update') {
    await state.cluster.ensureDatabase(request.db, request.signal);
  }
  const placement = await state.cluster.placement(ns, request.signal);
  const subject = { state, request, command, transaction, ns, placement };
  switch (request.name) {
    case 'insert':
      return await insert(subject);
    case 'update':
      return await change(subject, 'updates');
    case 'delete':
      return await change(subject, 'deletes');
    case 'find':
      return await find(subject);
    default:
      throw failure(
        'NotImplemented',
        `the router of the tests does not know ${request.name} in a transaction`,
      );
  }
}

function noSuchTransaction(number: bigint): CommandFailure {
  return failure('NoSuchTransaction', `there is no transaction ${number.toString()}`, passing);
}

async function endTransaction(
  { cluster, transactions }: RouterState,
  { name, signal }: CommandRequest,
  command: Document,
  session: string,
  number: bigint,
): Promise<Document> {
  const transaction = transactions.get(session);
  if (transaction?.number !== number) throw noSuchTransaction(number);
  const participants = [...transaction.participants];
  const { lsid, txnNumber, writeConcern } = command as Record<string, unknown>;
  const common = { lsid, txnNumber, autocommit: false, $db: 'admin' };
  const [coordinator] = participants;
  if (name === 'abortTransaction') {
    transactions.delete(session);
    for (const shard of participants) {
      await cluster.answerOf({ shard }, { abortTransaction: 1, ...common }, signal);
    }
    return { ok: 1 };
  }
  if (coordinator === undefined) return { ok: 1 };
  const commit =
    participants.length === 1
      ? { commitTransaction: 1, ...common, writeConcern }
      : {
          coordinateCommitTransaction: 1,
          participants: participants.map((shardId) => ({ shardId })),
          ...common,
          writeConcern,
        };
  return withoutServerFields(await cluster.answerOf({ shard: coordinator }, commit, signal));
}

/** The fields that are added to a statement for a shard; from now on the shard takes part. */
function transactionFields({ command, transaction, placement }: Subject, shard: string): Document {
  const { participants, readConcern } = transaction;
  const isFirst = !participants.has(shard);
  const isCoordinator = participants.size === 0;
  participants.add(shard);
  return {
    lsid: command['lsid'] as unknown,
    txnNumber: command['txnNumber'] as unknown,
    autocommit: false,
    ...(isFirst && { startTransaction: true, readConcern }),
    ...(isCoordinator && { coordinator: true }),
    ...placement.owners.get(shard),
  };
}

/** Sends a statement to a shard. Placement that has changed ends the transaction, which the client tries again. */
async function send(
  subject: Subject,
  shard: string,
  statement: Document,
  sequences: readonly DocumentSequence[] = [],
): Promise<Document> {
  const raw = await sendRaw(subject, shard, statement, sequences);
  return checked(decodeExactly(raw), decode(raw));
}

async function sendRaw(
  subject: Subject,
  shard: string,
  statement: Document,
  sequences: readonly DocumentSequence[],
): Promise<RawDocument> {
  const { state, request } = subject;
  const body = { ...statement, ...transactionFields(subject, shard), $db: request.db };
  const address = await state.cluster.addressOf({ shard }, request.signal);
  return await state.cluster.sendTo(address, encode(body), request.signal, sequences);
}

function checked(exact: Document, answer: Document): Document {
  if (isStale(answer)) {
    throw new CommandFailure({ ...withoutServerFields(answer), errorLabels: passing });
  }
  succeeded(answer);
  return exact;
}

/** The documents of a statement, as bytes, wherever they travelled. */
export function statementsOf(
  { body, sequences }: CommandRequest,
  field: string,
): readonly RawDocument[] {
  const sequence = sequences.find((each) => each.field === field);
  if (sequence) return sequence.documents;
  const element = elementsOf(body).find(({ name }) => name === field);
  return element ? arrayDocuments(element) : [];
}

async function ownersOf(subject: Subject, filter: Document): Promise<readonly string[]> {
  const { state, ns, placement, request } = subject;
  if (!placement.collection) return [...placement.owners.keys()];
  return await ownersOfFilter(state, { ns, filter, signal: request.signal });
}

/** The one shard that a statement is for. @throws CommandFailure when it needs several. */
async function ownerOf(subject: Subject, filter: Document): Promise<string> {
  const [owner, ...others] = await ownersOf(subject, filter);
  if (owner === undefined || others.length > 0) {
    throw failure('ShardKeyNotFound', 'the shard key must be given to write one document');
  }
  return owner;
}

async function insert(subject: Subject): Promise<Document> {
  const { command, request, placement } = subject;
  const byShard = new Map<string, RawDocument[]>();
  for (const bytes of statementsOf(request, 'documents')) {
    const shard = await ownerOf(subject, shardKeyFilter(placement, decodeExactly(bytes)));
    byShard.set(shard, [...(byShard.get(shard) ?? []), bytes]);
  }
  let n = 0;
  for (const [shard, documents] of byShard) {
    const statement = {
      insert: command['insert'] as unknown,
      ...knownArguments(command, ['ordered', 'bypassDocumentValidation', 'documents']),
      documents: undefined,
    };
    const answer = await send(subject, shard, statement, [{ field: 'documents', documents }]);
    if (answer['writeErrors'] !== undefined) return withoutServerFields(answer);
    n += Number(answer['n']);
  }
  return { n, ok: 1 };
}

function shardKeyFilter({ collection }: Placement, document: Document): Document {
  const filter: Document = {};
  for (const path of Object.keys(collection?.key ?? {})) {
    let value: unknown = document;
    for (const field of path.split('.')) {
      value = value instanceof Object ? (value as Document)[field] : undefined;
    }
    filter[path] = { $eq: value ?? null };
  }
  return filter;
}

async function change(subject: Subject, field: 'updates' | 'deletes'): Promise<Document> {
  const { command, request } = subject;
  const options = knownArguments(command, ['ordered', 'bypassDocumentValidation', 'let', field]);
  const statement = { [request.name]: command[request.name] as unknown, ...options };
  const total = { n: 0, nModified: 0, upserted: [] as unknown[] };
  for (const [index, bytes] of statementsOf(request, field).entries()) {
    const { q, multi, limit } = decodeExactly(bytes);
    const isMulti = field === 'updates' ? multi === true : Number(limit) === 0;
    const filter = q as Document;
    const shards = isMulti ? await ownersOf(subject, filter) : [await ownerOf(subject, filter)];
    for (const shard of shards) {
      const sequence = { field, documents: [bytes] };
      const raw = await sendRaw(subject, shard, { ...statement, [field]: undefined }, [sequence]);
      const answer =
        decode(raw)['code'] === errorCodes.WouldChangeOwningShard
          ? await moveDocument(subject, shard, raw)
          : checked(decodeExactly(raw), decode(raw));
      if (Array.isArray(answer['writeErrors'])) {
        const [error] = answer['writeErrors'] as Document[];
        return { ...total, writeErrors: [{ ...error, index }], ok: 1 };
      }
      total.n += Number(answer['n']);
      total.nModified += Number(answer['nModified'] ?? 0);
      for (const row of (answer['upserted'] ?? []) as Document[]) {
        total.upserted.push({ ...row, index });
      }
    }
  }
  const { n, nModified, upserted } = total;
  if (field === 'deletes') return { n, ok: 1 };
  return { n, nModified, ...(upserted.length > 0 && { upserted }), ok: 1 };
}

/** Carries out an update that takes a document to another shard; the shard's error says what it was and is to be. */
async function moveDocument(subject: Subject, from: string, raw: RawDocument): Promise<Document> {
  const { request, placement, ns } = subject;
  const { collection } = splitNamespace(ns);
  const fields = new Map(elementsOf(raw).map((element) => [element.name, element]));
  const [before, after] = [fields.get('preImage'), fields.get('postImage')];
  const isUpsert = decode(raw)['shouldUpsert'] === true;
  if (after === undefined) throw new CommandFailure(withoutServerFields(decode(raw)));
  const post = valueBytes(after);
  if (before !== undefined && !isUpsert) {
    const pre = decodeExactly(valueBytes(before));
    const q = { _id: { $eq: pre['_id'] as unknown }, ...shardKeyFilter(placement, pre) };
    const deletes = { field: 'deletes', documents: [encode({ q, limit: 1 })] };
    const { n } = await send(subject, from, { delete: collection }, [deletes]);
    if (Number(n) !== 1) throw failure('NoSuchTransaction', 'the document has changed', passing);
  }
  const document = decodeExactly(post);
  const to = await ownerOf(subject, shardKeyFilter(placement, document));
  const inserts = { field: 'documents', documents: [post] };
  const answer = await send(subject, to, { insert: collection }, [inserts]);
  if (answer['writeErrors'] !== undefined || request.name !== 'update') return answer;
  return isUpsert
    ? { n: 1, nModified: 0, upserted: [{ _id: document['_id'] as unknown }], ok: 1 }
    : { n: 1, nModified: 1, ok: 1 };
}

async function find(subject: Subject): Promise<RawDocument | Document> {
  const { command, request, state, ns } = subject;
  const shards = await ownersOf(subject, (command['filter'] ?? {}) as Document);
  const known = ['filter', 'sort', 'projection', 'limit', 'skip', 'batchSize', 'hint'];
  const options = knownArguments(command, known);
  const statement = { find: command['find'] as unknown, ...options };
  const [only, ...others] = shards;
  if (only !== undefined && others.length === 0) {
    const body = { ...statement, ...transactionFields(subject, only), $db: request.db };
    const address = await state.cluster.addressOf({ shard: only }, request.signal);
    const answer = await onShard(state, address, encode(body), request.signal);
    checked({}, decode(answer));
    return answer;
  }
  if (['sort', 'limit', 'skip'].some((option) => option in options)) {
    throw failure(
      'NotImplemented',
      'the router of the tests does not sort, limit or skip over several shards in a transaction',
    );
  }
  const firstBatch: unknown[] = [];
  for (const shard of shards) {
    const answer = await send(subject, shard, { ...statement, batchSize: 1_000_000 });
    const cursor = answer['cursor'] as { id: Long; firstBatch: unknown[] };
    if (!cursor.id.isZero()) {
      throw failure('NotImplemented', 'more than one batch of a shard in a transaction');
    }
    firstBatch.push(...cursor.firstBatch);
  }
  return { cursor: { firstBatch, id: BSON.Long.ZERO, ns }, ok: 1 };
}
