import { pairProblem, validities, type Validity } from '../../service/certificate.ts';
import type { ClusterSyncSpec } from '../api/clustersync.ts';
import { lastOf, type KeptValue } from './kept-value.ts';

/** How a deployment is reached. */
export type ClusterReference = ClusterSyncSpec['source'];

/** A value in a Secret, or in a ConfigMap, of the namespace. */
export interface SecretKey {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly name: string;
  readonly key: string;
}

/** There is no value that can be used. */
interface Missing {
  /** `unread`: pods find it, but the operator cannot read it. */
  readonly kind: 'missing' | 'unread' | 'invalid';
  readonly description: string;
}

/** The value, in base64, or why there is none that can be used. Of authorities that are too long to keep, only their hash. */
export type SecretValue =
  { readonly kind: 'found'; readonly value: string; readonly expiry?: Expiry } | Missing;

/** What was read of a value, or why there is none. */
export type ReadValue = KeptValue | Missing;

/** A value that is needed as it is. */
export function wholeValue(read: ReadValue, { kind, name, key }: SecretKey): SecretValue {
  switch (read.kind) {
    case 'whole':
      return { kind: 'found', value: read.base64 };
    case 'digest':
      return {
        kind: 'unread',
        description: `the key ${key} of the ${kind} ${name} is longer than 24 KiB, or others of its values are`,
      };
    case 'missing':
    case 'unread':
    case 'invalid':
      return read;
  }
}

/** When a certificate ends. */
interface Expiry {
  /** What it is, for people. */
  readonly what: string;
  readonly atMs: number;
  /** How long before somebody should know. */
  readonly noticeMs: number;
}

/** The keys of a Secret of type kubernetes.io/tls. */
export const certificateKeys = { certificate: 'tls.crt', key: 'tls.key' } as const;

/** What the connections to a side need in addition to the connection string. */
export interface CredentialKey extends SecretKey {
  readonly part: 'user' | 'password' | 'authority' | keyof typeof certificateKeys;
}

/** Where the credentials of a deployment are. A certificate is followed by its key. */
export function credentialKeys({ tls, auth }: ClusterReference): CredentialKey[] {
  const kind = 'Secret';
  const authority = authorityOf(tls);
  const { clientCertificateSecretRef: client } = tls ?? {};
  const { certificate, key } = certificateKeys;
  return [
    ...(auth
      ? [
          { kind, ...auth.userSecretRef, part: 'user' } as const,
          { kind, ...auth.passwordSecretRef, part: 'password' } as const,
        ]
      : []),
    ...(authority ? [{ ...authority, part: 'authority' } as const] : []),
    ...(client
      ? [
          { kind, name: client.name, key: certificate, part: 'certificate' } as const,
          { kind, name: client.name, key, part: 'key' } as const,
        ]
      : []),
  ];
}

/** Where the authorities of a deployment are; undefined if the resource does not say. */
export function authorityOf(tls: ClusterReference['tls']): SecretKey | undefined {
  const { caSecretRef, caConfigMapRef } = tls ?? {};
  if (caSecretRef) return { kind: 'Secret', ...caSecretRef };
  return caConfigMapRef && { kind: 'ConfigMap', ...caConfigMapRef };
}

/**
 * The values of credentials, with the time when a certificate ends; one is invalid where it is not a certificate, or does not go with its
 * key: no process could use it.
 * @param values - one for each, in the order of {@link credentialKeys}.
 */
export function checkedCredentials(
  keys: readonly CredentialKey[],
  values: readonly ReadValue[],
): SecretValue[] {
  return keys.map((at, index): SecretValue => {
    const read = values[index];
    if (!read) throw new TypeError('a value for each key is required');
    if (at.part === 'authority') return authorityValue(read, at);
    const value = wholeValue(read, at);
    if (value.kind !== 'found') return value;
    switch (at.part) {
      case 'user':
      case 'password':
      case 'key':
        return value;
      case 'certificate': {
        const text = textOf(value.value);
        const key = values[index + 1];
        const problem = key?.kind === 'whole' ? pairProblem(text, textOf(key.base64)) : undefined;
        return problem === undefined
          ? // Its own: those of intermediate authorities follow.
            withExpiry(value, at, validities(text)?.[0])
          : invalid(`tls.crt and tls.key in the Secret ${at.name} cannot be used: ${problem}`);
      }
    }
  });
}

/** It is only mounted: the operator needs to know whether it has changed, and when it ends. */
function authorityValue(read: ReadValue, at: SecretKey): SecretValue {
  const known = (value: string, last: Validity | undefined): SecretValue =>
    last
      ? withExpiry({ kind: 'found', value }, at, last)
      : invalid(`${at.key} in the ${at.kind} ${at.name} is not, or not only, PEM certificates`);
  switch (read.kind) {
    case 'whole':
      return known(read.base64, lastOf(validities(textOf(read.base64))));
    case 'digest':
      return known(`sha256:${read.sha256}`, read.lastCertificate);
    case 'missing':
    case 'unread':
    case 'invalid':
      return read;
  }
}

function invalid(description: string): SecretValue {
  return { kind: 'invalid', description };
}

/** A week, or less for certificates that are renewed all the time. */
const longestNoticeMs = 7 * 24 * 60 * 60 * 1000;
const noticeShare = 1 / 4;

function withExpiry(
  value: Extract<SecretValue, { readonly kind: 'found' }>,
  { kind, name, key }: SecretKey,
  validity: Validity | undefined,
): SecretValue {
  if (!validity) return value;
  const { fromMs, untilMs: atMs } = validity;
  const noticeMs = Math.min(longestNoticeMs, (atMs - fromMs) * noticeShare);
  return { ...value, expiry: { what: `${key} in the ${kind} ${name}`, atMs, noticeMs } };
}

function textOf(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
}
