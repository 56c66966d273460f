import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Int32, type Document } from 'mongodb';
import {
  decode,
  decodeExactly,
  encode,
  MessageFramer,
  parseCommand,
} from '../ground/sharded/router/wire.ts';

/** A place in the answers to a command: `getMore shop.items: cursor.nextBatch`. Places in an array are all the same. */
export interface AnswerPlace {
  readonly command: string;
  readonly path: string;
}

/** A change to an answer of a server. */
export type Alteration = 'drop' | 'retype';

/** Called for each place in each answer, in order: returns the change to make there, if any. */
export type Alter = (place: AnswerPlace) => Alteration | undefined;

interface Asked {
  readonly command: string;
  /** The contents of the documents of users are theirs: a server that lies about them is found by the verification alone. */
  readonly isOfUsers: boolean;
}

const opReply = 1;
const moreToCome = 2;

/** A proxy in front of a mongod: forwards everything, and alters answers to the programs of clustersync. */
export class AlteringProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #alter: Alter;

  private constructor(targetPort: number, alter: Alter) {
    this.#alter = alter;
    this.#server = createServer((client) => {
      this.#join(client, connect(targetPort, '127.0.0.1'));
    });
  }

  static async start(targetPort: number, alter: Alter): Promise<AlteringProxy> {
    const proxy = new AlteringProxy(targetPort, alter);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(client: Socket, target: Socket): void {
    const asked = new Map<number, Asked>();
    let isOfProgram: boolean | undefined;
    for (const [socket, other] of [
      [client, target],
      [target, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    const sent = new MessageFramer();
    client.on('data', (chunk: Buffer) => {
      for (const message of sent.push(chunk)) {
        isOfProgram ??= message.includes('clustersync');
        if (isOfProgram) asked.set(message.readInt32LE(4), askedBy(message));
        target.write(message);
      }
    });
    const answered = new MessageFramer();
    target.on('data', (chunk: Buffer) => {
      for (const message of answered.push(chunk)) {
        const to = message.readInt32LE(8);
        const question = asked.get(to);
        asked.delete(to);
        if (question && isMore(message)) asked.set(message.readInt32LE(4), question);
        client.write(question ? this.#altered(message, question) : message);
      }
    });
  }

  #altered(message: Buffer, question: Asked): Buffer {
    const offset = message.readInt32LE(12) === opReply ? 36 : 21;
    const answer = decodeExactly(message.subarray(offset));
    if (!this.#alterWithin(answer, question, '')) return message;
    const head = Buffer.from(message.subarray(0, offset));
    const body = encode(answer);
    head.writeInt32LE(offset + body.length, 0);
    return Buffer.concat([head, body]);
  }

  /** @returns whether something was altered. One answer is altered in one place of each kind. */
  #alterWithin(fields: Document, question: Asked, prefix: string): boolean {
    let isAltered = false;
    for (const [name, value] of Object.entries(fields)) {
      const path = Array.isArray(fields) ? `${prefix}#` : `${prefix}${name}`;
      if (isFree(path, question)) continue;
      const alteration = this.#alter({ command: question.command, path });
      if (alteration === undefined) {
        if (isContainer(value))
          isAltered = this.#alterWithin(value, question, `${path}.`) || isAltered;
        continue;
      }
      isAltered = true;
      if (alteration === 'retype') fields[name] = typeof value === 'string' ? new Int32(7) : 'odd';
      else if (Array.isArray(fields)) fields.splice(Number(name), 1);
      else Reflect.deleteProperty(fields, name);
    }
    return isAltered;
  }
}

function isContainer(value: unknown): value is Document {
  return (
    typeof value === 'object' &&
    value !== null &&
    !('_bsontype' in value) &&
    !(value instanceof Date)
  );
}

function isMore(message: Buffer): boolean {
  return message.readInt32LE(12) !== opReply && (message.readInt32LE(16) & moreToCome) !== 0;
}

function askedBy(message: Buffer): Asked {
  const command = decode(parseCommand(message).body);
  const [[name, target] = ['', '']] = Object.entries(command);
  const db = String(command['$db']);
  const coll = name === 'getMore' ? String(command['collection']) : String(target);
  const isOfServer = /^(admin|config|local|clustersync_\w+)$/.test(db);
  const on = isOfServer ? `${db}.${coll}` : 'shop';
  const isRead = ['find', 'getMore', 'aggregate'].includes(name);
  return {
    command: isRead || db.startsWith('clustersync_') ? `${name} ${on}` : name,
    isOfUsers: isRead && !isOfServer,
  };
}

/** What a server may say or leave out as it likes, so that what is altered in it cannot be told from what is so. */
const free: readonly RegExp[] = [
  // An element of an array that is not there.
  /\.#$/,
  // The contents of documents, of options and of indexes.
  /\b(fullDocument|diff|documentKey\._id|options|spec|keyPattern|keyValue)\b\./,
  /^cursor\.(firstBatch|nextBatch)\.#\.(key|unique|sparse|hidden|expireAfterSeconds|collation)\b/,
  /^cursor\.(firstBatch|nextBatch)\.#\.operationDescription\./,
  /^cursor\.(firstBatch|nextBatch)\.#\._id\b/,
  // Privileges: fewer of them are fewer.
  /^authInfo\./,
];

/** Statistics have thousands of places, of which the programs read these. */
const readOfStatistics: Readonly<Record<string, RegExp>> = {
  serverStatus: /^(repl|oplogTruncation|ok|operationTime|\$clusterTime)\b/,
  collStats:
    /^(size|count|maxSize|wiredTiger|wiredTiger\.cursor(\.insert key .*)?|ok|\$clusterTime)$/,
  hostInfo: /^(system|system\.numCores|ok)$/,
  buildInfo: /^(version|ok)$/,
};

function isFree(path: string, { isOfUsers, command }: Asked): boolean {
  const isRead = readOfStatistics[command];
  if (isRead && !isRead.test(path)) return true;
  if (isOfUsers && /^cursor\.(firstBatch|nextBatch)\.#/.test(path)) return true;
  return free.some((pattern) => pattern.test(path));
}
