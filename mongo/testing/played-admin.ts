import type { Db, Document } from 'mongodb';

/**
 * The admin database of a server that is a function.
 * @param answer - returns its answer to a command, or throws.
 */
export function playedAdmin(answer: (command: Document) => Document): Db {
  const server = {
    description: { type: 'Standalone', address: 'played:27017' },
    command: async ({ command }: { readonly command: Document }) => {
      const given = await Promise.resolve(answer(command));
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
    startSession: () => ({ inTransaction: () => false }),
  };
  return { databaseName: 'admin', client } as unknown as Db;
}
