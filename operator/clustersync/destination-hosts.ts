import type { ConnectionString } from 'mongodb-connection-string-url';
import { readConnectionString } from '../../mongo/connection-options.ts';

/**
 * What identifies the deployment that a connection string leads to, without asking it: the names of its hosts, in one
 * form for all ways to write them. Strings with a host in common lead to the same deployment. Names whose equality only
 * a name server could tell (aliases, addresses, `mongodb+srv`) count as different.
 *
 * @param namespace - whose pods use the string: a name of one label is that of a Service there.
 * @returns sorted, each once; undefined for what is no connection string. Nothing of user or password is in it.
 */
export function destinationHosts(uri: string, namespace: string): readonly string[] | undefined {
  const parsed = readConnectionString(uri);
  if (!parsed || isCutWithinPassword(parsed)) return undefined;
  const names = parsed.hosts.map((host) => {
    const name = host.toLowerCase();
    return parsed.isSRV ? `srv:${withoutDot(name)}` : withPort(name, namespace);
  });
  return [...new Set(names)].sort();
}

const defaultPort = 27_017;

/**
 * Whether what was taken for the end of a password is in the middle of it: of `user:pa@ss/word@host`, `ss` is no host, and may
 * be told to nobody.
 */
function isCutWithinPassword({ pathname, search }: ConnectionString): boolean {
  const options = search.slice(1).split('&');
  return pathname.includes('@') || options.some((each) => each !== '' && !/^\w+=/.test(each));
}

/** Bracketed addresses of IPv6 have colons of their own. */
function withPort(host: string, namespace: string): string {
  const [, name = host, port = defaultPort] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(host) ?? [];
  return `${fullName(name, namespace)}:${Number(port)}`;
}

/** As pods find it: `<service>.<namespace>`, whatever is left out or added of the cluster's domain. */
function fullName(name: string, namespace: string): string {
  const isOfNamespace = !name.includes('.') && !name.startsWith('[') && name !== 'localhost';
  if (isOfNamespace) return `${name}.${namespace}`;
  return withoutDot(name).replace(/\.svc(\.cluster\.local)?$/, '');
}

function withoutDot(name: string): string {
  return name.replace(/\.$/, '');
}
