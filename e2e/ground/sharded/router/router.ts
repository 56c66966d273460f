import { createServer, type Server, type Socket } from 'node:net';
import type { Document } from 'mongodb';
import { elementsOf, RawWriter, type RawDocument } from '../../../../mongo/raw-bson.ts';
import { messageOf } from '../../../../service/errors.ts';
import { sleep } from '../../../../service/sleep.ts';
import { collectionCommands } from './collection-commands.ts';
import { CommandFailure, errorCodes, failure, isServerField } from './command-failure.ts';
import { bypassPrivilege, documentCommands } from './document-commands.ts';
import type {
  ClientSession,
  CommandRequest,
  CommandTable,
  RouterCommand,
  RouterState,
} from './router-state.ts';
import { serverCommands } from './server-commands.ts';
import { commandOn, ServerConnection } from './server-pool.ts';
import { shardingCommands } from './sharding-commands.ts';
import { runInTransaction } from './transactions.ts';
import {
  answerMessage,
  decode,
  encode,
  MessageFramer,
  parseCommand,
  type IncomingCommand,
} from './wire.ts';

const commands: CommandTable = {
  ...serverCommands,
  ...documentCommands,
  ...collectionCommands,
  ...shardingCommands,
};

/** A server on which a write continues when its client is gone. */
const never = new AbortController().signal;

/** A server that speaks to clients as a mongos does. */
export function createRouter(state: RouterState): Server {
  let connections = 0;
  return createServer((socket) => {
    connections += 1;
    void serve(state, socket, connections);
  });
}

/** Answers the commands of a client one after the other, until it is gone. */
async function serve(state: RouterState, socket: Socket, connectionId: number): Promise<void> {
  const gone = new AbortController();
  socket
    .setNoDelay(true)
    .on('error', () => undefined)
    .on('close', () => {
      gone.abort(failure('HostUnreachable', 'the client is gone'));
    });
  let login: ServerConnection | undefined;
  const session: ClientSession = {
    connectionId,
    clientMetadata: undefined,
    operation: undefined,
    login: undefined,
    runLogin: async (body) => {
      login ??= new ServerConnection(await state.cluster.addressOf('config', gone.signal));
      return await commandOn(login, decode(body));
    },
  };
  const framer = new MessageFramer();
  state.clients.add(session);
  try {
    for await (const chunk of socket) {
      for (const message of framer.push(chunk as Buffer)) {
        const incoming = parseCommand(message);
        const awaitMs = awaitMsOf(incoming);
        while (awaitMs !== undefined) {
          await sleep(awaitMs, gone.signal);
          const answer = await answerTo(state, session, incoming, gone.signal);
          socket.write(answerMessage(incoming, answer, false));
        }
        const answer = await answerTo(state, session, incoming, gone.signal);
        if (!incoming.wantsNoAnswer) socket.write(answerMessage(incoming, answer));
      }
    }
  } catch (error) {
    if (!gone.signal.aborted) console.error(`a client is sent away: ${messageOf(error)}`);
  } finally {
    state.clients.delete(session);
    login?.close();
    socket.destroy();
  }
}

/** How long to wait before each answer to a client that wants to be told of changes: there are none of a router. */
function awaitMsOf({ mayBeAnsweredAgain, body }: IncomingCommand): number | undefined {
  if (!mayBeAnsweredAgain) return undefined;
  const { topologyVersion, maxAwaitTimeMS } = decode(body);
  return topologyVersion === undefined ? undefined : Number(maxAwaitTimeMS);
}

