import { MongoClient } from 'mongodb';

/** Runs something while a command of a server takes longer. The server needs `enableTestCommands`. */
export async function whileSlow(
  uri: string,
  { command, delayMs }: { readonly command: string; readonly delayMs: number },
  run: () => Promise<void>,
): Promise<void> {
  await using client = new MongoClient(uri);
  const set = async (mode: 'alwaysOn' | 'off'): Promise<void> => {
    const data = { failCommands: [command], blockConnection: true, blockTimeMS: delayMs };
    await client.db('admin').command({
      configureFailPoint: 'failCommand',
      mode,
      ...(mode === 'alwaysOn' && { data }),
    });
  };
  await set('alwaysOn');
  try {
    await run();
  } finally {
    await set('off');
  }
}
