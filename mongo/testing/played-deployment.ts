import type { Db, Document } from 'mongodb';
import type { Deployment } from '../deployment.ts';

/** A command as the driver was given it. */
export interface SentCommand {
  readonly command: Document;
  readonly signal: AbortSignal;
}

/**
 * A replica set that is a function, and the commands that were sent to it.
 * @param answer - returns its answer to a command, or throws.
 */
export function playedDeployment(answer: (command: Document) => Document | Promise<Document>): {
  readonly deployment: Deployment;
  readonly sent: readonly SentCommand[];
} {
  const sent: SentCommand[] = [];
  const server = {
    description: { type: 'RSPrimary', address: 'played:27017' },
    command: async ({ command, options }: { command: Document; options: SentCommand }) => {
      sent.push({ command, signal: options.signal });
      const given = await answer(command);
      return { toObject: () => given };
    },
  };
  // What the driver (7.8) uses to run a command.
  const client = {
    s: { options: { serverSelectionTimeoutMS: 0, waitQueueTimeoutMS: 0 } },
    topology: {
      s: { options: {} },
      selectServer: async () => await Promise.resolve(server),
    },
    startSession: () => ({
      ...{ client, transaction: { options: {} } },
      ...{ inTransaction: () => false, endSession: () => undefined },
    }),
    db: (databaseName: string) => ({ databaseName, client }),
  };
  const deployment = { isSharded: false, shards: [], decoded: client, admin: client.db('admin') };
  return { deployment: deployment as unknown as Deployment, sent };
}

/** The admin database of such a server. */
export function playedAdmin(answer: (command: Document) => Document): Db {
  return playedDeployment(answer).deployment.admin;
}
