import type { Document } from 'mongodb';
import type { Deployment } from '../deployment.ts';

/** A command as the driver was given it. */
export interface SentCommand {
  readonly command: Document;
  readonly signal: AbortSignal;
}

/** A replica set that answers each command by a function, and the commands that were sent to it. */
export function answeringDeployment(answer: (command: Document) => Document): {
  readonly deployment: Deployment;
  readonly sent: readonly SentCommand[];
} {
  const sent: SentCommand[] = [];
  const server = {
    description: { type: 'RSPrimary', address: 'answering:1' },
    command: async ({ command, options }: { command: Document; options: SentCommand }) => {
      sent.push({ command, signal: options.signal });
      const toObject = (): Document => answer(command);
      return await Promise.resolve({ toObject });
    },
  };
  const client = {
    topology: {
      selectServer: async () => await Promise.resolve(server),
      s: { options: {} },
    },
    s: { options: { serverSelectionTimeoutMS: 1_000, waitQueueTimeoutMS: 1_000 } },
    startSession: () => ({ client, inTransaction: () => false, endSession: () => undefined }),
    db: (databaseName: string) => ({ databaseName, client }),
  };
  const deployment = { isSharded: false, shards: [], decoded: client, admin: client.db('admin') };
  return { deployment: deployment as unknown as Deployment, sent };
}
