import type { Document, MongoClient } from 'mongodb';
import type { ShardedCluster } from './sharded-cluster.ts';

/** Operations that have run for less are none to wonder at. */
const minSeconds = 10;

/**
 * What the servers of a sharded cluster have been doing for a while, and the transactions that are open there, a line each: for
 * the message of a test that has waited in vain.
 */
export async function longOperations(cluster: ShardedCluster): Promise<string> {
  const servers: readonly (readonly [string, MongoClient])[] = [
    ['config', cluster.configClient()],
    ...cluster.shards.map((shard) => [shard, cluster.shardClient(shard)] as const),
    ...cluster.innerRouterClients().map((client, index) => [`router ${index}`, client] as const),
  ];
  const lines = await Promise.all(
    servers.map(async ([server, client]) => {
      const operations = await client.db('admin').aggregate(pipeline).toArray();
      return operations.map((operation) => `${server}: ${JSON.stringify(told(operation))}`);
    }),
  );
  return lines.flat().join('\n');
}

const pipeline: Document[] = [
  { $currentOp: { allUsers: true, idleSessions: true } },
  {
    $match: {
      $or: [
        { transaction: { $exists: true } },
        { active: true, secs_running: { $gte: minSeconds } },
        { waitingForLock: true },
      ],
      op: { $ne: 'getmore' },
    },
  },
];

/** The fields that say what it is, and what it waits for. */
const toldFields = [
  ...['type', 'op', 'ns', 'desc', 'secs_running', 'waitingForLock', 'msg', 'locks', 'command'],
  'transaction',
];

function told(operation: Document): Document {
  return Object.fromEntries(
    toldFields.flatMap((field) => {
      const value: unknown = operation[field];
      return value === undefined ? [] : [[field, JSON.stringify(value).slice(0, 500)]];
    }),
  );
}
