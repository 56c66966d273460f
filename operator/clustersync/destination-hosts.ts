import { parseConnectionString } from '../../mongo/connection-options.ts';

/** A host that a connection string names. */
export interface DestinationHost {
  /** Normalized, with its port; followed by the name that its servers receive instead, if there is one. */
  readonly host: string;
  /**
   * `ambiguous`: written with two labels. `db.shop` is the Service `db` of the namespace `shop`, unless a pod finds a pod `db` of a Service
   * `shop` in its own namespace, where it looks first. `full`: the same name, written so that it is that Service for everyone. `other`: a
   * name that is never written with two labels.
   */
  readonly form: 'ambiguous' | 'full' | 'other';
}

/** Between a host and the server name sent to it. */
const asName = ' as ';

/**
 * Identifies the deployment that a connection string leads to, without asking it: by the normalized names of its hosts.
 * Strings with a host in common lead to the same deployment. Names whose equality only a name server could tell
 * (aliases, addresses, `mongodb+srv`) count as different. So does a host whose servers receive another name (SNI): a proxy may lead to
 * another deployment by it, one of the user's own.
 *
 * @param namespace - of the pods that use the string: a name of one label is that of a Service there.
 * @param serverName - the server name (SNI) that the servers receive instead of the names of the hosts.
 * @returns sorted, without duplicates, as `full` if it is also written in full; undefined if it is not a connection string. Contains
 * neither user nor password.
 */
export function destinationHosts(
  uri: string,
  namespace: string,
  serverName?: string,
): readonly DestinationHost[] | undefined {
  const parsed = parseConnectionString(uri);
  if (!parsed) return undefined;
  const named = parsed.hosts.map((text): DestinationHost => {
    const name = text.toLowerCase();
    return parsed.isSRV
      ? { host: `srv:${withoutDot(name)}`, form: 'other' }
      : withPort(name, namespace);
  });
  const forms = new Map<string, DestinationHost['form']>();
  for (const { host, form } of named) {
    if (forms.get(host) !== 'full') forms.set(host, form);
  }
  const told = serverName === undefined ? '' : `${asName}${serverName.toLowerCase()}`;
  return [...forms].map(([host, form]) => ({ host: `${host}${told}`, form })).sort(byHost);
}

/** The host, whatever server name its servers receive: pods may find another's sync there in any case. */
export function hostAlone(host: string): string {
  return host.split(asName, 1)[0] ?? host;
}

function byHost(one: DestinationHost, other: DestinationHost): number {
  return one.host < other.host ? -1 : 1;
}

const defaultPort = 27_017;

/** Bracketed IPv6 addresses contain colons. */
function withPort(host: string, namespace: string): DestinationHost {
  const [, written = host, port = defaultPort] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? [];
  const { name, form } = fullName(written, namespace);
  return { host: `${name}:${Number(port)}`, form };
}

/** As pods resolve it: `<service>.<namespace>`, with or without the cluster's domain. */
function fullName(
  host: string,
  namespace: string,
): { readonly name: string; readonly form: DestinationHost['form'] } {
  const written = asResolved(host);
  const isOfNamespace =
    !written.includes('.') && !written.startsWith('[') && written !== 'localhost';
  if (isOfNamespace) return { name: `${written}.${namespace}`, form: 'full' };
  const absolute = withoutDot(written);
  // Includes `db.svc`, which may be a pod of a Service `svc`.
  if (hasTwoLabels(absolute)) return { name: absolute, form: 'ambiguous' };
  const name = absolute.replace(/\.svc(\.cluster\.local)?$/, '');
  return { name, form: hasTwoLabels(name) ? 'full' : 'other' };
}

function hasTwoLabels(name: string): boolean {
  return !name.startsWith('[') && name.split('.').length === 2;
}

/** An address in one form, and a name as it is looked up; unchanged if a URL could not have it as a host. */
function asResolved(host: string): string {
  try {
    const decoded = decodeURIComponent(host);
    // The path of a socket: what is between its slashes is not a host.
    if (decoded.includes('/')) return host;
    const { hostname } = new URL(`http://${decoded}`);
    const [, high, low] = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname) ?? [];
    if (high === undefined || low === undefined) return hostname === '' ? host : hostname;
    // An IPv4 address in IPv6 form.
    const parts = [high, low].flatMap((part) => {
      const bits = Number.parseInt(part, 16);
      return [bits >> 8, bits & 0xff];
    });
    return parts.join('.');
  } catch {
    return host;
  }
}

function withoutDot(name: string): string {
  return name.replace(/\.$/, '');
}
