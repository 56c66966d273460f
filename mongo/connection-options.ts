import { ConnectionString } from 'mongodb-connection-string-url';
import { SyncError } from '../service/errors.ts';
import type { OptionTable } from '../service/options.ts';

/** What an option of a connection string may do, and why it is let. */
interface OptionGroup {
  readonly reason: string;
  /** As they are spelt in documentation; any case is taken. */
  readonly names: readonly string[];
  /** The values that are taken; any when absent. */
  readonly values?: readonly string[];
  /** Values that are taken besides, as an option that is of the machine is. */
  readonly machineValues?: readonly string[];
  /** What it has the machine do that connects, which in a pod is another one than that of the person who wrote it. */
  readonly ofMachine?: string;
}

/**
 * All options of connection strings that are taken. What is not here is refused: whoever writes a connection string is not always the one
 * on whose machine, and with whose rights on it, the driver opens files, asks services for tokens, or calls other hosts.
 * Source: `lib/connection_string.js` of the driver (7.8).
 */
export const connectionOptionGroups: readonly OptionGroup[] = [
  { names: ['replicaSet'], reason: 'The expected name of the replica set.' },
  { names: ['directConnection'], reason: 'Connects to a single server only.' },
  {
    names: ['srvServiceName', 'srvMaxHosts'],
    reason: 'How to resolve the hosts of `mongodb+srv`.',
  },
  { names: ['tls', 'ssl'], reason: 'Encrypts the connection.' },
  {
    names: ['tlsInsecure', 'tlsAllowInvalidCertificates', 'tlsAllowInvalidHostnames'],
    reason:
      'Accepts certificates that cannot be verified. Anyone on the network path can read and change everything.',
  },
  {
    names: ['tlsCAFile', 'tlsCertificateKeyFile', 'tlsCRLFile'],
    reason: 'Certificate and key files on the machine.',
    ofMachine:
      'it names a file in the pod, not on your machine. Omit it, and use an image that trusts the certificate authority',
  },
  { names: ['tlsCertificateKeyFilePassword'], reason: 'Password of the key file.' },
  { names: ['authSource'], reason: 'The database that holds the user.' },
  {
    names: ['authMechanism'],
    values: ['DEFAULT', 'SCRAM-SHA-1', 'SCRAM-SHA-256', 'MONGODB-X509', 'PLAIN'],
    machineValues: ['GSSAPI', 'MONGODB-AWS', 'MONGODB-OIDC'],
    reason:
      'How the user authenticates: with credentials in the connection string, or with credentials of the machine.',
  },
  {
    names: ['authMechanismProperties'],
    reason: 'The service or program that provides a token.',
    ofMachine:
      'it requests a token from a service or program in the pod. Use a user with a password',
  },
  {
    names: ['proxyHost', 'proxyPort', 'proxyUsername', 'proxyPassword'],
    reason: 'The proxy for all connections.',
    ofMachine: 'it connects the pod to another host. Let the pods reach the servers directly',
  },
  { names: ['loadBalanced'], reason: 'Whether a load balancer fronts the routers.' },
  {
    names: [
      ...[
        'connectTimeoutMS',
        'socketTimeoutMS',
        'serverSelectionTimeoutMS',
        'heartbeatFrequencyMS',
      ],
      ...['timeoutMS', 'waitQueueTimeoutMS', 'wtimeoutMS', 'maxIdleTimeMS', 'localThresholdMS'],
    ],
    reason: 'Timeouts. clustersync overrides most of them.',
  },
  {
    names: ['maxPoolSize', 'minPoolSize', 'maxConnecting'],
    reason: 'Connection pool sizes.',
  },
  { names: ['serverMonitoringMode'], reason: 'How the driver monitors servers.' },
  { names: ['compressors', 'zlibCompressionLevel'], reason: 'Compresses the connection.' },
  { names: ['appName'], reason: 'Accepted, but replaced by the name of the program.' },
  { names: ['retryReads', 'retryWrites'], reason: 'Whether the driver retries once immediately.' },
  {
    names: ['readPreference'],
    values: ['primary'],
    reason: 'All reads go to the primary.',
  },
  {
    names: ['readConcernLevel', 'w'],
    values: ['majority'],
    reason: 'Nothing that can be rolled back is read or counts as written.',
  },
  {
    names: ['journal', 'j'],
    values: ['true'],
    reason: 'A write is acknowledged once a majority has journaled it.',
  },
];

