import { validities } from '../../service/certificate.ts';
import type { ServerTrust } from '../../service/http-request.ts';
import type { OperandOptions } from '../api/clustersync.ts';
import type { ObjectMeta } from '../kube/resource.ts';
import { apiTargetAt } from './http-api.ts';
import type { MonitorTarget } from './monitor.ts';
import type { SecretValue } from './credentials.ts';
import { authorityKey } from './operand-secrets.ts';
import type { PodState } from './pod-state.ts';
import type { ConditionCause } from './condition-cause.ts';

/** How the operator authenticates the pods of an operand. */
export type ApiTrust =
  /** They serve HTTP. */
  | { readonly kind: 'plain' }
  | ({ readonly kind: 'verified' } & Required<ServerTrust>)
  /** They serve HTTPS, but cannot be authenticated: send them nothing. */
  | { readonly kind: 'unknown'; readonly cause: ConditionCause };

/** The name that an operand's certificate must be for: that of its Service. */
export function serverNameOf(name: string, { namespace = '' }: Pick<ObjectMeta, 'namespace'>) {
  return `${name}.${namespace}.svc`;
}

/**
 * How to authenticate the pods of an operand.
 * @param authority - see {@link authorityKey}.
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
  if (validities(text)) return { kind: 'verified', authority: text, serverName };
  const message = `${authorityKey} in the Secret ${tls.secretName} is not a PEM certificate`;
  return { kind: 'unknown', cause: { reason: 'InvalidCertificate', message, level: 'stalled' } };
}

/** The process of a pod, as the target of requests; undefined while none runs, and if it must be sent nothing. */
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

/** The TLS options of a request; undefined for HTTP. */
function serverTrust(
  trust: Exclude<ApiTrust, { readonly kind: 'unknown' }>,
): ServerTrust | undefined {
  return trust.kind === 'plain'
    ? undefined
    : { authority: trust.authority, serverName: trust.serverName };
}
