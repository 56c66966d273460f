import { createHash } from 'node:crypto';
import { parseConnectionString } from './connection-options.ts';
import { askTopology, type Asker, type Topology } from './topology.ts';

/** Who asks, and for which deployment. */
export interface HostQuestion extends Asker {
  /** What the connection string has led to. */
  readonly deployment: Pick<Topology, 'clusterId'>;
}

/** What tells one deployment from another to those who may not know its id: 32 hexadecimal digits. */
export function deploymentDigest({ clusterId }: Pick<Topology, 'clusterId'>): string {
  return createHash('sha256').update(`destination ${clusterId}`).digest('hex').slice(0, 32);
}

/**
 * The hosts of a connection string that are members or routers of the deployment that it has led to, and let its user in: each of
 * several is asked by itself. A list proves nothing of its members, since the driver is content with the first that answers, and leaves
 * out those that belong elsewhere.
 * @param uri - by which somebody has logged in.
 * @returns a connection string of these hosts alone, without user and options; empty where there are none.
 */
export async function provenHosts(
  uri: string,
  { deployment, ...asker }: HostQuestion,
  signal: AbortSignal,
): Promise<string> {
  const parsed = parseConnectionString(uri);
  if (!parsed) return '';
  const { hosts, isSRV } = parsed;
  const scheme = isSRV ? 'mongodb+srv' : 'mongodb';
  // From where nothing else was known, nobody but this one has led there.
  if (isSRV || hosts.length === 1) return `${scheme}://${hosts.join()}`;
  const isProven = async (host: string): Promise<boolean> => {
    const alone = parsed.clone();
    alone.hosts = [host];
    alone.searchParams.set('directConnection', 'true');
    const found = await askTopology(alone.href, asker, signal).catch(() => undefined);
    return found?.clusterId === deployment.clusterId;
  };
  const answers = await Promise.all(hosts.map(isProven));
  const proven = hosts.filter((_, index) => answers[index]);
  return proven.length === 0 ? '' : `${scheme}://${proven.join()}`;
}
