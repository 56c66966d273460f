import type { Side } from './cluster-pair.ts';

/** Parameters of a server that can be told to be slow. */
export const canBeSlow = { enableTestCommands: 1 } as const;

/** How the syncer calls itself on a server. */
const appName = 'clustersync syncer syncer';

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
    data: { failCommands: commands, blockConnection: true, blockTimeMS, appName },
  });
  return {
    [Symbol.asyncDispose]: async () => {
      await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
    },
  };
}

/** Something that stands still until it is disposed of. */
export interface Held extends AsyncDisposable {
  /** Resolves when that many have come to the point where they are held. */
  reached(count: number): Promise<void>;
}

/**
 * Holds all inserts into a server, or those into one namespace, until the result is disposed of. What was to be inserted
 * has been read by then.
 */
export async function holdInserts({ client }: Side, namespace?: string): Promise<Held> {
  const admin = client.db('admin');
  const failPoint = 'hangDuringBatchInsert';
  const { count: before } = (await admin.command({
    configureFailPoint: failPoint,
    mode: 'alwaysOn',
    ...(namespace !== undefined && { data: { nss: namespace } }),
  })) as unknown as { readonly count: number };
  return {
    async reached(count) {
      const timesEntered = before + count;
      await admin.command({ waitForFailPoint: failPoint, timesEntered, maxTimeMS: 30_000 });
    },
    async [Symbol.asyncDispose]() {
      await admin.command({ configureFailPoint: failPoint, mode: 'off' });
    },
  };
}
