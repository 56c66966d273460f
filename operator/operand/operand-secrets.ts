import { createHmac } from 'node:crypto';
import type { ClusterSyncSpec, OperandOptions } from '../api/clustersync.ts';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import type { ConditionCause } from './condition-cause.ts';
import type { RunningPods } from './pod-state.ts';
import {
  authorityOf,
  certificateKeys,
  credentialKeys,
  type ClusterReference,
  type CredentialKey,
  type SecretKey,
  type SecretValue,
} from './credentials.ts';

/** Where the connection strings of both sides are. */
export type Sides = Pick<ClusterSyncSpec, 'source' | 'destination'>;

/** The key of a Secret of type kubernetes.io/tls under which cert-manager writes the certificate authority. */
export const authorityKey = 'ca.crt';

/** Where the values are that the operator reads for an operand; undefined if no resource says where. */
export interface SecretRefs {
  readonly source: SecretKey | undefined;
  readonly destination: SecretKey | undefined;
  /** For the connections to both sides. */
  readonly credentials: readonly CredentialKey[];
  /** Of the operand's certificate; undefined if it serves HTTP. */
  readonly authority: SecretKey | undefined;
}

/** See {@link SecretRefs}. */
export function secretRefs(
  sides: Sides | undefined,
  { tls }: Pick<OperandOptions, 'tls'>,
): SecretRefs {
  const kind = 'Secret';
  return {
    source: sides && { kind, ...sides.source.uriSecretRef },
    destination: sides && { kind, ...sides.destination.uriSecretRef },
    credentials: sides ? [sides.source, sides.destination].flatMap(credentialKeys) : [],
    authority: tls && { kind, name: tls.secretName, key: authorityKey },
  };
}

/** What the pods of an operand read when they start. */
export interface ConnectionSecrets {
  readonly source: SecretValue | undefined;
  readonly destination: SecretValue | undefined;
  readonly credentials: readonly SecretValue[];
}

/** What an operand needs that its resource does not contain. */
export interface OperandSecrets extends ConnectionSecrets {
  /** See {@link SecretRefs}. */
  readonly authority: SecretValue | undefined;
  /** Of the operand's API. */
  readonly token: string;
}

/** A Secret, or a ConfigMap, whose values the pods of an operand read from files. */
export interface MountedSecret extends Pick<SecretKey, 'kind' | 'name'> {
  /** Folder under {@link mountRoot}. */
  readonly folder: string;
  /** Its keys, and the names of their files. */
  readonly items: readonly { readonly key: string; readonly path: string }[];
}

/** Where the pods of an operand find mounted files. */
export const mountRoot = '/etc/clustersync';

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
    const name = nameIn(options);
    if (name === undefined) return [];
    const items = Object.keys(flags).map((key) => ({ key, path: key }));
    const args = Object.entries(flags).map(
      ([key, flag]) => `--${flag}=${mountRoot}/${folder}/${key}`,
    );
    return [{ folder, kind: 'Secret', name, items, args }];
  });
}

/** What the pods of an operand read of a side, and the arguments that tell where its files are, and by which name it is reached. */
export interface MountedSide {
  readonly secrets: readonly MountedSecret[];
  readonly args: readonly string[];
}

/** The options of a program for a connection: that of its connection string, and how the names of the others begin. */
export interface ConnectionFlags {
  readonly uri: string;
  readonly prefix: string;
}

/** How the pods of an operand find what a side's connections need. */
export function mountedSide(
  side: keyof Sides,
  { uriSecretRef, tls, auth }: ClusterReference,
  flags: readonly ConnectionFlags[],
): MountedSide {
  const kind = 'Secret';
  const { clientCertificateSecretRef: client, serverName } = tls ?? {};
  const ca = authorityOf(tls);
  const mounted = (folder: string, { key, ...from }: SecretKey, path: string): MountedSecret => ({
    folder,
    ...from,
    items: [{ key, path }],
  });
  const uri = mounted(side, { kind, ...uriSecretRef }, 'uri');
  const user = auth && mounted(`${side}-user`, { kind, ...auth.userSecretRef }, 'user');
  const password =
    auth && mounted(`${side}-password`, { kind, ...auth.passwordSecretRef }, 'password');
  const authority = ca && mounted(`${side}-ca`, ca, authorityKey);
  const certificate: MountedSecret | undefined = client && {
    ...{ folder: `${side}-certificate`, kind, name: client.name },
    items: Object.values(certificateKeys).map((key) => ({ key, path: key })),
  };
  const { certificate: certificatePath, key: keyPath } = certificateKeys;
  const files = [
    [uri, 'uri', ({ uri: name }: ConnectionFlags) => name],
    [user, 'user', ({ prefix }: ConnectionFlags) => `${prefix}User`],
    [password, 'password', ({ prefix }: ConnectionFlags) => `${prefix}Password`],
    [authority, authorityKey, ({ prefix }: ConnectionFlags) => `${prefix}Ca`],
    [certificate, certificatePath, ({ prefix }: ConnectionFlags) => `${prefix}Certificate`],
    [certificate, keyPath, ({ prefix }: ConnectionFlags) => `${prefix}Key`],
  ] as const;
  return {
    secrets: [uri, user, password, authority, certificate].filter((secret) => secret !== undefined),
    args: [
      ...files.flatMap(([secret, path, nameOf]) =>
        secret === undefined
          ? []
          : flags.map((named) => `--${nameOf(named)}File=${mountRoot}/${secret.folder}/${path}`),
      ),
      ...(serverName === undefined
        ? []
        : flags.map(({ prefix }) => `--${prefix}ServerName=${serverName}`)),
    ],
  };
}

