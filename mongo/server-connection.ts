import type { ObjectId } from 'mongodb';
import type { WriteGuard } from './write-guard.ts';

/** A connection to a server, as the server knows it. */
export interface ServerConnection {
  /** `<host>:<port>` under which the client knows the server. The network may show another address. */
  readonly address: string;
  /** Different for each process of a server. */
  readonly processId: ObjectId | undefined;
  /** The server's number of the connection. */
  readonly connectionId: number;
}

/** What a client's connections ask, and what they report. */
export interface ConnectionWatch {
  readonly writeGuard: WriteGuard;
  /** Whether the server works on something that came on a connection. */
  isWorkedOn(connection: ServerConnection, signal: AbortSignal): Promise<boolean>;
  /** Reports a connection that has broken, or was abandoned, before a write on it was answered. */
  lostWrite(connection: ServerConnection): void;
}
