// Internal to the driver: its version is exact, and a test on two routers shows what this is for.
import { ReadPreference } from 'mongodb';
import type { ClientSession, Document, MongoClient, ReadPreferenceMode } from 'mongodb';
import { executeOperation } from 'mongodb/lib/operations/execute_operation.js';
import { Aspect } from 'mongodb/lib/operations/operation.js';
import { RunCommandOperation, type Server } from 'mongodb/lib/operations/run_command.js';
import { MongoDBNamespace } from 'mongodb/lib/utils.js';

/** How a command is run. */
export interface CommandOptions {
  readonly session: ClientSession;
  readonly signal: AbortSignal;
  /** The router, or member of a replica set, that it has to go to. */
  readonly router?: Server | undefined;
  /** Default: the primary. */
  readonly readPreference?: ReadPreferenceMode;
}

interface OperationOptions extends CommandOptions {
  /** Whether embedded documents of the answer are bytes. */
  readonly isRaw: boolean;
}

/** What was answered to a command, and by which router: undefined for the primary of a replica set. */
export interface Answer {
  readonly answer: Document;
  readonly router: Server | undefined;
}

class CommandOnRouter extends RunCommandOperation {
  constructor(db: string, command: Document, { isRaw, ...options }: OperationOptions) {
    const { session, signal, router, readPreference } = options;
    super(new MongoDBNamespace(db), command, {
      session,
      signal,
      ...(isRaw && { raw: true }),
      ...(readPreference && { readPreference: ReadPreference.fromString(readPreference) }),
    });
    if (router) this.server = router;
  }

  override hasAspect(aspect: symbol): boolean {
    return aspect === Aspect.MUST_SELECT_SAME_SERVER
      ? this.server !== undefined
      : super.hasAspect(aspect);
  }
}

/**
 * Runs a command, with embedded documents of the answer as bytes. A cursor is known to the router alone that has opened it:
 * the driver (7.8), which chooses one of several routers for each command, lets nobody but its own cursors say which one.
 */
export async function runOnRouter(
  client: MongoClient,
  db: string,
  command: Document,
  options: CommandOptions,
): Promise<Answer> {
  const operation = new CommandOnRouter(db, command, { ...options, isRaw: true });
  const answer = await executeOperation(client, operation);
  const { server } = operation;
  const isChosenAnew =
    server?.description.type === 'Mongos' || (options.readPreference ?? 'primary') !== 'primary';
  return { answer, router: isChosenAnew ? server : undefined };
}

/**
 * Runs a command on the admin database of one server that a client knows, a member of a replica set that is not the primary
 * included.
 * @param address - `<host>:<port>` under which the client knows it.
 */
export async function runOnServer(
  client: MongoClient,
  address: string,
  command: Document,
  signal: AbortSignal,
): Promise<Document> {
  const session = client.startSession();
  try {
    const router = { description: { type: 'Unknown', address } };
    const readPreference = 'primaryPreferred';
    const options = { session, signal, router, readPreference, isRaw: false } as const;
    return await executeOperation(client, new CommandOnRouter('admin', command, options));
  } finally {
    await session.endSession();
  }
}
