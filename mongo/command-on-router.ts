// Internal to the driver: its version is exact, and a test on two routers shows what this is for.
import { MongoServerError, ReadPreference } from 'mongodb';
import type {
  BSONSerializeOptions,
  ClientSession,
  Db,
  Document,
  MongoClient,
  ReadPreferenceMode,
} from 'mongodb';
import { executeOperation } from 'mongodb/lib/operations/execute_operation.js';
import { Aspect } from 'mongodb/lib/operations/operation.js';
import { RunCommandOperation, type Server } from 'mongodb/lib/operations/run_command.js';
import { MongoDBNamespace } from 'mongodb/lib/utils.js';
import { checkedAnswer, type CheckedValue } from './checked-value.ts';

/** How to run a command. */
export interface CommandOptions {
  /** Default: one of its own. */
  readonly session?: ClientSession;
  readonly signal: AbortSignal;
  /** The router, or member of a replica set, that must run it. */
  readonly router?: Server | undefined;
  /** Default: the primary. */
  readonly readPreference?: ReadPreferenceMode;
  /** Takes the `<host>:<port>` that the command was sent to if it fails without an answer of that server. */
  readonly onUnanswered?: (address: string) => void;
}

interface OperationOptions extends CommandOptions, BSONSerializeOptions {
  /** Whether embedded documents of the answer are bytes. */
  readonly isRaw: boolean;
}

/** The answer to a command. */
export interface Answer {
  readonly answer: Document;
  /** The router that answered; undefined for the primary of a replica set. */
  readonly router: Server | undefined;
  /** `<host>:<port>` of the server that answered. */
  readonly address: string;
}

class CommandOnRouter extends RunCommandOperation {
  constructor(db: string, command: Document, { isRaw, ...options }: OperationOptions) {
    const { session, signal, router, readPreference, ...bson } = options;
    super(new MongoDBNamespace(db), command, {
      ...(session && { session }),
      signal,
      ...bson,
      ...(isRaw && { raw: true }),
      ...(readPreference && { readPreference: preferenceOf(readPreference, router) }),
    });
    if (router) this.server = router;
  }

  override hasAspect(aspect: symbol): boolean {
    return aspect === Aspect.MUST_SELECT_SAME_SERVER
      ? this.server !== undefined
      : super.hasAspect(aspect);
  }
}

/** The smallest value that drivers take: a read waits until its member has what it is to see. */
export const maxStalenessSeconds = 90;

/** Of the members that may be chosen, none that is far behind. One that was chosen before stays. */
function preferenceOf(mode: ReadPreferenceMode, chosen: Server | undefined): ReadPreference {
  const isOpen = mode !== 'primary' && chosen === undefined;
  return new ReadPreference(mode, undefined, isOpen ? { maxStalenessSeconds } : undefined);
}

/**
 * Runs a command, with embedded documents of the answer as bytes. Only the router that has opened a cursor knows it: the driver
 * (7.8) chooses a router for each command, and lets only its own cursors pick one.
 */
export async function runOnRouter(
  client: MongoClient,
  db: string,
  command: Document,
  options: CommandOptions,
): Promise<Answer> {
  const operation = new CommandOnRouter(db, command, { ...options, isRaw: true });
  const answer = await executeOperation(client, operation).catch((error: unknown) => {
    const { server } = operation;
    const isAnswered = error instanceof MongoServerError;
    if (server !== undefined && !isAnswered) options.onUnanswered?.(server.description.address);
    throw error;
  });
  const { server } = operation;
  const isChosenAnew =
    server?.description.type === 'Mongos' || (options.readPreference ?? 'primary') !== 'primary';
  return { answer, router: isChosenAnew ? server : undefined, address: addressOf(operation) };
}

/** Runs a command on the primary, or any router, as `Db.command` does, and reports which server answered. */
export async function runOnPrimary(
  db: Db,
  command: Document,
  signal: AbortSignal,
  options: BSONSerializeOptions = {},
): Promise<CheckedValue> {
  const operation = new CommandOnRouter(db.databaseName, command, {
    ...options,
    signal,
    isRaw: false,
  });
  const answer = await executeOperation(db.client, operation);
  return checkedAnswer(answer, command, addressOf(operation));
}

function addressOf({ server }: CommandOnRouter): string {
  return server?.description.address ?? 'a server';
}

/**
 * Runs a command on the admin database of one server that a client knows, which may be a member of a replica set other than the
 * primary.
 * @param address - `<host>:<port>` under which the client knows it.
 */
export async function runOnServer(
  client: MongoClient,
  address: string,
  command: Document,
  signal: AbortSignal,
): Promise<CheckedValue> {
  const session = client.startSession();
  try {
    const router = { description: { type: 'Unknown', address } };
    const readPreference = 'primaryPreferred';
    const options = { session, signal, router, readPreference, isRaw: false } as const;
    const operation = new CommandOnRouter('admin', command, options);
    return checkedAnswer(await executeOperation(client, operation), command, address);
  } finally {
    await session.endSession();
  }
}
