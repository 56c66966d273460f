import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { issueCertificate, type IssuedCertificate } from '../certificates.ts';
import type { ReplicaSet, ReplicaSetOptions } from './replica-set.ts';
import { syncerRoles } from './users.ts';

/** How servers offer TLS to clients that have a certificate. */
export interface ServerTls {
  /** Of the servers. */
  readonly served: IssuedCertificate;
  /** Of a client, by another authority. */
  readonly client: IssuedCertificate;
  /** For the start of a replica set. Clients without TLS are served, too: those of the tests. */
  readonly options: Required<Pick<ReplicaSetOptions, 'args' | 'parameters'>>;
}

/**
 * Issues the certificates.
 * @param folder - takes the files of the servers.
 * @param names - by which the servers are reached.
 */
export async function issueServerTls(
  folder: string,
  ...names: readonly string[]
): Promise<ServerTls> {
  const [served, client] = await Promise.all([
    issueCertificate(...names),
    issueCertificate('client'),
  ]);
  const certificate = join(folder, 'server.pem');
  const authorities = join(folder, 'authorities.pem');
  await writeFile(certificate, served['tls.crt'] + served['tls.key'], { mode: 0o600 });
  // Members are clients of each other.
  await writeFile(authorities, served['ca.crt'] + client['ca.crt']);
  const parameters = { authenticationMechanisms: 'SCRAM-SHA-256,MONGODB-X509' };
  const args = [
    ...['--tlsMode', 'preferTLS', '--tlsCertificateKeyFile', certificate],
    ...['--tlsCAFile', authorities],
  ];
  return { served, client, options: { args, parameters } };
}

/**
 * Makes a syncer's user of the client's certificate.
 * @returns a connection string for it, which names no user: the certificate does.
 */
export async function createCertificateUser(set: ReplicaSet): Promise<string> {
  await using admin = new MongoClient(set.uri('admin'));
  const roles = syncerRoles.sourceWithWriteBlocking.map((role) => ({ role, db: 'admin' }));
  // The subject of the certificates of tests.
  const user = 'CN=server of the tests';
  await admin.db('$external').command({ createUser: user, roles });
  return `${uriWithoutUser(set)}?authMechanism=MONGODB-X509`;
}

/** A connection string that names no user, and has no options yet. */
export function uriWithoutUser({ members }: Pick<ReplicaSet, 'members'>): string {
  return `mongodb://${members.map(({ address }) => address).join()}/`;
}
