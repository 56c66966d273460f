import { parseConnectionString } from '../../mongo/connection-options.ts';

/** A host that a connection string names. */
export interface DestinationHost {
  /** In one form for all ways to write it, with its port. */
  readonly host: string;
  /**
   * `ambiguous`: written with two labels. `db.shop` is the Service `db` of the namespace `shop`, unless a pod finds a pod `db` of a Service
   * `shop` in its own namespace, where it looks first. `full`: the same name, written so that it is that Service for all. `other`: a name
   * that nobody writes with two labels.
   */
  readonly form: 'ambiguous' | 'full' | 'other';
}

/**
 * What identifies the deployment that a connection string leads to, without asking it: the names of its hosts, in one
 * form for all ways to write them. Strings with a host in common lead to the same deployment. Names whose equality only
 * a name server could tell (aliases, addresses, `mongodb+srv`) count as different.
 *
 * @param namespace - whose pods use the string: a name of one label is that of a Service there.
 * @returns sorted, each once, as `full` where it is written in full, too; undefined for what is no connection string. Nothing of user or password is in it.
 */
export function destinationHosts(
  uri: string,
  namespace: string,
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
  return [...forms].map(([host, form]) => ({ host, form })).sort(byHost);
}

function byHost(one: DestinationHost, other: DestinationHost): number {
  return one.host < other.host ? -1 : 1;
}

const defaultPort = 27_017;

/** Bracketed addresses of IPv6 have colons of their own. */
function withPort(host: string, namespace: string): DestinationHost {
  const [, written = host, port = defaultPort] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? [];
  const { name, form } = fullName(written, namespace);
  return { host: `${name}:${Number(port)}`, form };
}

/** As pods find it: `<service>.<namespace>`, whatever is left out or added of the cluster's domain. */
function fullName(
  host: string,
  namespace: string,
): { readonly name: string; readonly form: DestinationHost['form'] } {
  const written = asResolved(host);
  const isOfNamespace =
    !written.includes('.') && !written.startsWith('[') && written !== 'localhost';
  if (isOfNamespace) return { name: `${written}.${namespace}`, form: 'full' };
  const absolute = withoutDot(written);
  // Also `db.svc`, which may be a pod of a Service `svc`.
  if (hasTwoLabels(absolute)) return { name: absolute, form: 'ambiguous' };
  const name = absolute.replace(/\.svc(\.cluster\.local)?$/, '');
  return { name, form: hasTwoLabels(name) ? 'full' : 'other' };
}

function hasTwoLabels(name: string): boolean {
  return !name.startsWith('[') && name.split('.').length === 2;
}

/** An address in one form, and a name as it is looked up; as it is, where it is none that a URL has. */
function asResolved(host: string): string {
  try {
    const decoded = decodeURIComponent(host);
    // The path of a socket: what stands between its slashes is no host.
    if (decoded.includes('/')) return host;
    const { hostname } = new URL(`http://${decoded}`);
    const [, high, low] = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(hostname) ?? [];
    if (high === undefined || low === undefined) return hostname === '' ? host : hostname;
    // An address of IPv4 in the form of IPv6.
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
