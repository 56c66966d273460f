import { createHmac } from 'node:crypto';
import { expiryMs, isCertificate, pairProblem } from '../../service/certificate.ts';
import type { ClusterSyncSpec, OperandOptions } from '../api/clustersync.ts';
import type { StatefulSet } from '../kube/builtin-resources.ts';
import type { ConditionCause } from './condition-cause.ts';

/** Where the connection strings of both sides are. */
export type Sides = Pick<ClusterSyncSpec, 'source' | 'destination'>;

/** One of them. */
type ClusterReference = ClusterSyncSpec['source'];

/** A value in a Secret of the namespace. */
export interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** The value, in base64, or why there is none that can be used. */
export type SecretValue =
  | { readonly kind: 'found'; readonly value: string; readonly expiry?: Expiry }
  | { readonly kind: 'missing' | 'invalid'; readonly description: string };

/** When a certificate ends. */
interface Expiry {
  /** What it is, for people. */
  readonly what: string;
  readonly atMs: number;
}

/** The key of a Secret of type kubernetes.io/tls under which cert-manager writes the certificate authority. */
export const authorityKey = 'ca.crt';

/** The keys of a Secret of type kubernetes.io/tls. */
const certificateKeys = { certificate: 'tls.crt', key: 'tls.key' } as const;

/** A certificate, or a part of one, for the connections to a side. */
interface CertificateKey extends SecretKey {
  readonly part: 'authority' | keyof typeof certificateKeys;
}

/** Where the values are that the operator reads for an operand; undefined if no resource says where. */
export interface SecretRefs {
  readonly source: SecretKey | undefined;
  readonly destination: SecretKey | undefined;
  /** For the connections to both sides. */
  readonly certificates: readonly CertificateKey[];
  /** Of the operand's certificate; undefined if it serves HTTP. */
  readonly authority: SecretKey | undefined;
}

/** See {@link SecretRefs}. */
export function secretRefs(
  sides: Sides | undefined,
  { tls }: Pick<OperandOptions, 'tls'>,
): SecretRefs {
  return {
    source: sides?.source.uriSecretRef,
    destination: sides?.destination.uriSecretRef,
    certificates: sides ? [sides.source, sides.destination].flatMap(certificatesOf) : [],
    authority: tls && { name: tls.secretName, key: authorityKey },
  };
}

function certificatesOf({ tls }: ClusterReference): CertificateKey[] {
  const { caSecretRef: ca, clientCertificateSecretRef: client } = tls ?? {};
  const { certificate, key } = certificateKeys;
  return [
    ...(ca ? [{ ...ca, part: 'authority' } as const] : []),
    ...(client
      ? [
          { name: client.name, key: certificate, part: 'certificate' } as const,
          { name: client.name, key, part: 'key' } as const,
        ]
      : []),
  ];
}

/**
 * The values of certificates, with the time when they end; one is invalid where it is no certificate, or does not go with its key: no
 * process could use it.
 * @param values - one for each.
 */
export function checkedCertificates(
  refs: readonly CertificateKey[],
  values: readonly SecretValue[],
): SecretValue[] {
  return values.map((value, index): SecretValue => {
    const ref = refs[index];
    const text = textOf(value);
    if (ref === undefined || text === undefined || value.kind !== 'found') return value;
    const { name, part } = ref;
    if (part === 'authority' && !isCertificate(text)) {
      const description = `${ref.key} in the Secret ${name} is not a PEM certificate`;
      return { kind: 'invalid', description };
    }
    const key = part === 'certificate' ? textOf(values[index + 1]) : undefined;
    const problem = key === undefined ? undefined : pairProblem(text, key);
    if (problem === undefined) {
      const expiry = expiryOf(ref, text);
      return expiry ? { ...value, expiry } : value;
    }
    const description = `tls.crt and tls.key in the Secret ${name} cannot be used: ${problem}`;
    return { kind: 'invalid', description };
  });
}

function expiryOf({ name, key, part }: CertificateKey, text: string): Expiry | undefined {
  const atMs = part === 'key' ? undefined : expiryMs(text);
  return atMs === undefined ? undefined : { what: `${key} in the Secret ${name}`, atMs };
}

function textOf(value: SecretValue | undefined): string | undefined {
  return value?.kind === 'found' ? Buffer.from(value.value, 'base64').toString() : undefined;
}

/** What the pods of an operand read when they start. */
export interface ConnectionSecrets {
  readonly source: SecretValue | undefined;
  readonly destination: SecretValue | undefined;
  readonly certificates: readonly SecretValue[];
}

