import type { Document } from 'mongodb';

/** What the cluster parameter `defaultMaxTimeMS` limits, as far as it is used here. */
const reads = new Set(['find', 'aggregate', 'count', 'distinct']);

/**
 * A read that is limited only by its own `maxTimeMS`, and otherwise not at all. To a read without one, servers from 8.0 on apply
 * the cluster parameter `defaultMaxTimeMS`, which would end long ones: of a partition of the copy, or of a pass of a verification
 * (manual: reference/cluster-parameters/defaultMaxTimeMS; an explicit zero counts as a value, by
 * src/mongo/db/default_max_time_ms_cluster_parameter.cpp).
 */
export function withOwnLimit(command: Document): Document {
  const [name = ''] = Object.keys(command);
  if (!reads.has(name) || command['maxTimeMS'] !== undefined) return command;
  return { ...command, maxTimeMS: 0 };
}
