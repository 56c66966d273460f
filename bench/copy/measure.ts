import { MongoClient } from 'mongodb';
import { startReplicaSet, type ReplicaSet } from '../../e2e/ground/mongod/replica-set.ts';
import { usageOf, type Usage } from '../process-usage.ts';
import type { Contender, CopyTask } from './contenders.ts';
import { database, documentsIn, namespacesOf, type DataSet } from './data-sets.ts';

/** One copy of a data set by a contender. */
export interface CopyResult {
  readonly set: string;
  readonly contender: string;
  readonly round: number;
  readonly seconds: number;
  readonly megabytes: number;
  /** Used by the contender's processes. */
  readonly tool: Usage;
  /** CPU seconds of both mongods. */
  readonly mongodCpuSeconds: number;
}

/** Two replica sets, to copy from one to the other. */
export interface CopyGround {
  readonly source: ReplicaSet;
  readonly destination: ReplicaSet;
  readonly clients: Readonly<Record<'source' | 'destination', MongoClient>>;
}

/** What the servers of a copy are. */
interface CopyGroundOptions {
  /** On each side. Default 1. */
  readonly members?: 1 | 3;
  /** What opens something in front of the members of a side; see `startReplicaSet`. */
  readonly frontOf?: (side: 'source' | 'destination') => (port: number) => Promise<string>;
}

/** Starts the servers. */
export async function startCopyGround({ members = 1, frontOf }: CopyGroundOptions = {}): Promise<
  CopyGround & AsyncDisposable
> {
  await using stack = new AsyncDisposableStack();
  const setOf = async (name: 'source' | 'destination'): Promise<ReplicaSet> => {
    const front = frontOf && { front: frontOf(name) };
    return stack.use(await startReplicaSet({ members, name, oplogSizeMB: 4096, ...front }));
  };
  const source = await setOf('source');
  const destination = await setOf('destination');
  const clientOf = (set: ReplicaSet): MongoClient => {
    const client = new MongoClient(set.uri('admin'));
    stack.defer(async () => {
      await client.close();
    });
    return client;
  };
  const clients = { source: clientOf(source), destination: clientOf(destination) };
  const all = stack.move();
  return {
    source,
    destination,
    clients,
    [Symbol.asyncDispose]: async () => {
      await all.disposeAsync();
    },
  };
}

/**
 * Lets a contender copy the data set on the source to an empty destination, and measures it.
 * @throws if the destination does not have all documents and indexes afterwards.
 */
export async function measureCopy(
  ground: CopyGround,
  contender: Pick<Contender, 'name' | 'prepare'>,
  {
    set,
    size,
    megabytes,
    round,
  }: {
    readonly set: DataSet;
    readonly size: number;
    readonly megabytes: number;
    readonly round: number;
  },
): Promise<CopyResult> {
  const { source, destination, clients } = ground;
  await emptyDestination(clients.destination);
  const namespaces = namespacesOf(set);
  const task: CopyTask = { source, destination, namespaces };
  await using copy = await contender.prepare(task);
  const servers = [source, destination].flatMap(({ members }) => members.map(({ pid }) => pid));
  let seconds = 0;
  let tool: Usage | undefined;
  const mongods = await usageOf(
    () => servers,
    async () => {
      tool = await usageOf(copy.pids, async () => {
        const startedAt = performance.now();
        await copy.run();
        seconds = (performance.now() - startedAt) / 1_000;
      });
    },
  );
  await assertCopied(clients.destination, set, size, namespaces);
  if (!tool) throw new Error('nothing was measured');
  return {
    set: set.name,
    contender: contender.name,
    round,
    seconds,
    megabytes,
    tool,
    mongodCpuSeconds: mongods.cpuSeconds,
  };
}

/** Drops what an earlier copy has left there. */
export async function emptyDestination(destination: MongoClient): Promise<void> {
  for (const name of [database, 'clustersync_internal'])
    await destination.db(name).dropDatabase({ writeConcern: { w: 'majority' } });
  // The drops are written to disk now, not during the next copy.
  await destination.db('admin').command({ fsync: 1 });
}

async function assertCopied(
  destination: MongoClient,
  set: DataSet,
  size: number,
  namespaces: readonly string[],
): Promise<void> {
  for (const namespace of namespaces) {
    const collection = destination.db(database).collection(namespace.slice(database.length + 1));
    const documents = await collection.estimatedDocumentCount();
    const indexes = await collection.indexes();
    if (documents !== documentsIn(set, size) || indexes.length !== set.indexes.length + 1)
      throw new Error(`${namespace}: ${documents} documents, ${indexes.length} indexes`);
  }
}