async function answerTo(
  state: RouterState,
  session: ClientSession,
  { body, sequences }: Pick<CommandRequest, 'body' | 'sequences'>,
  signal: AbortSignal,
): Promise<RawDocument> {
  const fields = new Map(elementsOf(body).map((element) => [element.name, element]));
  const [name = ''] = fields.keys();
  state.cluster.observe(body);
  let answer: RawDocument | Document;
  try {
    if (fields.has('apiVersion')) {
      throw failure('InvalidOptions', 'the router of the tests has no versioned API');
    }
    const { $db } = decode(body);
    const db = typeof $db === 'string' ? $db : 'admin';
    session.operation = { name, db, since: new Date() };
    const request = { name, db, body, sequences, signal, session };
    answer = await run(state, request, fields.has('autocommit'));
  } catch (error) {
    answer = answerOf(error);
  } finally {
    session.operation = undefined;
  }
  return finished(state, answer instanceof Uint8Array ? answer : encode(answer));
}

async function run(
  state: RouterState,
  given: CommandRequest,
  isInTransaction: boolean,
): Promise<RawDocument | Document> {
  const { name } = given;
  const isEnd = ['commitTransaction', 'abortTransaction'].includes(name);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  const isWrite = command?.isUserWrite === true || Object.hasOwn(shardingCommands, name) || isEnd;
  const request = isWrite ? { ...given, signal: never } : given;
  if (isInTransaction && isEnd) return await runInTransaction(state, request);
  if (command === undefined) {
    throw failure(
      'CommandNotFound',
      `no such command: '${request.name}' (the router of the tests does not have it)`,
    );
  }
  authorize(command, request);
  const isStatement = isInTransaction && request.name !== 'getMore';
  const execute = async (): Promise<RawDocument | Document> =>
    isStatement ? await runInTransaction(state, request) : await command.run(state, request);
  const mayBypass = request.session.login?.privileges.allow(bypassPrivilege) === true;
  if (command.isUserWrite !== true || mayBypass) return await execute();
  try {
    return await state.gate.write(execute);
  } catch (error) {
    throw isWriteBatch(request.name) && isBlocked(error) ? blockedWrites() : error;
  }
}

function authorize(command: RouterCommand, request: CommandRequest): void {
  if (command.needs === undefined) return;
  const { login } = request.session;
  if (login === undefined) {
    throw failure('Unauthorized', `command ${request.name} requires authentication`);
  }
  const missing = command.needs(request).some((privilege) => !login.privileges.allow(privilege));
  if (missing) {
    throw failure(
      'Unauthorized',
      `not authorized on ${request.db} to execute command ${request.name}`,
    );
  }
}

function isWriteBatch(name: string): boolean {
  return ['insert', 'update', 'delete'].includes(name);
}

function isBlocked(error: unknown): boolean {
  return error instanceof CommandFailure && error.code === errorCodes.UserWritesBlocked;
}

/** What a shard answers to a batch of writes: an error of its first one. */
function blockedWrites(): CommandFailure {
  const error = { index: 0, code: errorCodes.UserWritesBlocked, errmsg: 'User writes blocked' };
  return new CommandFailure({ n: 0, writeErrors: [error], ok: 1 });
}

function answerOf(error: unknown): Document {
  if (error instanceof CommandFailure) return error.answer;
  return { ok: 0, errmsg: `router: ${messageOf(error)}`, code: 1, codeName: 'InternalError' };
}

/** The answer with the router's own cluster time, and no word of retrying writes, which it cannot keep safe. */
function finished({ cluster }: RouterState, answer: RawDocument): RawDocument {
  const writer = new RawWriter(answer.length + 256);
  for (const element of elementsOf(answer)) {
    if (element.name !== 'errorLabels' && !isServerField(element.name)) {
      writer.value(element.name, element);
    }
  }
  const { errorLabels } = elementsOf(answer).some(({ name }) => name === 'errorLabels')
    ? decode(answer)
    : {};
  const labels = Array.isArray(errorLabels)
    ? errorLabels.filter((label) => label !== 'RetryableWriteError')
    : [];
  if (labels.length > 0) {
    for (const element of elementsOf(encode({ errorLabels: labels }))) {
      writer.value(element.name, element);
    }
  }
  cluster.addClusterTime(writer, 'answer');
  return writer.finish();
}