const groups = new Map(
  connectionOptionGroups.flatMap((group) => group.names.map((name) => [name.toLowerCase(), group])),
);

/** The option of a program that says whose files connection strings may name. */
export const connectionFileOptions = {
  connectionFiles: {
    type: 'string',
    choices: ['take', 'refuse'],
    default: 'take',
    description:
      'whether connection strings may name files, services and proxies, as tlsCAFile does: refuse in pods, which are not the machine of their author',
  },
} as const satisfies OptionTable;

/** Where a connection string is used. */
export interface ConnectionStringUse {
  /** What holds it, for errors: `--cluster0`. */
  readonly option: string;
  /** That is a pod, and not the machine of the one who wrote it: it may name no files, services and proxies there. */
  readonly refusesFiles: boolean;
}

/**
 * Looks at a connection string before the driver does: that opens files and asks others by what stands in it.
 * @throws SyncError InvalidOption, without the text, where it is none, or has an option that is not taken.
 */
export function checkConnectionString(
  uri: string,
  { option, refusesFiles }: ConnectionStringUse,
): void {
  const parsed = parseConnectionString(uri);
  if (!parsed) {
    throw new SyncError(
      'InvalidOption',
      `${option} cannot be read (mongodb://... is expected, with %40 for each @ in a password or an option)`,
    );
  }
  if (refusesFiles && parsed.hosts.some((host) => socketPath.test(host))) {
    throw new SyncError(
      'InvalidOption',
      `${option}: a host is the path of a socket, which is refused in pods: name the server by its host name or address`,
    );
  }
  for (const [name, value] of parsed.searchParams) {
    const group = groups.get(name.toLowerCase());
    // Not every name: what follows a ? in a password that nobody has escaped is no option.
    const shown =
      /^[A-Za-z]{1,40}$/.test(name) && !uri.includes('@', uri.indexOf('?')) ? name : 'an option';
    const refuse = (why: string): never => {
      throw new SyncError('InvalidOption', `${option}: ${shown} ${why}`);
    };
    if (!group) refuse('is not taken in a connection string');
    else if (group.ofMachine !== undefined && refusesFiles)
      refuse(`is refused in pods: ${group.ofMachine}`);
    else if (group.values) {
      const { values, machineValues = [] } = group;
      const taken = refusesFiles ? values : [...values, ...machineValues];
      const where = refusesFiles && machineValues.length > 0 ? ' in pods' : '';
      if (!taken.includes(value)) refuse(`must be ${taken.join(' or ')}${where}`);
    }
  }
}

/** The parser's work grows with the square of how many options there are: 12 s for 100,000. */
const maxLength = 8_192;

/** Servers of a set, or routers; a set has 50. */
const maxHosts = 100;

/**
 * What a connection string says; undefined for what is none, which includes one that is longer than any is, and one where the end of
 * a password may have been taken too early: of `user:pa@ss/word@host`, `ss` is no host, and may be called, looked up and told to
 * nobody.
 */
export function parseConnectionString(uri: string): ConnectionString | undefined {
  if (uri.length > maxLength) return undefined;
  try {
    const parsed = new ConnectionString(uri);
    return parsed.hosts.length > maxHosts || isAmbiguous(parsed) ? undefined : parsed;
  } catch {
    // The parser's message may quote the text, password and all.
    return undefined;
  }
}

/** What is before an `@` behind the hosts may belong to a password: in the value of an option it is written as %40. */
function isAmbiguous({ hosts, pathname, search, hash }: ConnectionString): boolean {
  // Without an @, a password is taken for a port, which the driver would repeat.
  if (!hosts.every((host) => hostAndPort.test(host))) return true;
  return [pathname, search, hash].some((part) => part.includes('@'));
}

/** What the driver takes for a path ends so (7.8.0); no host has a slash. */
const socketPath = /%2f|\.sock$/i;

const hostAndPort = /^(?:\[[^\]]+\]|[^:[\]#\s]+)(?::0{0,5}\d{1,5})?$/;
