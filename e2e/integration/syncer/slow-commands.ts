import type { Side } from './cluster-pair.ts';

/** Parameters of a server that can be told to be slow. */
export const canBeSlow = { enableTestCommands: 1 } as const;

/** Makes a server take longer for some commands of the syncer until the result is disposed of. */
export async function slowCommands(
  { client }: Side,
  commands: readonly string[],
  blockTimeMS: number,
): Promise<AsyncDisposable> {
  const admin = client.db('admin');
  await admin.command({
    configureFailPoint: 'failCommand',
    mode: 'alwaysOn',
    data: {
      failCommands: commands,
      blockConnection: true,
      blockTimeMS,
      appName: 'clustersync syncer syncer',
    },
  });
  return {
    [Symbol.asyncDispose]: async () => {
      await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
    },
  };
}
