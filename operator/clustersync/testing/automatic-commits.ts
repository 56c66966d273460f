import type { ClusterSyncSpec, ClusterSyncStatus } from '../../api/clustersync.ts';
import { hashOfOptions, type Hold } from '../../commit/hold.ts';
import type { WorkloadView } from '../../commit/plan.ts';
import { nowMs } from '../../operand/testing/running-pod.ts';
import type { CommitWorld } from '../commit-facts.ts';
import { decide } from '../decide.ts';
import type { Decision, World } from '../decision.ts';
import { clusterSync, manual } from './worlds.ts';

/** An application. */
export const web = { kind: 'Deployment', name: 'web' } as const;
/** `spec.commit` of an automatic commit. */
export const automatic = { ...manual, mode: 'Automatic' } as const;
/** The same, with the application to be stopped. */
export const withWeb = { ...automatic, workloads: [web] };

/** The record after the application has been stopped for a minute. */
export function holdOf(commit: ClusterSyncSpec['commit'], fields: Partial<Hold> = {}): Hold {
  return {
    holder: { namespace: 'shop', name: 'orders', uid: 'sync-uid' },
    direction: 'Forward',
    optionsHash: hashOfOptions(commit),
    sinceMs: nowMs - 60_000,
    workloads: [{ ...web, uid: 'web-uid', replicas: 3 }],
    ...fields,
  };
}

/** The application, with this size and these pods. */
export function views(replicas: number, pods = replicas): WorkloadView[] {
  const seen = { uid: 'web-uid', resourceVersion: '7' };
  return [{ ...web, state: { kind: 'found', seen, replicas, pods } }];
}

/** The decision for the ClusterSync `orders`. */
export function decideIn(
  world: World,
  spec: Partial<ClusterSyncSpec>,
  commit: Partial<CommitWorld> = {},
  status?: ClusterSyncStatus,
): Decision {
  return decide(clusterSync(spec, status), { ...world, commit: { ...world.commit, ...commit } });
}

/** The commands sent, and their recipients. */
export function commandsIn({ commands }: Decision): string[] {
  return commands.map(({ id, command }) => `${command.name} ${id}`);
}
