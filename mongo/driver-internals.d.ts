declare module 'mongodb/lib/cmap/commands.js' {
  /** An OP_MSG section of kind 1. */
  export class DocumentSequence {
    constructor(field: string);
    /** One for each that was added. */
    readonly documents: readonly unknown[];
    /** Adds one document; only the bytes are sent. */
    push(document: object, buffer: Uint8Array): number;
  }

  /** An OP_MSG to be sent. */
  export class OpMsgRequest {
    constructor(database: string, command: Record<string, unknown>, options: object);
    command: Record<string, unknown>;
    /** The bytes of the message, in parts. */
    toBin(): Uint8Array[];
  }

  /** An OP_COMPRESSED to be sent. */
  export const OpCompressedRequest: {
    /** False for commands that are always sent as they are, such as logins. */
    canCompress(message: object): boolean;
  };
}

declare module 'mongodb/lib/cmap/connection.js' {
  import type { Socket } from 'node:net';
  import type { Transform } from 'node:stream';
  import type { ClusterTime, Document } from 'mongodb';

  /** A command on its way to the server. */
  export interface Message {
    /** An OP_MSG's command; other kinds of message have none. */
    command?: Record<string, unknown>;
    /** The command of an OP_QUERY: the first of a connection. */
    readonly query?: Record<string, unknown>;
    /** The bytes of the message, in parts. */
    toBin(): Uint8Array[] | Promise<Uint8Array[]>;
  }

  export interface WriteOptions {
    readonly signal?: AbortSignal | undefined;
    readonly agreedCompressor?: string;
    readonly zlibCompressionLevel?: number;
    readonly timeoutContext?: { csotEnabled(): boolean };
  }

  export interface CommandOptions {
    readonly signal?: AbortSignal;
    readonly raw?: boolean;
    /** Where the answer has documents; with `raw`, only these are left as bytes when an answer is read here. */
    readonly documentsReturnedIn?: string;
  }

  export interface ConnectionOptions {
    /** `<host>:<port>` of the server, as the client knows it. */
    readonly hostAddress: { toString(): string };
    readonly id: number;
    readonly generation: number;
  }

  /** A connection of a client's pool: one command at a time. */
  export class Connection {
    constructor(socket: Socket, options: ConnectionOptions);
    protected readonly socket: Socket;
    /** The socket is piped into it; it gives whole messages. */
    protected readonly messageStream: Transform;
    /** Set between the socket's time-out and the end of the connection, which what comes then prevents. */
    protected delayedTimeoutId: NodeJS.Timeout | null;
    /** How long nothing may be sent or received while an answer is awaited. */
    protected readonly socketTimeoutMS: number;
    /** True when it has been logged in. */
    protected readonly established: boolean;
    /** That of the last answer, which the session and the client keep as well. */
    protected readonly clusterTime: ClusterTime | null;
    protected readonly description: {
      readonly serverConnectionId: bigint | null;
      /** What the server answered first. */
      readonly hello: Document | null;
    };
    command(
      namespace: { readonly db: string },
      command: object,
      options?: CommandOptions,
      responseType?: unknown,
    ): Promise<unknown>;
    /** Closes it; the command on it fails. */
    cleanup(error: Error): void;
    protected onTimeout(): void;
    /** Resolves once the message has been handed to the network. */
    protected writeCommand(message: Message, options: WriteOptions): Promise<void>;
  }
}

declare module 'mongodb/lib/operations/operation.js' {
  /** What an operation is, for the driver. */
  export const Aspect: {
    /** It has to go to the server that is set. */
    readonly MUST_SELECT_SAME_SERVER: symbol;
  };
}

declare module 'mongodb/lib/operations/run_command.js' {
  import type { BSONSerializeOptions, ClientSession, Document } from 'mongodb';
  import type { MongoDBNamespace } from 'mongodb/lib/utils.js';

  /** A server that a client knows. */
  export interface Server {
    /** `address` is the `host:port` under which the client knows it. */
    readonly description: { readonly type: string; readonly address: string };
  }

  export interface RunCommandOptions extends BSONSerializeOptions {
    readonly session?: ClientSession;
    readonly signal: AbortSignal;
  }

  /** What `Db.command` carries out. */
  export class RunCommandOperation {
    constructor(namespace: MongoDBNamespace, command: Document, options: RunCommandOptions);
    /** That it was sent to, once it was. */
    server: Server | undefined;
    hasAspect(aspect: symbol): boolean;
  }
}

declare module 'mongodb/lib/operations/execute_operation.js' {
  import type { Document, MongoClient } from 'mongodb';
  import type { RunCommandOperation } from 'mongodb/lib/operations/run_command.js';

  /** Chooses a server, and runs an operation there. */
  export function executeOperation(
    client: MongoClient,
    operation: RunCommandOperation,
  ): Promise<Document>;
}

declare module 'mongodb/lib/utils.js' {
  /** A database, as the driver names it. */
  export class MongoDBNamespace {
    readonly db: string;
    constructor(db: string);
  }
}
