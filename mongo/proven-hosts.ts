import { createHash } from 'node:crypto';
import { parseConnectionString } from './connection-options.ts';
import type { Connection } from './connection.ts';
import { askTopology, type Asker, type Topology } from './topology.ts';

/** Who asks, and for which deployment. */
export interface HostQuestion extends Asker {
  /** The deployment that the connection string leads to. */
  readonly deployment: Pick<Topology, 'clusterId'>;
}

/** Distinguishes deployments for readers who may not know their ids: 32 hexadecimal digits. */
export function deploymentDigest({ clusterId }: Pick<Topology, 'clusterId'>): string {
  return createHash('sha256').update(`destination ${clusterId}`).digest('hex').slice(0, 32);
}

/**
 * The hosts of a connection string that are members or routers of the deployment that it leads to, and let its user in: if
 * there are several, each is queried separately. A list proves nothing about its members, since the driver is content with the
 * first that answers, and leaves out those that belong elsewhere.
 * @param uri - by which somebody has logged in.
 * @returns a connection string with only these hosts, without user and options; empty if there are none. If the servers received
 * another name than their own, it has that as the option `serverName`: a proxy may have led there by it.
 */
export async function provenHosts(
  { uri, tls }: Connection,
  { deployment, ...asker }: HostQuestion,
  signal: AbortSignal,
): Promise<string> {
  const parsed = parseConnectionString(uri);
  if (!parsed) return '';
  const { hosts, isSRV } = parsed;
  const scheme = isSRV ? 'mongodb+srv' : 'mongodb';
  const told = (names: readonly string[]): string =>
    `${scheme}://${names.join()}${tls?.servername === undefined ? '' : `/?serverName=${tls.servername}`}`;
  // With nothing else known, only this host can have led there.
  if (isSRV || hosts.length === 1) return told(hosts);
  const isProven = async (host: string): Promise<boolean> => {
    const alone = parsed.clone();
    alone.hosts = [host];
    alone.searchParams.set('directConnection', 'true');
    const askingMember = { ...asker, mayBeSecondary: true };
    const found = await askTopology({ uri: alone.href, tls }, askingMember, signal).catch(
      () => undefined,
    );
    return found?.clusterId === deployment.clusterId;
  };
  const answers = await Promise.all(hosts.map(isProven));
  const proven = hosts.filter((_, index) => answers[index]);
  return proven.length === 0 ? '' : told(proven);
}

/** At which hosts of a connection a process has logged in: it finds out once it knows the deployment. */
export class HostProof {
  readonly #connection: Connection;
  #hosts = '';
  #ended = Promise.resolve();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** As {@link provenHosts} returns them; empty before that. */
  get hosts(): string {
    return this.#hosts;
  }

  /** Resolves when no host is being queried. */
  get ended(): Promise<void> {
    return this.#ended;
  }

  /** Begins to query the hosts. */
  begin(question: HostQuestion, signal: AbortSignal): void {
    const prove = async (): Promise<void> => {
      this.#hosts = await provenHosts(this.#connection, question, signal);
    };
    this.#ended = prove();
  }
}