/** The volumes of a pod, and where its container finds them. */
export function secretVolumes(mounted: readonly MountedSecret[]) {
  return {
    volumes: mounted.map(({ folder, kind, name, items }) => ({
      name: folder,
      ...(kind === 'Secret'
        ? { secret: { secretName: name, items: [...items] } }
        : { configMap: { name, items: [...items] } }),
    })),
    volumeMounts: mounted.map(({ folder }) => ({
      name: folder,
      mountPath: `${mountRoot}/${folder}`,
      readOnly: true,
    })),
  };
}

/** Why a connection string or a certificate of a side cannot be used. */
export function missingSecret(secrets: ConnectionSecrets): ConditionCause | undefined {
  const { source, destination, credentials } = secrets;
  for (const secret of [source, destination, ...credentials]) {
    if (secret === undefined || secret.kind === 'found') continue;
    const { kind, description: message } = secret;
    return kind === 'invalid'
      ? { reason: 'InvalidCertificate', message, level: 'stalled' }
      : { reason: 'SecretNotFound', message, level: 'warning' };
  }
  return undefined;
}

/** Why pods cannot use one, whether or not the operator may read it. */
export function unusableForPods({
  source,
  destination,
  credentials,
}: ConnectionSecrets): ConditionCause | undefined {
  const readOf = (secret: SecretValue | undefined): SecretValue | undefined =>
    secret?.kind === 'unread' ? undefined : secret;
  return missingSecret({
    source: readOf(source),
    destination: readOf(destination),
    credentials: credentials.filter(({ kind }) => kind !== 'unread'),
  });
}

/** What it means that a Secret cannot be used, by how many of the pods run. */
const outlooks: Readonly<Record<RunningPods, string>> = {
  all: 'running pods continue, and are not changed until this is corrected',
  some: 'running pods continue, others cannot start, and none is changed until this is corrected',
  none: 'pods cannot start until this is corrected',
};

/**
 * What is wrong with the Secrets of pods, or will be soon: those that run continue with what they have read, but could not connect
 * again, or be replaced.
 */
export function secretProblem(
  secrets: ConnectionSecrets,
  nowMs: number,
  running: RunningPods,
): ConditionCause | undefined {
  const missing = missingSecret(secrets);
  if (missing) {
    const outlook = outlooks[unusableForPods(secrets) ? running : 'all'];
    return { ...missing, message: `${missing.message}: ${outlook}` };
  }
  const [first] = secrets.credentials
    .flatMap((secret) => (secret.kind === 'found' && secret.expiry ? [secret.expiry] : []))
    .filter(({ atMs, noticeMs }) => atMs - nowMs <= noticeMs)
    .toSorted((one, other) => one.atMs - other.atMs);
  if (first === undefined) return undefined;
  const at = new Date(first.atMs).toISOString();
  return first.atMs <= nowMs
    ? {
        ...{ reason: 'CertificateExpired', level: 'warning' },
        message: `${first.what} expired at ${at}: new connections may fail. Renew it`,
      }
    : {
        ...{ reason: 'CertificateExpiresSoon', level: 'warning' },
        message: `${first.what} expires at ${at}: renew it before`,
      };
}

/** On the pods of an operand: the hash of what they read when they started. */
export const secretsHashAnnotation = 'clustersync.dev/secrets-hash';

/** On the StatefulSet, and not on its pods, so that no other time can replace them: when it last got another such hash. */
export const secretsChangedAnnotation = 'clustersync.dev/secrets-changed-at';

/** What a StatefulSet records of the Secrets of its pods. */
export interface SecretsRecord {
  /** See {@link secretsHashOf}. */
  readonly hash: string;
  /** When the pods were last given changed Secrets; undefined if never. */
  readonly changedAt: string | undefined;
  /**
   * If that is now: the version of the StatefulSet that still has the previous hash. The change is written over no other version, which
   * may have it already, with its time.
   */
  readonly replaces: string | undefined;
}

/**
 * A hash of what the pods of an operand read when they start: if it changes, they are replaced. It is keyed with the token, so that
 * it reveals nothing about passwords to those who may see pods but not Secrets.
 *
 * While a Secret is missing or invalid, running pods keep the hash of what they have read. Undefined if no pods can be created: what
 * they need to read is missing, and was never there.
 * @param statefulSet - the operand's, if there is one.
 */
export function secretsHashOf(
  secrets: ConnectionSecrets & Pick<OperandSecrets, 'token'>,
  statefulSet: StatefulSet | undefined,
): string | undefined {
  const { source, destination, credentials, token } = secrets;
  if (!source || !destination || missingSecret(secrets) !== undefined) {
    return statefulSet?.spec?.template.metadata?.annotations?.[secretsHashAnnotation];
  }
  const hash = createHmac('sha256', token);
  for (const secret of [source, destination, ...credentials]) {
    if (secret.kind === 'found') hash.update(`${secret.value.length}:${secret.value}`);
  }
  return hash.digest('hex').slice(0, 16);
}
