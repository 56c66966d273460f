import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './command.ts';

/** What is refused later: an authority that ends its certificates early, and revokes them. */
export interface CertificateAuthority {
  /** Path of its certificate, PEM. */
  readonly certificate: string;
  /** @returns the path of a file with a certificate for localhost and its key, as a mongod takes it. */
  issue(name: string, ends: Date): Promise<string>;
  /** @returns the path of a list with what it has revoked: this one. */
  revoke(issued: string): Promise<string>;
}

/** Creates an authority whose files are in a folder that has no other. */
export async function createAuthority(folder: string): Promise<CertificateAuthority> {
  const path = (file: string): string => join(folder, file);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const [certificate, config] = [path('authority.crt'), path('authority.cnf')];
  const subject = ['-subj', '/CN=authority of the tests', '-days', '1'];
  const files = ['-keyout', path('authority.key'), '-out', certificate];
  await run('openssl', ['req', '-x509', ...newKey, ...files, ...subject]);
  await writeFile(path('index.txt'), '');
  const settings = {
    database: path('index.txt'),
    new_certs_dir: folder,
    certificate,
    private_key: path('authority.key'),
    default_md: 'sha256',
    default_crl_days: '1',
    policy: 'any',
    rand_serial: 'yes',
    unique_subject: 'no',
    x509_extensions: 'server',
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${value}`);
  const policy = '[any]\ncommonName = supplied';
  const server = '[server]\nsubjectAltName = DNS:localhost\nbasicConstraints = critical,CA:FALSE';
  await writeFile(config, ['[ca]\ndefault_ca = here\n[here]', ...lines, policy, server].join('\n'));
  const ca = async (...args: readonly string[]): Promise<void> => {
    await run('openssl', ['ca', '-batch', '-notext', '-config', config, ...args]);
  };
  return {
    certificate,
    async issue(name, ends) {
      const [request, key] = [path(`${name}.csr`), path(`${name}.key`)];
      const asked = ['-keyout', key, '-out', request, '-subj', `/CN=${name}`];
      await run('openssl', ['req', ...newKey, ...asked]);
      const issued = path(`${name}.crt`);
      await ca('-in', request, '-out', issued, '-enddate', openSslTime(ends));
      const together = path(`${name}.pem`);
      const texts = [await readFile(issued, 'utf8'), await readFile(key, 'utf8')];
      await writeFile(together, texts.join(''), { mode: 0o600 });
      return together;
    },
    async revoke(issued) {
      const list = path('revoked.crl');
      await ca('-revoke', issued);
      await ca('-gencrl', '-out', list);
      return list;
    },
  };
}

/** Such as 20261129185500Z. */
function openSslTime(time: Date): string {
  return `${time.toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
}
