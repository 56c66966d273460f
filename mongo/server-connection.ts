import type { ObjectId } from 'mongodb';
import type { WriteGuard } from './write-guard.ts';

/** A connection to a server, as the server knows it. */
export interface ServerConnection {
  /** `<host>:<port>` under which the client knows the server. What the network shows of a connection is another one. */
  readonly address: string;
  /** Another one for each process of a server. */
  readonly processId: ObjectId | undefined;
  /** The server's number of the connection. */
  readonly connectionId: number;
}

/** What a client's connections ask and tell. */
export interface ConnectionWatch {
  readonly writeGuard: WriteGuard;
  /** Whether the server works on something that came on a connection. */
  isWorkedOn(connection: ServerConnection, signal: AbortSignal): Promise<boolean>;
  /** A connection has broken, or was given up, before a write on it was answered. */
  lostWrite(connection: ServerConnection): void;
}
