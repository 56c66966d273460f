import type { MongoClient } from 'mongodb';

/** How many connections of syncers a deployment has: none when the last process has ended. */
export async function syncerConnections(client: MongoClient): Promise<number> {
  const pipeline = [
    { $currentOp: { allUsers: true, idleConnections: true } },
    { $match: { appName: /^clustersync syncer/ } },
  ];
  return (await client.db('admin').aggregate(pipeline).toArray()).length;
}
