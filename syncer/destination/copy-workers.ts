import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { runCommand } from '../../mongo/run-command.ts';
import { codeOf, serverCode } from '../../mongo/server-errors.ts';

/** Enough for a server of any size; each holds batches of up to 16 MiB in memory. */
const defaultCopyWorkers = 4;

/**
 * How many partitions and collections are copied side by side where no option says so: a destination with fewer cores than
 * writers spends them on its writers' waiting for each other. One with two took 1.2 times as long with four as with two
 * (decision 0016).
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
    // Roles of one's own may lack it.
    if (codeOf(error) === serverCode.unauthorized) return defaultCopyWorkers;
    throw error;
  }
}
