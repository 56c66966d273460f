import type {
  SyncerProcess,
  SyncerProcessOptions,
  SyncerProgress,
} from '../../ground/syncer-process.ts';
import { forward } from './cluster-pair.ts';
import type { PairToSync } from './sharded-pair.ts';

/** Several instances of the syncer that work on one sync. */
export interface Instances extends AsyncDisposable {
  readonly all: readonly SyncerProcess[];
  /** Sends a command to all at the same time. Rejects when one refuses it. */
  send(command: string, body?: object): Promise<void>;
  start(body?: object): Promise<void>;
  /**
   * Commits all, which have said canCommit. One whose proofs are too old by the time the command comes, as on a busy machine, is sent it
   * again: the others wait for it. Rejects if it is refused for any other reason.
   */
  commit(options?: { readonly deadlineMs?: number }): Promise<void>;
  /** Waits until the progress of each is as asked. */
  waitFor(
    isReached: (progress: SyncerProgress) => boolean,
    options?: { readonly deadlineMs?: number },
  ): Promise<readonly SyncerProgress[]>;
}

/** Starts an instance for each shard of the source of a pair. */
export async function startInstances(
  pair: PairToSync,
  { options, ...more }: Partial<SyncerProcessOptions> = {},
): Promise<Instances> {
  const shards = pair.source.ground?.cluster.shards ?? [];
  const all = await Promise.all(
    shards.map(async (id) => await pair.syncer({ ...more, options: { ...options, id } })),
  );
  return instancesOf(all);
}

/** Starts this many instances, called `syncer-0` and so on, whatever the source is. */
export async function startNumbered(
  pair: Pick<PairToSync, 'syncer'>,
  count: number,
  { options, ...more }: Partial<SyncerProcessOptions> = {},
): Promise<Instances> {
  const indexes = Array.from({ length: count }, (_, index) => index);
  const ids = indexes.map((index) => `syncer-${index}`).join();
  const all = await Promise.all(
    indexes.map(
      async (instance) => await pair.syncer({ ...more, options: { ...options, ids, instance } }),
    ),
  );
  return instancesOf(all);
}

/** Waits until one of them coordinates. Returns that one first. */
export async function byRole(instances: Instances): Promise<readonly SyncerProcess[]> {
  const { all } = instances;
  const told = await instances.waitFor(({ coordinatorID }) => coordinatorID !== null);
  const id = told[0]?.coordinatorID;
  const isCoordinator = (one: SyncerProcess): boolean => told[all.indexOf(one)]?.syncerID === id;
  return [...all].sort((one, other) => Number(isCoordinator(other)) - Number(isCoordinator(one)));
}

/** Takes syncers together. */
export function instancesOf(all: readonly SyncerProcess[]): Instances {
  const instances: Instances = {
    all,
    async send(command, body = {}) {
      const answers = await Promise.all(all.map(async (one) => await one.post(command, body)));
      const refused = answers.find(({ status }) => status !== 200);
      if (refused) throw new Error(`${command}: ${JSON.stringify(refused.body)}`);
    },
    async start(body = {}) {
      await instances.send('start', { ...forward, ...body });
    },
    async commit({ deadlineMs } = {}) {
      await Promise.all(
        all.map(async (one) => {
          await one.commit({ deadlineMs });
        }),
      );
    },
    async waitFor(isReached, waiting) {
      return await Promise.all(all.map(async (one) => await one.waitFor(isReached, waiting)));
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(
        all.map(async (one) => {
          await one[Symbol.asyncDispose]();
        }),
      );
    },
  };
  return instances;
}
