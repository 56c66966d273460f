import { connectionLoginOptions, withLogin, type GivenString } from './connection-login.ts';
import { checkConnectionString } from './connection-options.ts';
import {
  checkUsesTls,
  connectionTlsOptions,
  readConnectionTls,
  type ConnectionTls,
} from './connection-tls.ts';

/** How the servers of a deployment are reached. */
export interface Connection {
  /** With the user and the password, wherever they were given. */
  readonly uri: string;
  /** Undefined: as the connection string says. */
  readonly tls?: ConnectionTls | undefined;
}

/**
 * Makes sure that a connection string is acceptable, and does not contradict what is given beside it.
 * @param asked - the name of the connection string in errors, and whether it may name files, services and proxies.
 * @throws SyncError InvalidOption.
 */
export function checkConnection(
  { uri, tls }: Connection,
  asked: { readonly option: string; readonly refusesFiles: boolean },
): void {
  checkConnectionString(uri, asked);
  if (tls) checkUsesTls(uri, asked.option, tls);
}

/** Settings of the driver: TLS is used if anything is given for it. */
export function tlsSettings({ tls }: Connection) {
  return tls && { tls: true, ...tls };
}

/**
 * The options of a program for what a connection needs in addition to its connection string.
 * @param prefix - what their names begin with: `src` for `srcUser` and `srcCaFile`.
 * @param whose - whose servers they are for: `cluster0`, `the source`.
 */
export function connectionOptions<P extends string>(prefix: P, whose: string) {
  return { ...connectionLoginOptions(prefix, whose), ...connectionTlsOptions(prefix, whose) };
}

/** What a program was given by the options of {@link connectionOptions}. */
export type GivenConnection<P extends string> = Readonly<
  Record<keyof ReturnType<typeof connectionOptions<P>>, string | undefined>
>;

/**
 * The connection of a connection string and the options of {@link connectionOptions}.
 * @throws SyncError InvalidOption if an option contradicts another one, or names a file that cannot be used.
 */
export function connectionOf<P extends string>(
  prefix: P,
  options: GivenConnection<P>,
  given: GivenString,
): Connection {
  return {
    uri: withLogin(prefix, options, given),
    tls: readConnectionTls(prefix, options, given.spell),
  };
}
