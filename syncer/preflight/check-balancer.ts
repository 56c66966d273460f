import type { ClusterClient } from '../../mongo/cluster-client.ts';
import { runCommand } from '../../mongo/run-command.ts';
import type { Topology } from '../../mongo/topology.ts';
import { SyncError } from '../../service/errors.ts';
import { sleep } from '../../service/sleep.ts';

/** How long a stopped balancer may be in a round: every ten seconds it begins one, to find that it is stopped (6.0.5). */
const lastRoundMs = 5_000;
const pollMs = 100;

/**
 * Makes sure that no chunks move while a sync runs.
 * @param now - the monotonic clock, in milliseconds.
 * @throws SyncError BalancerRunning.
 */
export async function checkBalancer(
  cluster: ClusterClient,
  option: string,
  { kind }: Topology,
  signal: AbortSignal,
  now: () => number = () => performance.now(),
): Promise<void> {
  if (kind !== 'sharded') return;
  const endMs = now() + lastRoundMs;
  for (;;) {
    const status = await runCommand(cluster.admin, { balancerStatus: 1 }, { signal });
    const mode = status.field('mode').text();
    if (mode !== 'off')
      throw new SyncError('BalancerRunning', `the balancer of ${option} is running (mode ${mode})`);
    if (!status.field('inBalancerRound').boolean()) return;
    if (now() > endMs)
      throw new SyncError('BalancerRunning', `the balancer of ${option} is in its last round`);
    await sleep(pollMs, signal);
  }
}
