import type { ClusterSync } from '../api/clustersync.ts';
import type { Pod } from '../kube/builtin-resources.ts';
import type { Observation } from '../operand/observation.ts';
import { destinationHosts } from './destination-hosts.ts';
import { instancesOf, syncerPodState } from './resources.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';

/** What is known of the syncers of a ClusterSync. */
export interface ProofInput {
  /** Of their API. */
  readonly token: string;
  /** By name. */
  readonly pods: ReadonlyMap<string, Pod>;
  /** By the id of the instance. */
  readonly observations: ReadonlyMap<string, Observation<SyncerProgress, SyncerCommand>>;
}

/** Of the contract, and of a sync that is turned round: a tool that tells one of them has been let in on both sides. */
const knownStates = ['IDLE', 'RUNNING', 'PAUSED', 'COMMITTING', 'COMMITTED', 'REVERSING'];

/**
 * The hosts at which the syncers of a ClusterSync say that they have logged in. It is the process that says so which the pod runs now: it
 * may have read another connection string than the Secret has, and what it names itself counts. Another tool does not name any: its
 * progress counts for all that the Secret names.
 * @param named - by the Secret, as {@link destinationHosts} has them.
 */
export function provenHosts(
  clusterSync: ClusterSync,
  { token, pods, observations }: ProofInput,
  named: readonly string[],
): ReadonlySet<string> {
  const instances = instancesOf(clusterSync);
  const { namespace = '' } = clusterSync.metadata;
  const proven = instances.flatMap(({ id, podName }): readonly string[] => {
    const pod = pods.get(podName);
    const process = pod && syncerPodState(pod, instances, token).process;
    const observation = observations.get(id);
    if (!observation?.answer || observation.process !== process) return [];
    const { answer } = observation;
    if (answer.destination !== undefined) return hostsTold(answer.destination, namespace);
    const isKnown = answer.kind === 'progress' && knownStates.includes(answer.progress.state);
    return isKnown ? named : [];
  });
  return new Set(proven);
}

function hostsTold(destination: string, namespace: string): readonly string[] {
  try {
    return destinationHosts(decodeURI(destination), namespace) ?? [];
  } catch {
    return [];
  }
}
