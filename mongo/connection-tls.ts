import { pairProblem, validities } from '../service/certificate.ts';
import { SyncError } from '../service/errors.ts';
import type { OptionTable } from '../service/options.ts';
import { readTextFile } from '../service/text-file.ts';
import { parseConnectionString } from './connection-options.ts';
import type { SpellOption } from './connection-login.ts';

/** What a connection is verified and authenticated by, apart from its connection string: as node:tls calls it. */
export interface ConnectionTls {
  /** The only authorities that are trusted, in PEM; those that Node.js includes if absent. */
  readonly ca?: string;
  /** Of this program, with intermediate certificates, in PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** What the certificates of all servers must be valid for, and what is sent to them (SNI); the name of each host if absent. */
  readonly servername?: string;
}

export interface TlsRow {
  readonly type: 'string';
  readonly valueName: 'file' | 'name';
  readonly description: string;
}

type FileName<P extends string> = `${P}CaFile` | `${P}CertificateFile` | `${P}KeyFile`;
type TlsName<P extends string> = FileName<P> | `${P}ServerName`;

/**
 * The options of a program for {@link ConnectionTls} of a connection string.
 * @param prefix - what their names begin with: `cluster0` for `cluster0CaFile`.
 * @param whose - whose servers they are for: `cluster0`, `the source`.
 */
export function connectionTlsOptions<P extends string>(
  prefix: P,
  whose: string,
): Readonly<Record<TlsName<P>, TlsRow>> {
  const row = (description: string, valueName: TlsRow['valueName'] = 'file'): TlsRow => ({
    type: 'string',
    valueName,
    description,
  });
  const table = {
    [`${prefix}CaFile`]: row(
      `certificate authorities that sign the certificates of ${whose}, instead of those that Node.js includes: TLS is used`,
    ),
    [`${prefix}CertificateFile`]: row(`client certificate for ${whose}: TLS is used`),
    [`${prefix}KeyFile`]: row(`private key of the client certificate for ${whose}`),
    [`${prefix}ServerName`]: row(
      `name that the certificates of ${whose} must be valid for, instead of the names of the hosts: TLS is used`,
      'name',
    ),
  } satisfies OptionTable;
  return table as Readonly<Record<TlsName<P>, TlsRow>>;
}

/**
 * Reads the options of {@link connectionTlsOptions}, and the files that they name; undefined if there are none.
 * @throws SyncError InvalidOption if one cannot be read, is not what its option asks for, or is given without the other.
 */
export function readConnectionTls<P extends string>(
  prefix: P,
  options: Readonly<Record<TlsName<P>, string | undefined>>,
  spell: SpellOption = (name) => name,
): ConnectionTls | undefined {
  const flag = (name: string): string => `--${spell(`${prefix}${name}`)}`;
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
      `${flag('CaFile')}: the file is not, or not only, PEM certificates`,
    );
  }
  const servername = options[`${prefix}ServerName`];
  if (servername !== undefined && !isDnsName(servername)) {
    throw new SyncError('InvalidOption', `${flag('ServerName')}: expected a DNS name`);
  }
  const tls = {
    ...(ca !== undefined && { ca }),
    ...clientCertificate(flag, cert, key),
    ...(servername !== undefined && { servername }),
  };
  return Object.keys(tls).length === 0 ? undefined : tls;
}

/** No address, which cannot be sent to a server: the last label has a letter. */
function isDnsName(text: string): boolean {
  const labels = text.split('.');
  return (
    text.length <= 253 &&
    labels.every((label) => /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/i.test(label)) &&
    /[a-z]/i.test(labels.at(-1) ?? '')
  );
}

function clientCertificate(
  flag: (name: string) => string,
  cert: string | undefined,
  key: string | undefined,
): Pick<ConnectionTls, 'cert' | 'key'> {
  if (cert === undefined && key === undefined) return {};
  if (cert === undefined || key === undefined) {
    const [certificateFlag, keyFlag] = [flag('CertificateFile'), flag('KeyFile')];
    const [missing, given] =
      cert === undefined ? [certificateFlag, keyFlag] : [keyFlag, certificateFlag];
    throw new SyncError('InvalidOption', `${given} requires ${missing}`);
  }
  const problem = pairProblem(cert, key);
  if (problem !== undefined) {
    const description = `the certificate cannot be used with ${flag('KeyFile')}: ${problem}`;
    throw new SyncError('InvalidOption', `${flag('CertificateFile')}: ${description}`);
  }
  return { cert, key };
}

/** Options of a connection string, in lower case, that turn TLS off; the driver (7.8) would refuse them in other words. */
const turnedOff: readonly string[] = ['tls', 'ssl'];

/** Those by which the driver accepts any certificate, whatever authorities it is given. */
const acceptingAll: readonly string[] = ['tlsinsecure', 'tlsallowinvalidcertificates'];

/** Those by which it accepts any name in one. */
const acceptingNames: readonly string[] = [...acceptingAll, 'tlsallowinvalidhostnames'];

/**
 * Makes sure that a connection string does not turn off what certificates or a server name are given for.
 * @throws SyncError InvalidOption.
 */
export function checkUsesTls(
  uri: string,
  option: string,
  { ca, cert, servername }: ConnectionTls,
): void {
  for (const [name, value] of parseConnectionString(uri)?.searchParams ?? []) {
    const spelling = name.toLowerCase();
    const isOff = turnedOff.includes(spelling) && value === 'false';
    const isCaMoot = ca !== undefined && acceptingAll.includes(spelling) && value === 'true';
    const isNameMoot =
      servername !== undefined && acceptingNames.includes(spelling) && value === 'true';
    if (!isOff && !isCaMoot && !isNameMoot) continue;
    const given =
      isCaMoot || (isOff && (ca ?? cert) !== undefined)
        ? 'certificates that are'
        : 'server name that is';
    const problem = `${name}=${value} contradicts the ${given} given: omit one of them`;
    throw new SyncError('InvalidOption', `${option}: ${problem}`);
  }
}
