import { commitObstaclePrefix } from '../../../sync-api/syncer-answers.ts';
import type {
  SyncerProcess,
  SyncerProcessOptions,
  SyncerProgress,
} from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
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

/**
 * Commits one that has said canCommit. A proof may have become too old since, as on a busy machine, and by the time of the next progress
 * there may be another: that it says canCommit again tells nothing. A proof that is late, and work that is retried, say for how long; that the
 * copy is incomplete, or that an index must be built first, is no reason to refuse it any more.
 * @returns whether the commit was accepted.
 */
async function isCommitTaken(one: SyncerProcess): Promise<boolean> {
  const { status, body } = await one.post('commit', {});
  if (status === 200) return true;
  const [, ...obstacles] = String(body['errorDescription']).split(commitObstaclePrefix);
  const isLate = obstacles.length > 0 && obstacles.every((text) => / for \d+ s\b/.test(text));
  if (body['error'] === 'CannotCommitYet' && isLate) return false;
  throw new Error(`commit: ${JSON.stringify(body)}`);
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
          await until('commit is taken', async () => await isCommitTaken(one), deadlineMs);
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
