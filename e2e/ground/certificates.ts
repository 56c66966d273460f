import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { run } from './command.ts';
import { createGuardedFolder } from './guarded-folder.ts';

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'] as const;

/** A certificate and its key, and the authority that has signed it: what a Secret of type kubernetes.io/tls holds. PEM. */
export interface IssuedCertificate {
  readonly 'tls.crt': string;
  readonly 'tls.key': string;
  readonly 'ca.crt': string;
}

/** Has a new authority sign a certificate for names of DNS and addresses. */
export async function issueCertificate(...names: readonly string[]): Promise<IssuedCertificate> {
  await using folder = await createGuardedFolder();
  const path = (file: string): string => join(folder.path, file);
  const make = async (file: string, args: readonly string[]): Promise<void> => {
    const out = ['-keyout', path(`${file}.key`), '-out', path(`${file}.crt`), '-days', '1'];
    await run('openssl', ['req', '-x509', ...newKey, ...out, ...args]);
  };
  await make('ca', ['-subj', '/CN=authority of the tests']);
  await make('tls', [
    ...['-CA', path('ca.crt'), '-CAkey', path('ca.key'), '-subj', '/CN=server of the tests'],
    ...[
      '-addext',
      `subjectAltName=${names.map((name) => `${isIP(name) ? 'IP' : 'DNS'}:${name}`).join(',')}`,
    ],
    ...['-addext', 'basicConstraints=critical,CA:FALSE'],
  ]);
  const read = async (file: string): Promise<string> => await readFile(path(file), 'utf8');
  return {
    'tls.crt': await read('tls.crt'),
    'tls.key': await read('tls.key'),
    'ca.crt': await read('ca.crt'),
  };
}
