// A process that stands before a mongod, and answers for it what costs a server most: the documents and changes of the source, from
// memory, and the writes of documents to the destination, which it only counts. Everything else goes to the mongod.
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { stringValue } from '../../mongo/raw-bson.ts';
import { arrayOf, ceilingSets, database, type CeilingSet } from './documents.ts';
import {
  asReplyTo,
  batchOf,
  commandOf,
  countOf,
  hasDocuments,
  integerOf,
  Messages,
  replyTo,
  type Command,
} from './messages.ts';
import { BSON } from 'mongodb';
import type { Order, Setup, Tally } from './stand-ins.ts';

const { targetPort, side, bytesOfFind } = JSON.parse(process.argv[2] ?? '') as Setup;

/** The answer to a command; undefined if the server is to answer it. */
type Answer = readonly Buffer[] | undefined;

/** The documents that a find still has, by its cursor. */
const finds = new Map<bigint, { readonly set: CeilingSet; left: number }>();
const arrays = new Map<string, ReturnType<typeof arrayOf>>();
let nextCursor = 1n << 50n;

/** The replies with changes, by the cursor of their change stream; how often and from where they must be given again. */
const streams = new Map<bigint, { readonly replies: Buffer[]; rounds: number; at: number }>();
let order: Order = { kind: 'pass' };

const tally: Tally = { writes: 0 };

function batch(command: Command, cursorId: bigint, isFirst: boolean): Answer {
  const find = finds.get(cursorId);
  const size = command.fields.get('batchSize');
  if (!find) return undefined;
  const count = Math.min(find.left, size ? Number(integerOf(size)) : 101);
  const key = `${find.set} ${count}`;
  const made = arrays.get(key) ?? arrayOf(find.set, count);
  arrays.set(key, made);
  find.left -= made.documents;
  if (find.left <= 0) finds.delete(cursorId);
  const name = isFirst ? 'firstBatch' : 'nextBatch';
  const id = find.left <= 0 ? 0n : cursorId;
  const namespace = `${database}.${find.set}`;
  return replyTo(command.requestId, ...batchOf(id, namespace, name, made.array));
}

/** Of documents: those of the copy, and changes again that were recorded. */
function fromSource(command: Command): Answer {
  const { name, db, fields, requestId } = command;
  const subject = fields.get(name);
  if (name === 'find' && db === database && fields.has('collectionUUID') && subject) {
    const set = stringValue(subject);
    if (set !== 'small' && set !== 'large') return undefined;
    const cursorId = nextCursor++;
    finds.set(cursorId, { set, left: Math.ceil(bytesOfFind / ceilingSets[set]) });
    return batch(command, cursorId, true);
  }
  if (name !== 'getMore' || !subject) return undefined;
  const cursorId = integerOf(subject);
  const stream = streams.get(cursorId);
  if (order.kind !== 'replay' || !stream) return batch(command, cursorId, false);
  if (stream.at === stream.replies.length) {
    stream.at = 0;
    stream.rounds--;
  }
  const reply = stream.rounds > 0 ? stream.replies[stream.at++] : undefined;
  return reply && asReplyTo(requestId, reply);
}

const writesIn: Readonly<Record<string, string>> = {
  insert: 'documents',
  update: 'updates',
  delete: 'deletes',
};

/** Of writes of documents: that all of them have been made. */
function toDestination(command: Command): Answer {
  const field = writesIn[command.name];
  if (command.db !== database || field === undefined) return undefined;
  const n = countOf(command, field);
  tally.writes += n;
  const body = BSON.serialize({ n, ...(command.name === 'update' && { nModified: n }), ok: 1 });
  return replyTo(command.requestId, Buffer.from(body));
}

function changeCursorOf(command: Command): bigint | undefined {
  const cursor = command.fields.get('getMore');
  const collection = command.fields.get('collection');
  if (command.db !== 'admin' || !cursor || !collection) return undefined;
  return stringValue(collection) === '$cmd.aggregate' ? integerOf(cursor) : undefined;
}

function record(cursorId: bigint, reply: Buffer): void {
  if (order.kind !== 'record' || !hasDocuments(reply)) return;
  const stream = streams.get(cursorId) ?? { replies: [], rounds: 0, at: 0 };
  streams.set(cursorId, stream);
  stream.replies.push(Buffer.from(reply));
}

function serve(client: Socket): void {
  const server = connect(targetPort, '127.0.0.1');
  for (const socket of [client, server]) socket.setNoDelay(true);
  const commands = new Messages();
  const replies = new Messages();
  /** What the server is answering, if that may be recorded. */
  let changeCursor: bigint | undefined;
  client.on('data', (chunk) => {
    for (const message of commands.add(chunk)) {
      const command = commandOf(message);
      const answer = command && (side === 'source' ? fromSource(command) : toDestination(command));
      if (answer) {
        client.cork();
        for (const part of answer) client.write(part);
        client.uncork();
        continue;
      }
      changeCursor = command && changeCursorOf(command);
      server.write(message);
    }
  });
  server.on('data', (chunk) => {
    client.write(chunk);
    for (const reply of replies.add(chunk))
      if (changeCursor !== undefined) record(changeCursor, reply);
  });
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    one.on('error', () => undefined);
    one.on('close', () => {
      other.destroy();
    });
  }
}

const listener = createServer(serve).listen(0, '127.0.0.1');
await once(listener, 'listening');
process.on('message', (message: Order) => {
  if (message.kind === 'record') streams.clear();
  if (message.kind === 'replay')
    for (const stream of streams.values()) {
      stream.rounds = message.rounds;
      stream.at = 0;
    }
  order = message;
  process.send?.(tally);
});
process.on('disconnect', () => process.exit());
process.send?.({ port: (listener.address() as AddressInfo).port });
