import { createHmac } from 'node:crypto';
import type { ClusterSyncSpec } from '../api/clustersync.ts';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import type { ConditionCause } from './condition-cause.ts';

/** Where the connection strings of both sides are. */
export type Sides = Pick<ClusterSyncSpec, 'source' | 'destination'>;

/** A value in a Secret of the namespace. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** The value, in base64, or why there is none. */
export type SecretValue =
  | { readonly kind: 'found'; readonly value: string }
  | { readonly kind: 'missing'; readonly description: string };

/** The connection strings of both sides; undefined if no resource says where they are. */
export interface ConnectionSecrets {
  readonly source: SecretValue | undefined;
  readonly destination: SecretValue | undefined;
}

/** What an operand needs that its resource does not contain. */
export interface OperandSecrets extends ConnectionSecrets {
  /** Of the operand's certificate; undefined if it serves HTTP. */
  readonly authority: SecretValue | undefined;
  /** Of the operand's API. */
  readonly token: string;
}

/** Where a connection string is mounted from. */
export interface MountedSecret {
  /** Folder under {@link mountRoot}. */
  readonly folder: string;
  readonly secretName: string;
  /** Of the Secret. */
  readonly key: string;
}

/** Where the pods of an operand find mounted files. */
export const mountRoot = '/etc/clustersync';

/** Where the connection strings of both sides are mounted from. */
export function mountedSecrets({
  source,
  destination,
}: Sides): readonly [source: MountedSecret, destination: MountedSecret] {
  return [
    { folder: 'source', secretName: source.uriSecretRef.name, key: source.uriSecretRef.key },
    {
      folder: 'destination',
      secretName: destination.uriSecretRef.name,
      key: destination.uriSecretRef.key,
    },
  ];
}

/** The name of the file of a connection string. */
const fileName = 'uri';

/** The path of a mounted connection string in the pod. */
export function secretPath({ folder }: Pick<MountedSecret, 'folder'>): string {
  return `${mountRoot}/${folder}/${fileName}`;
}

/** The volume with that file. */
export function secretVolume({ folder, secretName, key }: MountedSecret) {
  return { name: folder, secret: { secretName, items: [{ key, path: fileName }] } };
}

/** Why a required connection string is missing. */
export function missingSecret({
  source,
  destination,
}: ConnectionSecrets): ConditionCause | undefined {
  const missing = [source, destination].find((secret) => secret?.kind === 'missing');
  return missing?.kind === 'missing'
    ? { reason: 'SecretNotFound', message: missing.description, level: 'warning' }
    : undefined;
}

/** On the pods of an operand: the hash of what they read when they started. */
export const secretsHashAnnotation = 'clustersync.dev/secrets-hash';

/**
 * A hash of the connection strings that the pods of an operand read when they start: if it changes, they are replaced. It is keyed
 * with the token, so that it reveals nothing about passwords to those who may see pods but not Secrets.
 *
 * While a Secret is missing, running pods keep the hash of what they have read. Undefined if no pods can be created: what they need to
 * read is missing, and was never there.
 * @param statefulSet - the operand's, if there is one.
 */
export function secretsHashOf(
  { source, destination, token }: Omit<OperandSecrets, 'authority'>,
  statefulSet: StatefulSet | undefined,
): string | undefined {
  if (source?.kind !== 'found' || destination?.kind !== 'found') {
    return statefulSet?.spec?.template.metadata?.annotations?.[secretsHashAnnotation];
  }
  const hash = createHmac('sha256', token);
  for (const { value } of [source, destination]) hash.update(`${value.length}:${value}`);
  return hash.digest('hex').slice(0, 16);
}
