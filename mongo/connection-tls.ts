import { pairProblem, validities } from '../service/certificate.ts';
import { SyncError } from '../service/errors.ts';
import type { OptionTable } from '../service/options.ts';
import { readTextFile } from '../service/text-file.ts';
import { parseConnectionString } from './connection-options.ts';
import type { SpellOption } from './connection-login.ts';

/** What a connection is verified and authenticated by, besides what its connection string says. PEM. */
export interface ConnectionTls {
  /** The only authorities that are trusted; those that Node.js includes if absent. */
  readonly ca?: string;
  /** Of this program, with intermediate certificates. */
  readonly cert?: string;
  readonly key?: string;
}

interface FileRow {
  readonly type: 'string';
  readonly valueName: 'file';
  readonly description: string;
}

type FileName<P extends string> = `${P}CaFile` | `${P}CertificateFile` | `${P}KeyFile`;

/**
 * The options of a program that name the files of {@link ConnectionTls} for a connection string.
 * @param prefix - what their names begin with: `cluster0` for `cluster0CaFile`.
 * @param whose - whose servers they are for: `cluster0`, `the source`.
 */
export function connectionTlsOptions<P extends string>(
  prefix: P,
  whose: string,
): Readonly<Record<FileName<P>, FileRow>> {
  const row = (description: string): FileRow => ({
    type: 'string',
    valueName: 'file',
    description,
  });
  const table = {
    [`${prefix}CaFile`]: row(
      `certificate authorities that sign the certificates of ${whose}, instead of those that Node.js includes: TLS is used`,
    ),
    [`${prefix}CertificateFile`]: row(`client certificate for ${whose}: TLS is used`),
    [`${prefix}KeyFile`]: row(`private key of the client certificate for ${whose}`),
  } satisfies OptionTable;
  return table as Readonly<Record<FileName<P>, FileRow>>;
}

/**
 * Reads the files that the options of {@link connectionTlsOptions} name; undefined if they name none.
 * @throws SyncError InvalidOption if one cannot be read, is not what its option asks for, or is given without the other.
 */
export function readConnectionTls<P extends string>(
  prefix: P,
  options: Readonly<Record<FileName<P>, string | undefined>>,
  spell: SpellOption = (name) => name,
): ConnectionTls | undefined {
  const flag = (name: 'Ca' | 'Certificate' | 'Key'): string => `--${spell(`${prefix}${name}File`)}`;
  const read = (name: FileName<P>): string | undefined => {
    const path = options[name];
    return path === undefined ? undefined : readTextFile({ path, option: `--${spell(name)}` });
  };
  const [ca, cert, key] = [
    read(`${prefix}CaFile`),
    read(`${prefix}CertificateFile`),
    read(`${prefix}KeyFile`),
  ];
  if (ca !== undefined && !validities(ca)) {
    throw new SyncError(
      'InvalidOption',
      `${flag('Ca')}: the file is not, or not only, PEM certificates`,
    );
  }
  if (cert === undefined && key === undefined) return ca === undefined ? undefined : { ca };
  if (cert === undefined || key === undefined) {
    const [missing, given] =
      cert === undefined ? (['Certificate', 'Key'] as const) : (['Key', 'Certificate'] as const);
    throw new SyncError('InvalidOption', `${flag(given)} requires ${flag(missing)}`);
  }
  const problem = pairProblem(cert, key);
  if (problem !== undefined) {
    const description = `the certificate cannot be used with ${flag('Key')}: ${problem}`;
    throw new SyncError('InvalidOption', `${flag('Certificate')}: ${description}`);
  }
  return { ...(ca !== undefined && { ca }), cert, key };
}

/** Options of a connection string, in lower case, that turn TLS off; the driver (7.8) would refuse them in other words. */
const turnedOff: readonly string[] = ['tls', 'ssl'];

/** Those by which the driver accepts any certificate, whatever authorities it is given. */
const acceptingAll: readonly string[] = ['tlsinsecure', 'tlsallowinvalidcertificates'];

/**
 * Makes sure that a connection string does not turn off what certificates are given for.
 * @throws SyncError InvalidOption.
 */
export function checkUsesTls(uri: string, option: string, { ca }: ConnectionTls): void {
  for (const [name, value] of parseConnectionString(uri)?.searchParams ?? []) {
    const spelling = name.toLowerCase();
    const isOff = turnedOff.includes(spelling) && value === 'false';
    const isMoot = ca !== undefined && acceptingAll.includes(spelling) && value === 'true';
    if (!isOff && !isMoot) continue;
    const problem = `${name}=${value} contradicts the certificates that are given: omit one of them`;
    throw new SyncError('InvalidOption', `${option}: ${problem}`);
  }
}
