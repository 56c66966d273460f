import type { Document, MongoClient, MongoServerSelectionError, ServerDescription } from 'mongodb';

/** What a server answers to the question what it is. */
export interface Greeting {
  /** The replica set that it is a member of; undefined if of none. */
  readonly setName: string | undefined;
  readonly isRouter: boolean;
}

/** What explains why a client cannot connect, apart from the error of the driver. */
export interface ConnectionAttempt {
  readonly usesTls: boolean;
  readonly hasCertificate: boolean;
  /** The one that the connection string expects. */
  readonly replicaSet: string | undefined;
  /** `host:port` of the servers in the connection string; undefined if DNS names them (mongodb+srv). */
  readonly named: readonly string[] | undefined;
  /** By `host:port`. The driver (7.8) forgets the servers of another replica set, and says only that time is up. */
  readonly greetings: ReadonlyMap<string, Greeting>;
}

/** Watches how a client connects. To be called before it does. */
export function watchAttempt(client: MongoClient): ConnectionAttempt {
  const { options } = client;
  const greetings = new Map<string, Greeting>();
  client.on('serverHeartbeatSucceeded', ({ connectionId, reply }) => {
    greetings.set(connectionId, greetingIn(reply));
  });
  return {
    usesTls: options.tls,
    hasCertificate: options.cert !== undefined || options.tlsCertificateKeyFile !== undefined,
    replicaSet: options.replicaSet,
    named: options.srvHost === undefined ? options.hosts.map(String) : undefined,
    greetings,
  };
}

function greetingIn(reply: Document): Greeting {
  const setName: unknown = reply['setName'];
  return {
    setName: typeof setName === 'string' ? setName : undefined,
    isRouter: reply['msg'] === 'isdbgrid',
  };
}

type Server = Pick<ServerDescription, 'address' | 'type' | 'error'>;

/**
 * Why no server was chosen, and what to do about it; undefined if nothing more is known than the driver's error says.
 * @param error - not because of a login, of TLS or of a malformed answer: their errors say it themselves.
 */
export function attemptProblem(
  error: MongoServerSelectionError,
  attempt: ConnectionAttempt,
): string | undefined {
  const servers: readonly Server[] = [...(error.reason?.servers.values() ?? [])];
  const answering = servers.filter(({ type }) => type !== 'Unknown');
  const other = answering.length === 0 ? otherSetProblem(attempt) : undefined;
  if (other !== undefined) return other;
  for (const server of servers) {
    if (server.error)
      return `${serverProblem(server.address, server.error, attempt)}${notPrimary(answering)}`;
  }
  if (answering.length > 0) {
    return `${addressesOf(answering)}: no server is primary. Wait for an election; if none comes, see rs.status()`;
  }
  return servers.length > 0 ? silence(addressesOf(servers)) : undefined;
}

/** The primary may be the one that does not answer. */
function notPrimary(answering: readonly Server[]): string {
  if (answering.length === 0) return '';
  return ` (${addressesOf(answering)}: reached, and not primary)`;
}

function addressesOf(servers: readonly Server[]): string {
  return servers.map(({ address }) => address).join(', ');
}

/** A server that answers, and is not of the replica set that the connection string expects. */
function otherSetProblem({ replicaSet, greetings }: ConnectionAttempt): string | undefined {
  if (replicaSet === undefined) return undefined;
  const other = [...greetings].find(([, { setName }]) => setName !== replicaSet);
  if (!other) return undefined;
  const [address, { setName, isRouter }] = other;
  if (setName !== undefined)
    return `${address} is a member of the replica set ${setName}, and the connection string expects replicaSet=${replicaSet}: correct it, or the hosts`;
  if (isRouter)
    return `${address} is a router, and the connection string expects replicaSet=${replicaSet}: omit replicaSet, or correct the hosts`;
  return `${address} is not a member of a replica set, and the connection string expects replicaSet=${replicaSet}: correct the hosts, or make a standalone server a replica set`;
}

function serverProblem(address: string, error: Error, attempt: ConnectionAttempt): string {
  const cause: NodeJS.ErrnoException = error.cause instanceof Error ? error.cause : error;
  const { code } = cause;
  const said = cause.message === '' ? `${address}: ${code ?? error.name}` : cause.message;
  switch (code) {
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${said}: correct the host in ${placeOf(address, attempt)}, or let DNS resolve it here`;
    case 'ECONNREFUSED':
      return `${said}: correct host and port in ${placeOf(address, attempt)}, or start the server, and let it listen there (net.bindIp)`;
    case 'ECONNRESET':
      return closed(address, attempt);
    case undefined:
      return error.message.endsWith(' closed') ? closed(address, attempt) : silence(address);
    default:
      return silence(`${address} (${code})`);
  }
}

/** Where a server is named: once the set has answered, the driver goes by the names that the set has for its members. */
function placeOf(address: string, { named }: ConnectionAttempt): string {
  if (named === undefined) return 'the SRV record, or in the configuration of the set (rs.conf())';
  return named.includes(address)
    ? 'the connection string'
    : 'the configuration of the replica set (rs.conf()), which counts instead of the connection string';
}

function silence(addresses: string): string {
  return `${addresses}: no answer. Correct host and port, or let what is between (a firewall, a NetworkPolicy, a proxy) pass the connection`;
}

function closed(address: string, { usesTls, hasCertificate }: ConnectionAttempt): string {
  return `${address} has closed the connection before it answered, and its log says why. ${closedAction(usesTls, hasCertificate)}`;
}

function closedAction(usesTls: boolean, hasCertificate: boolean): string {
  if (!usesTls)
    return 'If it serves TLS only, use TLS: tls of the ClusterSync, tls=true in the connection string, or the file of an option';
  return hasCertificate
    ? 'If it does not accept the certificate of the client, use one that is valid, and signed by an authority that the server trusts'
    : 'If it asks for a certificate of the client, name one: in tls.clientCertificateSecretRef of the ClusterSync, or in the file of an option or of tlsCertificateKeyFile';
}
