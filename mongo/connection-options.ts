import { ConnectionString } from 'mongodb-connection-string-url';
import { SyncError } from '../service/errors.ts';
import { secretOption } from '../service/redact.ts';
import type { OptionTable } from '../service/options.ts';
import { compressors, isCompressor, type Compressor } from './compressors.ts';

/** What an option of a connection string can do, and why it is allowed. */
interface OptionGroup {
  readonly reason: string;
  /** As spelt in the documentation; case does not matter. */
  readonly names: readonly string[];
  /** The accepted values; any if absent. */
  readonly values?: readonly string[];
  /** The value is a list, of which at least one must be among these. */
  readonly items?: readonly string[];
  /** Additional values that are accepted like an option that affects the machine. */
  readonly machineValues?: readonly string[];
  /** What it makes the connecting machine do; in a pod that is not the machine of the person who wrote it. */
  readonly ofMachine?: string;
}

/**
 * All accepted options of connection strings. Any other is refused: the author of a connection string is not always the person
 * on whose machine, and with whose rights, the driver opens files, requests tokens from services, or calls other hosts.
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
      'it names a file in the pod, not on your machine. Omit it, and name the certificates in Secrets: tls of spec.source and spec.destination',
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
  {
    names: ['compressors'],
    items: [...compressors, 'none'],
    reason:
      'Compresses the connection, by the first of these that the server accepts. Others in the list are ignored.',
  },
  { names: ['zlibCompressionLevel'], reason: 'How hard `zlib` tries.' },
  { names: ['appName'], reason: 'Accepted, but replaced by the name of the program.' },
  { names: ['retryReads', 'retryWrites'], reason: 'Whether the driver retries once immediately.' },
  {
    names: ['readPreference'],
    values: ['primary'],
    reason:
      'Reads go to the primary; only those of documents by a verification go where its own option `readPreference` says.',
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
  /** Its name in errors: `--cluster0`. */
  readonly option: string;
  /**
   * True in a pod, which is not the machine of the author: the connection string may name no files, services and proxies there.
   */
  readonly refusesFiles: boolean;
}

/**
 * Checks a connection string before the driver reads it: the driver opens files and contacts others as the string says.
 * @throws SyncError InvalidOption, without the text, if it is not a connection string, or has an option that is not accepted.
 */
export function checkConnectionString(
  uri: string,
  { option, refusesFiles }: ConnectionStringUse,
): void {
  const parsed = parseConnectionString(uri);
  if (!parsed) {
    throw new SyncError(
      'InvalidOption',
      `${option} cannot be read (mongodb://... is expected, with %40 for each @ and %20 for each blank in a password or an option)`,
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
    // Not every name: text after a ? in a password that was not escaped is not an option.
    const shown =
      /^[A-Za-z]{1,40}$/.test(name) && !uri.includes('@', uri.indexOf('?')) ? name : 'an option';
    const refuse = (why: string): never => {
      throw new SyncError('InvalidOption', `${option}: ${shown} ${why}`);
    };
    if (!group) refuse('is not taken in a connection string');
    else if (group.ofMachine !== undefined && refusesFiles)
      refuse(`is refused in pods: ${group.ofMachine}`);
    else if (group.items && !group.items.some((item) => value.split(',').includes(item)))
      refuse(`must name ${group.items.join(' or ')}`);
    else if (group.values) {
      const { values, machineValues = [] } = group;
      const taken = refusesFiles ? values : [...values, ...machineValues];
      const where = refusesFiles && machineValues.length > 0 ? ' in pods' : '';
      if (!taken.includes(value)) refuse(`must be ${taken.join(' or ')}${where}`);
    }
  }
}

/** The compressors of a connection string that are included, in its order; undefined if it names none. */
export function compressorsIn(uri: string): Compressor[] | undefined {
  // Names of options are found in any case.
  const named = parseConnectionString(uri)?.searchParams.get('compressors');
  return named?.split(',').filter(isCompressor);
}

/** The parser's work grows with the square of the number of options: 12 s for 100,000. */
const maxLength = 8_192;

/** Servers of a set, or routers; a set has 50. */
const maxHosts = 100;

/**
 * The parts of a connection string; undefined for anything else, including one that is too long, and one where the end of a
 * password may have been found too early: in `user:pa@ss/word@host`, `ss` is not a host, and must not be called, looked up or
 * shown to anybody. Neither is one whose password has white space or a double quotation mark, at which a URI in a text ends: it
 * would not be redacted there. All of these are written with `%`.
 */
export function parseConnectionString(uri: string): ConnectionString | undefined {
  if (uri.length > maxLength) return undefined;
  try {
    const parsed = new ConnectionString(uri);
    if (parsed.hosts.length > maxHosts || isAmbiguous(parsed)) return undefined;
    const secrets = [uri.slice(0, uri.lastIndexOf('@') + 1), ...(uri.match(secretOption) ?? [])];
    return secrets.some((text) => /[\s"]/.test(text)) ? undefined : parsed;
  } catch {
    // The parser's message may quote the text, password and all.
    return undefined;
  }
}

/** Text before an `@` after the hosts may belong to a password: in the value of an option it is written as %40. */
function isAmbiguous({ hosts, pathname, search, hash }: ConnectionString): boolean {
  // Without an @, a password is parsed as a port, which the driver would repeat.
  if (!hosts.every((host) => hostAndPort.test(host))) return true;
  return [pathname, search, hash].some((part) => part.includes('@'));
}

/** The driver (7.8.0) takes this for a path; no host has a slash. */
const socketPath = /%2f|\.sock$/i;

const hostAndPort = /^(?:\[[^\]]+\]|[^:[\]#\s]+)(?::0{0,5}\d{1,5})?$/;
