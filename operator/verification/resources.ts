import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerification } from '../api/sync-verification.ts';
import { mountedSecrets } from '../clustersync/resources.ts';
import { operandName } from '../operand/names.ts';
import {
  operandObjects,
  secretPath,
  type OperandObjects,
  type OperandSettings,
} from '../operand/workload.ts';

/** Port of the verifier's API in its pod. */
export const verifierPort = 27020;

/** The name of everything that belongs to a SyncVerification. */
export function verifierName({ metadata }: Pick<SyncVerification, 'metadata'>): string {
  return operandName(metadata.name, 'verifier');
}

/** The name of the pod that is asked and told: what one knows and is told, all know, where several share the work. */
export function verifierPodName(verification: Pick<SyncVerification, 'metadata'>): string {
  return `${verifierName(verification)}-0`;
}

/**
 * The objects that run the verifier. A sync that selects namespaces is compared as it selects them: the verifier finds
 * that on the destination.
 */
export function verifierObjects(
  verification: SyncVerification,
  clusterSync: ClusterSync,
  secretsHash: string,
  settings: OperandSettings,
): OperandObjects {
  const secrets = mountedSecrets(clusterSync.spec);
  const [source, destination] = secrets;
  const { includeNamespaces, excludeNamespaces } = clusterSync.spec;
  const isFiltered = includeNamespaces !== undefined || excludeNamespaces !== undefined;
  return operandObjects(
    {
      owner: verification,
      name: verifierName(verification),
      kind: 'verifier',
      replicas: verification.spec.parallelism,
      port: verifierPort,
      args: [
        ...(isFiltered ? [] : ['--verifyAll']),
        `--srcURIFile=${secretPath(source)}`,
        `--destURIFile=${secretPath(destination)}`,
        `--metaURIFile=${secretPath(destination)}`,
        // What others have found on the same clusters is not its own.
        `--verification=${verification.metadata.uid ?? verifierName(verification)}`,
      ],
      secrets,
      options: verification.spec.verifier,
      secretsHash,
    },
    settings,
  );
}