/** What an operand needs that its resource does not contain. */
export interface OperandSecrets extends ConnectionSecrets {
  /** See {@link SecretRefs}. */
  readonly authority: SecretValue | undefined;
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

/** What the pods of an operand read of a side, and the arguments that tell where its files are. */
export interface MountedSide {
  readonly secrets: readonly MountedSecret[];
  readonly args: readonly string[];
}

/** How the options of a program begin that name the files of a connection: its connection string, and its certificates. */
export interface ConnectionFlags {
  readonly uri: string;
  readonly tls: string;
}

/** How the pods of an operand find what a side's connections need. */
export function mountedSide(
  side: keyof Sides,
  { uriSecretRef, tls }: ClusterReference,
  flags: readonly ConnectionFlags[],
): MountedSide {
  const { caSecretRef: ca, clientCertificateSecretRef: client } = tls ?? {};
  const uri: MountedSecret = {
    ...{ folder: side, secretName: uriSecretRef.name },
    items: [{ key: uriSecretRef.key, path: 'uri' }],
  };
  const authority = ca && {
    ...{ folder: `${side}-ca`, secretName: ca.name },
    items: [{ key: ca.key, path: authorityKey }],
  };
  const certificate = client && {
    ...{ folder: `${side}-certificate`, secretName: client.name },
    items: Object.values(certificateKeys).map((key) => ({ key, path: key })),
  };
  const files = [
    [uri, 'uri', 'uri'],
    [authority, 'ca', authorityKey],
    [certificate, 'certificate', certificateKeys.certificate],
    [certificate, 'key', certificateKeys.key],
  ] as const;
  return {
    secrets: [uri, authority, certificate].filter((secret) => secret !== undefined),
    args: files.flatMap(([secret, what, path]) =>
      secret === undefined
        ? []
        : flags.map((named) => `--${flagOf(named, what)}=${mountRoot}/${secret.folder}/${path}`),
    ),
  };
}

function flagOf({ uri, tls }: ConnectionFlags, what: 'uri' | 'ca' | 'certificate' | 'key'): string {
  switch (what) {
    case 'uri':
      return `${uri}File`;
    case 'ca':
      return `${tls}CaFile`;
    case 'certificate':
      return `${tls}CertificateFile`;
    case 'key':
      return `${tls}KeyFile`;
  }
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

/** Why a connection string or a certificate of a side cannot be used. */
export function missingSecret(secrets: ConnectionSecrets): ConditionCause | undefined {
  const { source, destination, certificates } = secrets;
  for (const secret of [source, destination, ...certificates]) {
    if (secret === undefined || secret.kind === 'found') continue;
    const { kind, description: message } = secret;
    return kind === 'missing'
      ? { reason: 'SecretNotFound', message, level: 'warning' }
      : { reason: 'InvalidCertificate', message, level: 'stalled' };
  }
  return undefined;
}

/** How long before its end a certificate is said to expire. */
const expiryNoticeMs = 7 * 24 * 60 * 60 * 1000;

/**
 * What is wrong with the Secrets of running pods, or will be soon: they continue with what they have read, but could not connect
 * again, or be replaced.
 */
export function secretProblem(
  secrets: ConnectionSecrets,
  nowMs: number,
): ConditionCause | undefined {
  const missing = missingSecret(secrets);
  if (missing) return missing;
  const [first] = secrets.certificates
    .flatMap((secret) => (secret.kind === 'found' && secret.expiry ? [secret.expiry] : []))
    .toSorted((one, other) => one.atMs - other.atMs);
  if (first === undefined || first.atMs - nowMs > expiryNoticeMs) return undefined;
  const at = new Date(first.atMs).toISOString();
  return first.atMs <= nowMs
    ? {
        ...{ reason: 'CertificateExpired', level: 'warning' },
        message: `${first.what} has expired at ${at}: no new connections can be made. Renew it`,
      }
    : {
        ...{ reason: 'CertificateExpiresSoon', level: 'warning' },
        message: `${first.what} expires at ${at}: renew it before`,
      };
}

/** On the pods of an operand: the hash of what they read when they started. */
export const secretsHashAnnotation = 'clustersync.dev/secrets-hash';

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
  const { source, destination, certificates, token } = secrets;
  if (!source || !destination || missingSecret(secrets) !== undefined) {
    return statefulSet?.spec?.template.metadata?.annotations?.[secretsHashAnnotation];
  }
  const hash = createHmac('sha256', token);
  for (const secret of [source, destination, ...certificates]) {
    if (secret.kind === 'found') hash.update(`${secret.value.length}:${secret.value}`);
  }
  return hash.digest('hex').slice(0, 16);
}
