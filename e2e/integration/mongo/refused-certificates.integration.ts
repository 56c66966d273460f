import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { askTopology } from '../../../mongo/topology.ts';
import { createAuthority, type CertificateAuthority } from '../../ground/certificate-authority.ts';
import { CliProcess } from '../../ground/cli-process.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { startMongod } from '../../ground/mongod/mongod-process.ts';
import { until } from '../../ground/until.ts';

/** The certificate expires while its server runs, as in practice: after this time, which is enough for the start. */
const startMs = 30_000;

describe('a server with a certificate that is refused', () => {
  let folder: GuardedFolder;
  let authority: CertificateAuthority;

  before(async () => {
    folder = await createGuardedFolder();
    const path = join(folder.path, 'authority');
    await mkdir(path);
    authority = await createAuthority(path);
  });
  after(async () => {
    await folder.remove();
  });

  /** @returns a connection string of a server with this certificate. */
  async function serving(name: string, certificate: string): Promise<string> {
    const tls = ['--tlsMode', 'preferTLS', '--tlsCertificateKeyFile', certificate];
    const { port } = await startMongod({
      ...{ side: 'source', folder, name },
      args: [
        ...tls,
        '--tlsAllowConnectionsWithoutCertificates',
        '--tlsCAFile',
        authority.certificate,
      ],
      signal: AbortSignal.timeout(60_000),
    });
    return `mongodb://localhost:${port}/?tls=true&tlsCAFile=${authority.certificate}`;
  }

  async function answerOf(uri: string): Promise<string> {
    try {
      const asker = { appName: 'test', refusesFiles: false };
      const { setName } = await askTopology({ uri }, asker, AbortSignal.timeout(60_000));
      return `it is of ${setName}`;
    } catch (error) {
      return String(error);
    }
  }

  it('says that it has expired, and what to do', async () => {
    const ends = new Date(Date.now() + startMs);
    const uri = await serving('expired', await authority.issue('expired', ends));
    assert.match(await answerOf(uri), /is not a member of a replica set/, 'before');
    await until('it has expired', () => Date.now() > ends.getTime() + 1_000);
    const expected =
      /certificate has expired: renew the certificate of the server, or of its authority/;
    assert.match(await answerOf(uri), expected);
    const connections = ['--source-file', '{uri}', '--destination-file', '{uri}'];
    await using cli = await CliProcess.start(['check', ...connections], { files: { uri } });
    assert.equal((await cli.end()).exitCode, 1);
    const output = await cli.output();
    for (const side of ['source', 'destination'])
      assert.match(output, new RegExp(`the ${side} cannot be reached: ${expected.source}`));
  });

  it('says that it is revoked, and what to do', async () => {
    const certificate = await authority.issue('revoked', new Date(Date.now() + 3_600_000));
    const uri = await serving('revoked', certificate);
    assert.match(await answerOf(uri), /is not a member of a replica set/, 'without a list');
    const list = await authority.revoke(certificate);
    assert.match(
      await answerOf(`${uri}&tlsCRLFile=${list}`),
      /^ClusterUnreachable: certificate revoked: replace the certificate of the server: its authority has revoked it$/,
    );
  });
});
