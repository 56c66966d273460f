import { pairProblem, validities, type Validity } from '../../service/certificate.ts';
import type { ClusterSyncSpec } from '../api/clustersync.ts';

/** How a deployment is reached. */
export type ClusterReference = ClusterSyncSpec['source'];

/** A value in a Secret, or in a ConfigMap, of the namespace. */
export interface SecretKey {
  readonly kind: 'Secret' | 'ConfigMap';
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
  /** How long before somebody should know. */
  readonly noticeMs: number;
}

/** The keys of a Secret of type kubernetes.io/tls. */
export const certificateKeys = { certificate: 'tls.crt', key: 'tls.key' } as const;

/** What the connections to a side need besides the connection string. */
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
 * The values of credentials, with the time when a certificate ends; one is invalid where it is no certificate, or does not go with its
 * key: no process could use it.
 * @param values - one for each, in the order of {@link credentialKeys}.
 */
export function checkedCredentials(
  keys: readonly CredentialKey[],
  values: readonly SecretValue[],
): SecretValue[] {
  return values.map((value, index): SecretValue => {
    const at = keys[index];
    if (at === undefined || value.kind !== 'found') return value;
    const text = textOf(value.value);
    switch (at.part) {
      case 'user':
      case 'password':
      case 'key':
        return value;
      case 'authority': {
        const valid = validities(text);
        // The last one counts: old and new authorities stand side by side.
        return valid
          ? withExpiry(value, at, valid.toSorted(byEnd).at(-1))
          : invalid(`${at.key} in the ${at.kind} ${at.name} is not, or not only, PEM certificates`);
      }
      case 'certificate': {
        const key = values[index + 1];
        const problem = key?.kind === 'found' ? pairProblem(text, textOf(key.value)) : undefined;
        return problem === undefined
          ? // Its own: those of intermediate authorities follow.
            withExpiry(value, at, validities(text)?.[0])
          : invalid(`tls.crt and tls.key in the Secret ${at.name} cannot be used: ${problem}`);
      }
    }
  });
}

function invalid(description: string): SecretValue {
  return { kind: 'invalid', description };
}

const byEnd = (one: Validity, other: Validity): number => one.untilMs - other.untilMs;

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
