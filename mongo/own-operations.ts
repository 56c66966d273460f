import type { Document } from 'mongodb';
import { runCommand, type ClusterClient } from './cluster-client.ts';

/** The ids of what a cluster works on for the user of a client, by the form that currentOp gives. No role is needed. */
export async function ownOperations(
  cluster: ClusterClient,
  match: Document,
  signal: AbortSignal,
): Promise<string[]> {
  const pipeline = [
    { $currentOp: { allUsers: false, idleConnections: false } },
    { $match: { active: true, ...match } },
    { $project: { opid: 1 } },
  ];
  const answer = await runCommand(
    cluster.admin,
    { aggregate: 1, pipeline, cursor: { batchSize: 10_000 } },
    { signal },
  );
  const operations = (answer['cursor'] as { firstBatch: Document[] }).firstBatch;
  return operations.map(({ opid }) => String(opid));
}
