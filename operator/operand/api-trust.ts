import { X509Certificate } from 'node:crypto';
import type { ServerTrust } from '../../service/http-request.ts';
import type { OperandOptions } from '../api/clustersync.ts';
import type { ObjectMeta } from '../kube/resource.ts';
import { apiTargetAt } from './http-api.ts';
import type { MonitorTarget } from './monitor.ts';
import type { SecretKey, SecretValue } from './operand-secrets.ts';
import type { PodState } from './pod-state.ts';
import type { ConditionCause } from './condition-cause.ts';

/** The key of a Secret of type kubernetes.io/tls under which cert-manager writes the authority. */
const authorityKey = 'ca.crt';

/** By what the operator knows the pods of an operand. */
export type ApiTrust =
  /** They serve HTTP. */
  | { readonly kind: 'plain' }
  | ({ readonly kind: 'verified' } & Required<ServerTrust>)
  /** They serve HTTPS, and nothing is to be sent to them. */
  | { readonly kind: 'unknown'; readonly cause: ConditionCause };

/** Where the authority of an operand's certificate is; undefined where it serves HTTP. */
export function authorityRef({ tls }: Pick<OperandOptions, 'tls'>): SecretKey | undefined {
  return tls && { name: tls.secretName, key: authorityKey };
}

/** The name that an operand's certificate must be for: that of its Service. */
export function serverNameOf(name: string, { namespace = '' }: Pick<ObjectMeta, 'namespace'>) {
  return `${name}.${namespace}.svc`;
}

/**
 * By what the pods of an operand are known.
 * @param authority - what {@link authorityRef} leads to.
 */
export function apiTrust(
  { tls }: Pick<OperandOptions, 'tls'>,
  authority: SecretValue | undefined,
  serverName: string,
): ApiTrust {
  if (!tls) return { kind: 'plain' };
  if (authority?.kind !== 'found') {
    const detail = authority?.description ?? `there is no Secret ${tls.secretName}`;
    const message = `${detail}: HTTPS requires tls.crt, tls.key and ${authorityKey} in it`;
    return { kind: 'unknown', cause: { reason: 'SecretNotFound', message, level: 'warning' } };
  }
  const text = Buffer.from(authority.value, 'base64').toString();
  if (isCertificate(text)) return { kind: 'verified', authority: text, serverName };
  const message = `${authorityKey} in the Secret ${tls.secretName} is not a PEM certificate`;
  return { kind: 'unknown', cause: { reason: 'InvalidCertificate', message, level: 'stalled' } };
}

/** The process of a pod, as it is asked and told; undefined while none runs, and where nothing is to be sent to it. */
export function targetOf(
  pod: Pick<PodState, 'process' | 'ip'> | undefined,
  {
    port,
    token,
    trust,
  }: { readonly port: number; readonly token: string; readonly trust: ApiTrust },
): MonitorTarget | undefined {
  if (pod?.process === undefined || pod.ip === undefined) return undefined;
  if (trust.kind === 'unknown') return undefined;
  const { process, ip } = pod;
  return { process, ...apiTargetAt({ ip, port }, token, serverTrust(trust)) };
}

/** What a request is to be sent with; undefined for HTTP. */
function serverTrust(
  trust: Exclude<ApiTrust, { readonly kind: 'unknown' }>,
): ServerTrust | undefined {
  return trust.kind === 'plain'
    ? undefined
    : { authority: trust.authority, serverName: trust.serverName };
}

/** What node:tls does not say: it leaves out what it cannot read. */
function isCertificate(text: string): boolean {
  try {
    new X509Certificate(text);
    return true;
  } catch {
    return false;
  }
}
