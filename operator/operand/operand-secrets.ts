import { createHmac } from 'node:crypto';
import type { ClusterSyncSpec, OperandOptions } from '../api/clustersync.ts';
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

/** The key of a Secret of type kubernetes.io/tls under which cert-manager writes the certificate authority. */
export const authorityKey = 'ca.crt';

/** Where the values are that the operator reads for an operand; undefined if no resource says where. */
export function secretRefs(sides: Sides | undefined, { tls }: Pick<OperandOptions, 'tls'>) {
  return {
    source: sides?.source.uriSecretRef,
    destination: sides?.destination.uriSecretRef,
    /** Of the operand's certificate; undefined if it serves HTTP. */
    authority: tls && { name: tls.secretName, key: authorityKey },
  } satisfies Readonly<Record<string, SecretKey | undefined>>;
}

/** A value for each of {@link secretRefs}. */
export type SecretValues = Readonly<
  Record<keyof ReturnType<typeof secretRefs>, SecretValue | undefined>
>;

/** The connection strings of both sides. */
export type ConnectionSecrets = Pick<SecretValues, 'source' | 'destination'>;

/** What an operand needs that its resource does not contain. */
export interface OperandSecrets extends SecretValues {
  /** Of the operand's API. */
  readonly token: string;
}

/** A Secret whose values the pods of an operand read from files. */
export interface MountedSecret {
  /** Folder under {@link mountRoot}. */
  readonly folder: string;
  readonly secretName: string;
  /** Its keys, and the names of their files. */
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

/** Where the pods of an operand find mounted files. */
const mountRoot = '/etc/clustersync';

/** A Secret that an option of pods names. */
interface OptionSecret {
  readonly folder: string;
  readonly nameIn: (options: OperandOptions) => string | undefined;
  /** For each key, the flag that names its file. */
  readonly flags: Readonly<Record<string, string>>;
}

const optionSecrets: readonly OptionSecret[] = [
  {
    folder: 'tls',
    nameIn: ({ tls }) => tls?.secretName,
    flags: { 'tls.crt': 'tlsCertificateFile', 'tls.key': 'tlsKeyFile' },
  },
];

/** The Secrets that the options of an operand name, with the arguments that tell where their files are. */
export function secretsOfOptions(
  options: OperandOptions,
): readonly (MountedSecret & { readonly args: readonly string[] })[] {
  return optionSecrets.flatMap(({ folder, nameIn, flags }) => {
    const secretName = nameIn(options);
    if (secretName === undefined) return [];
    const items = Object.keys(flags).map((key) => ({ key, path: key }));
    const args = Object.entries(flags).map(
      ([key, flag]) => `--${flag}=${mountRoot}/${folder}/${key}`,
    );
    return [{ folder, secretName, items, args }];
  });
}

/** Where the connection strings of both sides are mounted from. */
export function mountedSecrets({
  source,
  destination,
}: Sides): readonly [source: MountedSecret, destination: MountedSecret] {
  const mounted = (folder: string, { name, key }: SecretKey): MountedSecret => ({
    ...{ folder, secretName: name },
    items: [{ key, path: fileName }],
  });
  return [mounted('source', source.uriSecretRef), mounted('destination', destination.uriSecretRef)];
}

/** The name of the file of a connection string. */
const fileName = 'uri';

/** The path of a mounted connection string in the pod. */
export function secretPath({ folder }: Pick<MountedSecret, 'folder'>): string {
  return `${mountRoot}/${folder}/${fileName}`;
}

/** The volumes of a pod, and where its container finds them. */
export function secretVolumes(mounted: readonly MountedSecret[]) {
  return {
    volumes: mounted.map(({ folder, secretName, items }) => ({
      name: folder,
      secret: { secretName, items: [...items] },
    })),
    volumeMounts: mounted.map(({ folder }) => ({
      name: folder,
      mountPath: `${mountRoot}/${folder}`,
      readOnly: true,
    })),
  };
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
  { source, destination, token }: Pick<OperandSecrets, 'source' | 'destination' | 'token'>,
  statefulSet: StatefulSet | undefined,
): string | undefined {
  if (source?.kind !== 'found' || destination?.kind !== 'found') {
    return statefulSet?.spec?.template.metadata?.annotations?.[secretsHashAnnotation];
  }
  const hash = createHmac('sha256', token);
  for (const { value } of [source, destination]) hash.update(`${value.length}:${value}`);
  return hash.digest('hex').slice(0, 16);
}
