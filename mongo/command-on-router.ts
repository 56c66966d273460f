// Internal to the driver: its version is exact, and a test on two routers shows what this is for.
import type { ClientSession, Document, MongoClient } from 'mongodb';
import { executeOperation } from 'mongodb/lib/operations/execute_operation.js';
import { Aspect } from 'mongodb/lib/operations/operation.js';
import { RunCommandOperation, type Server } from 'mongodb/lib/operations/run_command.js';
import { MongoDBNamespace } from 'mongodb/lib/utils.js';

/** How a command is run. */
export interface CommandOptions {
  readonly session: ClientSession;
  readonly signal: AbortSignal;
  /** The router that it has to go to. */
  readonly router?: Server | undefined;
}

/** What was answered to a command, and by which router: undefined for a member of a replica set. */
export interface Answer {
  readonly answer: Document;
  readonly router: Server | undefined;
}

class CommandOnRouter extends RunCommandOperation {
  constructor(db: string, command: Document, { session, signal, router }: CommandOptions) {
    super(new MongoDBNamespace(db), command, { session, signal, raw: true, useBigInt64: true });
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
  const operation = new CommandOnRouter(db, command, options);
  const answer = await executeOperation(client, operation);
  const { server } = operation;
  return { answer, router: server?.description.type === 'Mongos' ? server : undefined };
}
