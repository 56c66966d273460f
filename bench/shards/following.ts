import type { Document, MongoClient } from 'mongodb';
import type { ShardedCluster } from '../../e2e/ground/sharded/sharded-cluster.ts';
import type { SyncerProcess } from '../../e2e/ground/syncer-process.ts';
import { until } from '../../e2e/ground/until.ts';
import { cpuSecondsOf } from '../process-usage.ts';

const writers = 4;
const batchDocuments = 500;
const deadlineMs = 1_800_000;

/** The cost of following a load, including the cost of the load itself on the source. */
export interface FollowingResult {
  readonly events: number;
  /** From the start of the load until all of it is applied. */
  readonly seconds: number;
  readonly toolCpuSeconds: number;
  readonly sourceCpuSeconds: number;
}

/**
 * Lets the instances of a sync follow inserts, and an update of each document, which are written as fast as the source accepts
 * them.
 * @param ns - database and name of an empty collection that is synced.
 */
export async function measureFollowing(
  source: ShardedCluster,
  client: MongoClient,
  instances: readonly SyncerProcess[],
  {
    db,
    coll,
    documents,
  }: { readonly db: string; readonly coll: string; readonly documents: number },
): Promise<FollowingResult> {
  const pids = await Promise.all(
    source.shards.map(async (shard) => {
      const status = await source.shardClient(shard).db('admin').command({ serverStatus: 1 });
      return Number(status['pid']);
    }),
  );
  const cpuOf = async (all: readonly (number | undefined)[]): Promise<number> => {
    const seconds = await Promise.all(all.map(async (pid) => await cpuSecondsOf(pid)));
    return seconds.reduce((sum, one) => sum + one, 0);
  };
  const toolCpu = async (): Promise<number> => await cpuOf(instances.map(({ pid }) => pid));
  const applied = async (): Promise<number> => {
    const all = await Promise.all(instances.map(async (one) => await one.progress()));
    return all.reduce((sum, { totalEventsApplied }) => sum + (totalEventsApplied ?? 0), 0);
  };
  const before = { applied: await applied(), tool: await toolCpu(), source: await cpuOf(pids) };
  const startedAt = performance.now();
  const rows = client.db(db).collection<Document & { _id: number }>(coll);
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let from = writer * batchDocuments; from < documents; from += writers * batchDocuments) {
        const ids = Array.from(
          { length: Math.min(batchDocuments, documents - from) },
          (_id, index) => from + index,
        );
        await rows.insertMany(
          ids.map((_id) => ({ _id, number: 0, text: 'x'.repeat(300) })),
          { ordered: false },
        );
        await rows.updateMany({ _id: { $in: ids } }, { $set: { number: 1 } });
      }
    }),
  );
  const events = 2 * documents;
  await until(
    'all is applied',
    async () => (await applied()) - before.applied >= events,
    deadlineMs,
  );
  return {
    events,
    seconds: (performance.now() - startedAt) / 1_000,
    toolCpuSeconds: (await toolCpu()) - before.tool,
    sourceCpuSeconds: (await cpuOf(pids)) - before.source,
  };
}
