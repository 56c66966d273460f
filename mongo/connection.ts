import { connectionLoginOptions, withLogin, type GivenString } from './connection-login.ts';
import { connectionTlsOptions, readConnectionTls, type ConnectionTls } from './connection-tls.ts';

/** How the servers of a deployment are reached. */
export interface Connection {
  /** With the user and the password, wherever they were given. */
  readonly uri: string;
  /** Undefined: as the connection string says. */
  readonly tls?: ConnectionTls | undefined;
}

/**
 * The options of a program for what a connection needs besides its connection string.
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
