import type { Document } from 'mongodb';
import { runCommand, type ClusterClient } from './cluster-client.ts';

/**
 * What a cluster's primary, or router, works on for the user of a client, as `$currentOp` tells. No role is needed.
 * @param match - which of them.
 */
export async function ownOperations(
  cluster: ClusterClient,
  match: Document,
  signal: AbortSignal,
): Promise<Document[]> {
  return await currentOp(cluster, { idleConnections: false }, { active: true, ...match }, signal);
}

/** Which of the connections with these numbers a cluster's primary takes for open. */
export async function openConnections(
  cluster: ClusterClient,
  connectionIds: readonly number[],
  signal: AbortSignal,
): Promise<Set<number>> {
  const match = { connectionId: { $in: connectionIds } };
  const open = await currentOp(cluster, { idleConnections: true }, match, signal);
  return new Set(open.map(({ connectionId }) => Number(connectionId)));
}

async function currentOp(
  cluster: ClusterClient,
  options: { readonly idleConnections: boolean },
  match: Document,
  signal: AbortSignal,
): Promise<Document[]> {
  const pipeline = [
    { $currentOp: { allUsers: false, ...options } },
    { $match: match },
    { $project: { opid: 1, connectionId: 1 } },
  ];
  const answer = await runCommand(
    cluster.admin,
    { aggregate: 1, pipeline, cursor: { batchSize: 10_000 } },
    { signal },
  );
  return (answer['cursor'] as { firstBatch: Document[] }).firstBatch;
}
