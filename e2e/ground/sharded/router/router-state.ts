import type { Document, ObjectId } from 'mongodb';
import { elementsOf, RawWriter, valueBytes, type RawDocument } from '../../../../mongo/raw-bson.ts';
import type { ChangeStream } from './change-stream.ts';
import type { ClusterView } from './cluster-view.ts';
import { failure } from './command-failure.ts';
import type { NeededPrivilege, Privileges } from './privileges.ts';
import type { RetriedWrites } from './retried-writes.ts';
import type { RouterTransaction } from './transactions.ts';
import { decodeExactly, type DocumentSequence } from './wire.ts';
import type { WriteGate } from './write-gate.ts';

/** All that a router remembers between commands. */
export interface RouterState {
  readonly cluster: ClusterView;
  readonly gate: WriteGate;
  readonly retriedWrites: RetriedWrites;
  /** Address of the mongod whose router code runs reads and writes. */
  readonly inner: string;
  /** Those of all routers of the process. */
  readonly inners: readonly string[];
  /** Cursors on a shard itself, by id: the address of the shard. All others are cursors of the inner router. */
  readonly shardCursors: Map<string, string>;
  readonly streams: Map<string, ChangeStream>;
  /** By session. */
  readonly transactions: Map<string, RouterTransaction>;
  /** Another one for each router process that there is or was. */
  readonly processId: ObjectId;
  /** Those that are open, and those whose last command is still being run. */
  readonly clients: Set<ClientSession>;
}

/** A connection of a client: who it is, who is logged in, and what is being done for it. */
export interface ClientSession {
  /** The router's number of the connection. */
  readonly connectionId: number;
  /** What the client has said of itself in its first message. */
  clientMetadata: Document | undefined;
  /** The name and the database of the command that is being run, and since when; also when the client is gone. */
  operation: { readonly name: string; readonly db: string; readonly since: Date } | undefined;
  login: { readonly privileges: Privileges; readonly connectionStatus: Document } | undefined;
  /** Of the log-in that is under way. */
  readonly runLogin: (body: RawDocument) => Promise<Document>;
}

/** A command of a client. */
export interface CommandRequest {
  readonly name: string;
  readonly db: string;
  readonly body: RawDocument;
  readonly sequences: readonly DocumentSequence[];
  /** Aborted when the client is gone; never for a write, which a server continues. */
  readonly signal: AbortSignal;
  readonly session: ClientSession;
}

/** What a command needs of its user. */
export type Needs = (request: CommandRequest) => readonly NeededPrivilege[];

/** How a router runs a command. */
export interface RouterCommand {
  /** Undefined: it may be run without being logged in. */
  readonly needs?: Needs;
  /** Whether write blocking stops it. Default false. */
  readonly isUserWrite?: boolean;
  run(state: RouterState, request: CommandRequest): Promise<RawDocument | Document>;
}

export type CommandTable = Readonly<Record<string, RouterCommand>>;

/** The whole command with the types of all values, the documents that travelled beside it included. */
export function commandOf({ body, sequences }: CommandRequest): Document {
  const command = decodeExactly(body);
  for (const { field, documents } of sequences) command[field] = documents.map(decodeExactly);
  return command;
}

/** `<db>.<coll>` of a command whose first field is the name of a collection. */
export function namespaceOf(request: CommandRequest): string {
  return `${request.db}.${String(commandOf(request)[request.name])}`;
}

/** `<db>.<coll>` of a command whose first field is exactly that. */
export function fullNamespaceOf(request: CommandRequest): string {
  return String(commandOf(request)[request.name]);
}

export function splitNamespace(ns: string): { readonly db: string; readonly collection: string } {
  const dot = ns.indexOf('.');
  return { db: ns.slice(0, dot), collection: ns.slice(dot + 1) };
}

/** Fields that any command may have. */
const genericFields = new Set([
  '$db',
  'lsid',
  '$clusterTime',
  '$readPreference',
  'writeConcern',
  'readConcern',
  'txnNumber',
  'autocommit',
  'startTransaction',
  'stmtId',
]);

/** The fields of a command without its name and what any command may have. */
export function argumentsOf(command: Document): Document {
  const [name] = Object.keys(command);
  return Object.fromEntries(
    Object.entries(command).filter(([field]) => field !== name && !genericFields.has(field)),
  );
}

/** The arguments of a command that the router takes apart. @throws CommandFailure for one that it does not know. */
export function knownArguments(command: Document, known: readonly string[]): Document {
  const given = argumentsOf(command);
  const unknown = Object.keys(given).find(
    (field) => !known.includes(field) && field !== 'maxTimeMS' && field !== 'comment',
  );
  if (unknown !== undefined) {
    const [name] = Object.keys(command);
    throw failure(
      'NotImplemented',
      `the router of the tests does not know ${unknown} of ${name ?? ''}`,
    );
  }
  return given;
}

/** A command under another name, without these fields. */
export function rewritten(
  body: RawDocument,
  name: string,
  without: ReadonlySet<string>,
): RawDocument {
  const writer = new RawWriter(body.length + 64);
  for (const [index, element] of elementsOf(body).entries()) {
    if (index === 0) writer.value(name, element);
    else if (!without.has(element.name)) writer.value(element.name, element);
  }
  return writer.finish();
}

/** The session and the transaction number of a command, if it has both. */
export function transactionNumberOf(
  body: RawDocument,
): { readonly session: string; readonly number: bigint } | undefined {
  const elements = elementsOf(body);
  const lsid = elements.find(({ name }) => name === 'lsid');
  const number = elements.find(({ name }) => name === 'txnNumber');
  if (lsid === undefined || number === undefined) return undefined;
  return {
    session: Buffer.from(valueBytes(lsid)).toString('hex'),
    number: Buffer.from(valueBytes(number)).readBigInt64LE(),
  };
}

/** What a command needs: an action on the collection that its first field names. */
export function onCollection(...actions: readonly string[]): Needs {
  return (request) => {
    const on = splitNamespace(namespaceOf(request));
    return actions.map((action) => ({ action, on }));
  };
}

/** An action on the collection whose full name is the first field. */
export function onNamespace(action: string): Needs {
  return (request) => [{ action, on: splitNamespace(fullNamespaceOf(request)) }];
}

/** An action on the database that the command is sent to. */
export function onDatabase(action: string): Needs {
  return ({ db }) => [{ action, on: { db, collection: '' } }];
}

export function onCluster(action: string): Needs {
  return () => [{ action, on: 'cluster' }];
}

/** Being logged in is enough. */
export function onNothing(): readonly NeededPrivilege[] {
  return [];
}
