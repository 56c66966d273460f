import { parseConnectionString } from '../../mongo/connection-options.ts';
import type { ClusterSync } from '../api/clustersync.ts';
import type { Pod } from '../kube/builtin-resources.ts';
import type { Observation } from '../operand/observation.ts';
import { secretsHashAnnotation } from '../operand/operand-secrets.ts';
import { destinationHosts, type DestinationHost } from './destination-hosts.ts';
import { instancesOf, syncerPodState } from './resources.ts';
import type { SyncerCommand, SyncerProgress } from './syncer-client.ts';

/** What is known about the syncers of a ClusterSync. */
export interface ProofInput {
  /** The token of their API. */
  readonly token: string;
  /** The secrets hash of pods that have read the current connection strings; undefined if none are known. */
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

/** What the syncers of a ClusterSync report about where they have logged in. */
export interface DestinationProof {
  readonly hosts: readonly ProvenHost[];
  /** The deployments reached with the current connection string; empty if that is not known. */
  readonly deployments: readonly string[];
}

/** One connection string leads to one deployment, or to two while a name changes its meaning. More are lies. */
const maxDeployments = 4;

/** Fields of the contract, and of a reversed sync: a tool that reports one of them has logged in on both sides. */
const knownStates = ['IDLE', 'RUNNING', 'PAUSED', 'COMMITTING', 'COMMITTED', 'REVERSING'];

/**
 * The hosts at which the syncers of a ClusterSync report that they have logged in. Only the process that the pod runs now counts: it may
 * have read another connection string than the Secret has, and the hosts that it names itself count. Another tool names none: its progress
 * counts for all hosts that the Secret names. It does not name the deployment either: its namespace stands for that.
 * @param named - by the Secret, see {@link destinationHosts}.
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
    const serverName = clusterSync.spec.destination.tls?.serverName;
    const told = isTold ? loginsTold(answer.destination, namespace) : { hosts: named, serverName };
    hosts.push(...told.hosts.map((host) => ({ ...host, deployment })));
    // By another name a proxy may have led elsewhere.
    const hasReadIt =
      pod?.metadata.annotations?.[secretsHashAnnotation] === secretsHash &&
      told.serverName === serverName;
    if (secretsHash !== undefined && hasReadIt && deployments.size < maxDeployments)
      deployments.add(deployment);
  }
  return { hosts, deployments: [...deployments].sort() };
}

/** A pod may report anything. */
function deploymentTold(text: string | undefined): string | undefined {
  return text !== undefined && /^[0-9a-f]{32}$/.test(text) ? text : undefined;
}

/** Where a process has logged in, and which name it has told the servers instead of their own. */
interface Logins {
  readonly hosts: readonly DestinationHost[];
  readonly serverName: string | undefined;
}

function loginsTold(destination: string, namespace: string): Logins {
  try {
    const uri = decodeURI(destination);
    const serverName = parseConnectionString(uri)?.searchParams.get('serverName') ?? undefined;
    return { hosts: destinationHosts(uri, namespace, serverName) ?? [], serverName };
  } catch {
    return { hosts: [], serverName: undefined };
  }
}
