import type { ClusterSync } from '../api/clustersync.ts';
import type { Pod } from '../kube/builtin-resources.ts';
import type { Observation } from '../operand/observation.ts';
import { secretsHashAnnotation } from '../operand/operand-secrets.ts';
import { destinationHosts, type DestinationHost } from './destination-hosts.ts';
import { instancesOf, syncerPodState } from './resources.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';

/** What is known of the syncers of a ClusterSync. */
export interface ProofInput {
  /** Of their API. */
  readonly token: string;
  /** Of the pods that have read the connection strings that there are now; undefined where none are known. */
  readonly secretsHash: string | undefined;
  /** By name. */
  readonly pods: ReadonlyMap<string, Pod>;
  /** By the id of the instance. */
  readonly observations: ReadonlyMap<string, Observation<SyncerProgress, SyncerCommand>>;
}

/** A host at which a syncer has logged in. */
export interface ProvenHost extends DestinationHost {
  /** What identifies the deployment that the syncer was led to. */
  readonly deployment: string;
}

/** What the syncers of a ClusterSync say of where they have logged in. */
export interface DestinationProof {
  readonly hosts: readonly ProvenHost[];
  /** Where those were led that have read the connection string of now; none where that is not known. */
  readonly deployments: readonly string[];
}

/** One connection string leads to one deployment, or to two while a name changes its meaning. More are lies. */
const maxDeployments = 4;

/** Of the contract, and of a sync that is turned round: a tool that tells one of them has been let in on both sides. */
const knownStates = ['IDLE', 'RUNNING', 'PAUSED', 'COMMITTING', 'COMMITTED', 'REVERSING'];

/**
 * The hosts at which the syncers of a ClusterSync say that they have logged in. It is the process that says so which the pod runs now: it
 * may have read another connection string than the Secret has, and what it names itself counts. Another tool does not name any: its
 * progress counts for all that the Secret names. Nor does it name the deployment: its namespace stands for that.
 * @param named - by the Secret, as {@link destinationHosts} has them.
 */
export function destinationProof(
  clusterSync: ClusterSync,
  { token, secretsHash, pods, observations }: ProofInput,
  named: readonly DestinationHost[],
): DestinationProof {
  const instances = instancesOf(clusterSync);
  const { namespace = '' } = clusterSync.metadata;
  const hosts: ProvenHost[] = [];
  const deployments = new Set<string>();
  for (const { id, podName } of instances) {
    const pod = pods.get(podName);
    const process = pod && syncerPodState(pod, instances, token).process;
    const observation = observations.get(id);
    if (!observation?.answer || observation.process !== process) continue;
    const { answer } = observation;
    const isTold = answer.destination !== undefined;
    const isKnown = answer.kind === 'progress' && knownStates.includes(answer.progress.state);
    if (!isTold && !isKnown) continue;
    const deployment = deploymentTold(answer.deployment) ?? `namespace ${namespace}`;
    const logins = isTold ? hostsTold(answer.destination, namespace) : named;
    hosts.push(...logins.map((host) => ({ ...host, deployment })));
    const hasReadIt = pod?.metadata.annotations?.[secretsHashAnnotation] === secretsHash;
    if (secretsHash !== undefined && hasReadIt && deployments.size < maxDeployments)
      deployments.add(deployment);
  }
  return { hosts, deployments: [...deployments].sort() };
}

/** What a pod says may be anything. */
function deploymentTold(text: string | undefined): string | undefined {
  return text !== undefined && /^[0-9a-f]{32}$/.test(text) ? text : undefined;
}

function hostsTold(destination: string, namespace: string): readonly DestinationHost[] {
  try {
    return destinationHosts(decodeURI(destination), namespace) ?? [];
  } catch {
    return [];
  }
}
