import { SyncError } from '../service/errors.ts';
import { parseConnectionString } from './connection-options.ts';

export interface LoginRow {
  readonly type: 'string';
  readonly secret: true;
  readonly valueName: string;
  readonly description: string;
}

type LoginName<P extends string> = `${P}User` | `${P}Password`;

/**
 * The options of a program for a user and a password that the connection string does not have.
 * @param prefix - what their names begin with: `src` for `srcUser`.
 * @param whose - whose servers they are for: `cluster0`, `the source`.
 */
export function connectionLoginOptions<P extends string>(
  prefix: P,
  whose: string,
): Readonly<Record<LoginName<P>, LoginRow>> {
  const row = (valueName: string, description: string): LoginRow => {
    return { type: 'string', secret: true, valueName, description };
  };
  const table: Record<string, LoginRow> = {
    [`${prefix}User`]: row(
      'name',
      `user for ${whose}, if its connection string names none; not percent-encoded`,
    ),
    [`${prefix}Password`]: row('password', `password of that user; not percent-encoded`),
  };
  return table as Readonly<Record<LoginName<P>, LoginRow>>;
}

/** How a program spells the name of an option in errors. */
export type SpellOption = (name: string) => string;

/** A connection string, and the name of its option for errors: `cluster0`. */
export interface GivenString {
  readonly option: string;
  readonly uri: string;
  /** Default: as it is. */
  readonly spell?: SpellOption;
}

/**
 * A connection string with the user and the password of the options of {@link connectionLoginOptions}, percent-encoded; the same
 * string if there are none.
 * @throws SyncError InvalidOption if only one of them is given, or the connection string has a user of its own.
 */
export function withLogin<P extends string>(
  prefix: P,
  options: Readonly<Record<LoginName<P>, string | undefined>>,
  { option, uri, spell = (name) => name }: GivenString,
): string {
  const [user, password] = [options[`${prefix}User`], options[`${prefix}Password`]];
  if (user === undefined && password === undefined) return uri;
  if (user === undefined || password === undefined) {
    const [missing, given] = user === undefined ? ['User', 'Password'] : ['Password', 'User'];
    throw new SyncError(
      'InvalidOption',
      `--${spell(`${prefix}${given}`)} requires --${spell(`${prefix}${missing}`)}`,
    );
  }
  const userOption = `--${spell(`${prefix}User`)}`;
  if (user === '') throw new SyncError('InvalidOption', `${userOption} is empty`);
  const parsed = parseConnectionString(uri);
  // Those who use it report what is wrong with it.
  if (!parsed) return uri;
  if (parsed.username !== '') {
    const problem = `the connection string names a user, and ${userOption} is given: omit one of them`;
    throw new SyncError('InvalidOption', `--${option}: ${problem}`);
  }
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return uri.replace(/^mongodb(?:\+srv)?:\/\//, (scheme) => `${scheme}${login}`);
}
