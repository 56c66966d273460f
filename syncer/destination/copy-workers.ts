import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';

/** Enough for a server of any size; each holds batches of up to 16 MiB in memory. */
const defaultCopyWorkers = 4;

/**
 * How many partitions and collections to copy side by side if no option says so. On a destination with fewer cores than
 * writers, the writers spend the cores on waiting for each other: one with two cores took 1.2 times as long with four writers
 * as with two (decision 0016).
 */
export async function fittingCopyWorkers(
  { admin }: ClusterClient,
  signal: AbortSignal,
): Promise<number> {
  try {
    const answer = await runCommand(admin, { hostInfo: 1 }, { signal });
    const cores = answer.optional('system')?.optional('numCores')?.count();
    return cores === undefined
      ? defaultCopyWorkers
      : Math.min(defaultCopyWorkers, Math.max(2, cores));
  } catch (error) {
    // Custom roles may lack the privilege.
    if (codeOf(error) === serverCode.unauthorized) return defaultCopyWorkers;
    throw error;
  }
}
