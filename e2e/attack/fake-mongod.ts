import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Binary, Long, ObjectId, Timestamp, type Document } from 'mongodb';
import {
  answerMessage,
  decode,
  encode,
  MessageFramer,
  parseCommand,
  type IncomingCommand,
} from '../ground/sharded/router/wire.ts';

/** A command on a connection to a fake server, and how it is answered. */
export interface FakeRequest {
  readonly name: string;
  readonly command: Document;
  readonly socket: Socket;
  /** `host:port` of the fake server. */
  readonly address: string;
  /** The answer of an honest primary of a replica set with one member. */
  readonly honest: Document;
  /** Sends a document as the answer. */
  readonly answer: (document: Document) => void;
  /** Sends bytes instead of the document of an answer. */
  readonly answerBytes: (bytes: Uint8Array) => void;
}

/** Answers each command, or does something else to the client. */
export type FakeAnswer = (request: FakeRequest) => void;

/** The most that is kept of what clients send. */
const keptBytes = 16 * 1024 * 1024;

/** A server that speaks MongoDB's protocol, returns the answers that a test sets, and keeps what it receives. */
export class FakeMongod implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #received: Buffer[] = [];
  #receivedBytes = 0;
  /** Of each command that has come, in order. */
  readonly names: string[] = [];
  /** The commands with which clients tried to log in. */
  readonly mechanisms = new Set<string>();

  private constructor(answer: FakeAnswer) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined);
      socket.on('close', () => this.#sockets.delete(socket));
      const framer = new MessageFramer();
      socket.on('data', (chunk: Buffer) => {
        this.#keep(chunk);
        try {
          for (const message of framer.push(chunk))
            this.#take(socket, parseCommand(message), answer);
        } catch {
          // What is no message of the protocol, such as TLS.
          socket.destroy();
        }
      });
    });
  }

  static async start(answer: FakeAnswer): Promise<FakeMongod> {
    const fake = new FakeMongod(answer);
    fake.#server.listen(0, '127.0.0.1');
    await once(fake.#server, 'listening');
    return fake;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Everything that clients have sent, as far as it is kept. */
  get received(): Buffer {
    return Buffer.concat(this.#received);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #keep(chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes <= keptBytes) this.#received.push(chunk);
  }

  #take(socket: Socket, incoming: IncomingCommand, answer: FakeAnswer): void {
    const command = decode(incoming.body);
    const [name = ''] = Object.keys(command);
    this.names.push(name);
    const { mechanism } = { ...command, ...(command['speculativeAuthenticate'] as Document) };
    if (typeof mechanism === 'string') this.mechanisms.add(mechanism);
    const { address } = this;
    const answerBytes = (bytes: Uint8Array): void => {
      if (!incoming.wantsNoAnswer) socket.write(answerMessage(incoming, bytes));
    };
    answer({
      ...{ name, command, socket, address, answerBytes },
      honest: honestAnswer(name, address),
      answer: (document) => {
        answerBytes(encode(document));
      },
    });
  }
}

/** The names of the first command on a connection. */
export const helloNames: readonly string[] = ['hello', 'ismaster', 'isMaster'];

const clusterTime = Timestamp.fromBits(1, 1_700_000_000);

function honestAnswer(name: string, address: string): Document {
  const signature = { hash: new Binary(new Uint8Array(20)), keyId: Long.ZERO };
  const time = { operationTime: clusterTime, $clusterTime: { clusterTime, signature } };
  const replicaSetId = ObjectId.createFromHexString(
    Buffer.from(address.padEnd(12).slice(-12)).toString('hex'),
  );
  if (helloNames.includes(name)) {
    return {
      ...{ helloOk: true, ismaster: true, isWritablePrimary: true, secondary: false },
      ...{ setName: 'fake', setVersion: 1, hosts: [address], primary: address, me: address },
      ...{ maxBsonObjectSize: 16_777_216, maxMessageSizeBytes: 48_000_000 },
      ...{ maxWriteBatchSize: 100_000, logicalSessionTimeoutMinutes: 30, connectionId: 1 },
      ...{ minWireVersion: 0, maxWireVersion: 17, localTime: new Date(), ok: 1, ...time },
    };
  }
  const answers: Readonly<Record<string, Document>> = {
    ping: {},
    endSessions: {},
    buildInfo: { version: '6.0.5', versionArray: [6, 0, 5, 0], modules: [] },
    connectionStatus: {
      authInfo: {
        authenticatedUsers: [],
        authenticatedUserRoles: [],
        authenticatedUserPrivileges: [],
      },
    },
    getParameter: { featureCompatibilityVersion: { version: '6.0' } },
    replSetGetConfig: { config: { _id: 'fake', version: 1, settings: { replicaSetId } } },
    find: { cursor: { id: Long.ZERO, ns: 'a.b', firstBatch: [] } },
    aggregate: { cursor: { id: Long.ZERO, ns: 'a.b', firstBatch: [] } },
    listCollections: { cursor: { id: Long.ZERO, ns: 'a.$cmd.listCollections', firstBatch: [] } },
    listDatabases: { databases: [{ name: 'shop', sizeOnDisk: 1, empty: false }], totalSize: 1 },
  };
  return { ...answers[name], ok: 1, ...time };
}
