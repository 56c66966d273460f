import type { ClusterSync } from '../api/clustersync.ts';
import type { SyncVerification, SyncVerificationSpec } from '../api/sync-verification.ts';
import { attemptArgument, jsonArgument, type Run, type RunningVerification } from './run.ts';
import { operandName } from '../operand/names.ts';
import { mountedSide, type Sides } from '../operand/operand-secrets.ts';
import {
  operandObjects,
  optionalArguments,
  type OperandObjects,
  type OperandPlan,
  type OperandSettings,
} from '../operand/workload.ts';

/** Port of the verifier's API in its pod. */
export const verifierPort = 27020;

/** The name of all objects of a SyncVerification. */
export function verifierName({ metadata }: Pick<SyncVerification, 'metadata'>): string {
  return operandName(metadata.name, 'verifier');
}

/** The name of the pod that is sent requests: if several share the work, they share their state, too. */
export function verifierPodName(verification: Pick<SyncVerification, 'metadata'>): string {
  return `${verifierName(verification)}-0`;
}

/** The name of a SyncVerification in the metadata store: separates its results from those of other SyncVerifications on the same clusters. */
export function storedName(verification: Pick<SyncVerification, 'metadata'>): string {
  return verification.metadata.uid ?? verifierName(verification);
}

/** The objects that run the verifier. */
export function verifierObjects(
  verification: RunningVerification,
  clusterSync: ClusterSync,
  { secretsRecord, token }: Pick<OperandPlan, 'secretsRecord' | 'token'>,
  settings: OperandSettings,
): OperandObjects {
  const { spec, status } = verification;
  const { readPreference } = spec;
  const sides = sidesOf(clusterSync, status.run);
  const source = mountedSide('source', sides.source, [{ uri: 'srcURI', prefix: 'src' }]);
  const destination = mountedSide('destination', sides.destination, [
    { uri: 'destURI', prefix: 'dest' },
    { uri: 'metaURI', prefix: 'meta' },
  ]);
  return operandObjects(
    {
      owner: verification,
      name: verifierName(verification),
      kind: 'verifier',
      replicas: spec.parallelism,
      port: verifierPort,
      args: [
        ...scopeArguments(spec, clusterSync),
        ...(spec.comparison === 'Hashes' ? ['--comparison=hashes'] : []),
        ...optionalArguments({ readPreference, maxBytesPerSecond: shareOf(spec) }),
        ...source.args,
        ...destination.args,
        `--verification=${storedName(verification)}`,
        attemptArgument(status.run),
      ],
      secrets: [...source.secrets, ...destination.secrets],
      options: spec.verifier,
      secretsRecord,
      token,
    },
    settings,
  );
}

/** What each pod may read: they share the limit evenly. */
function shareOf({
  maxBytesPerSecond,
  parallelism,
}: Pick<SyncVerificationSpec, 'maxBytesPerSecond' | 'parallelism'>): number | undefined {
  return maxBytesPerSecond === undefined ? undefined : Math.floor(maxBytesPerSecond / parallelism);
}

/** The source and the destination of a run. */
export function sidesOf({ spec: { source, destination } }: ClusterSync, { direction }: Run): Sides {
  return direction === 'Forward'
    ? { source, destination }
    : { source: destination, destination: source };
}

/** Unless told otherwise, a sync with a namespace filter is compared with that filter: the verifier reads it from the destination. */
function scopeArguments(
  { filter }: SyncVerificationSpec,
  { spec: { includeNamespaces, excludeNamespaces } }: ClusterSync,
): readonly string[] {
  if (filter) return Object.entries(filter).map(([name, value]) => jsonArgument(name, value));
  return includeNamespaces || excludeNamespaces ? [] : ['--verifyAll'];
}
