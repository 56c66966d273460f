import { MongoClient } from 'mongodb';
import { startReplicaSet, type ReplicaSet } from '../../e2e/ground/mongod/replica-set.ts';
import { startSyncerProcess, type SyncerProcess } from '../../e2e/ground/syncer-process.ts';
import type { Namespace } from '../../mongo/namespace.ts';
import { sleep } from '../../service/sleep.ts';
import { MixedLoad, type LoadDocument } from './operations.ts';

export const writers = 4;

/** Documents that exist before a measurement, for each writer. */
const documentsBefore = 10_000;

const never = new AbortController().signal;

/** Two replica sets and a sync between them that applies change events. */
export interface ChangesGround extends AsyncDisposable {
  readonly source: MongoClient;
  readonly destination: MongoClient;
  readonly syncer: SyncerProcess;
  /** Processes by role; `bench` is this process, the client of the floor. */
  pids(): Record<'syncer' | 'source' | 'destination' | 'bench', (number | undefined)[]>;
  /** The writers' loads: each measurement continues where the one before it ended. */
  readonly loads: readonly MixedLoad[];
  /** Waits until the destination has a document in a collection; asks again as soon as it has answered. */
  readonly seen: (namespace: Namespace, id: string) => Promise<void>;
}

/** Starts the servers, with `members` each, and the sync, and waits until it applies change events. */
export async function startChangesGround(members: 1 | 3): Promise<ChangesGround> {
  const ground = new AsyncDisposableStack();
  const set = async (name: string): Promise<{ set: ReplicaSet; client: MongoClient }> => {
    const started = ground.use(await startReplicaSet({ members, name, oplogSizeMB: 2048 }));
    const client = new MongoClient(started.uri('admin'));
    ground.defer(async () => {
      await client.close();
    });
    return { set: started, client };
  };
  try {
    const [source, destination] = [await set('source'), await set('destination')];
    const loads = Array.from({ length: writers }, (_, writer) => new MixedLoad(writer));
    const rows = source.client.db('bench').collection<LoadDocument>('rows');
    for (const load of loads) await rows.insertMany(load.documents(documentsBefore));
    const syncer = ground.use(
      await startSyncerProcess({
        cluster0: source.set.uri('syncer'),
        cluster1: destination.set.uri('syncer'),
        options: { logLevel: 'info' },
      }),
    );
    await syncer.start({ source: 'cluster0', destination: 'cluster1' });
    await syncer.waitFor(({ canCommit }) => canCommit);
    return {
      source: source.client,
      destination: destination.client,
      syncer,
      loads,
      pids: () => ({
        syncer: [syncer.pid],
        source: source.set.members.map(({ pid }) => pid),
        destination: destination.set.members.map(({ pid }) => pid),
        bench: [process.pid],
      }),
      async seen({ db, coll }, id) {
        const there = destination.client.db(db).collection<{ _id: string }>(coll);
        const deadline = AbortSignal.timeout(600_000);
        while ((await there.findOne({ _id: id }, { readConcern: 'local' })) === null)
          deadline.throwIfAborted();
      },
      [Symbol.asyncDispose]: async () => {
        // An orderly end, so that a profile of the process is written.
        await syncer.kill('SIGTERM');
        await ground.disposeAsync();
      },
    };
  } catch (error) {
    await ground.disposeAsync();
    throw error;
  }
}

/** Waits for the time that is given. */
export async function pause(ms: number): Promise<void> {
  await sleep(ms, never);
}
