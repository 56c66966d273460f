import { MongoClient } from 'mongodb';

/** What takes longer. */
export interface SlowCommand {
  readonly command: string;
  readonly delayMs: number;
  /** The one that it is about; any when absent. */
  readonly namespace?: string;
  /** How many of them pass before the first that takes longer. */
  readonly skipped?: number;
}

/** Runs something while a command of a server takes longer. The server needs `enableTestCommands`. */
export async function whileSlow(
  uri: string,
  slow: SlowCommand,
  run: () => Promise<void>,
): Promise<void> {
  await using client = new MongoClient(uri);
  await whileAllSlow([client], slow, run);
}

/** Runs something while a command of some servers takes longer, also where another server of their cluster asks for it. */
export async function whileAllSlow(
  servers: readonly MongoClient[],
  { command, delayMs, namespace, skipped = 0 }: SlowCommand,
  run: () => Promise<void>,
): Promise<void> {
  const data = {
    ...{ failCommands: [command], failInternalCommands: true },
    ...{ blockConnection: true, blockTimeMS: delayMs },
    ...(namespace !== undefined && { namespace }),
  };
  const set = async (mode: object): Promise<void> => {
    for (const server of servers)
      await server.db('admin').command({ configureFailPoint: 'failCommand', ...mode });
  };
  await set({ mode: skipped === 0 ? 'alwaysOn' : { skip: skipped }, data });
  try {
    await run();
  } finally {
    await set({ mode: 'off' });
  }
}
