import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { join } from 'node:path';
import { writeFile } from 'node:fs/promises';
import { MongoClient } from 'mongodb';
import { connectCluster, createClusterClient } from '../../../mongo/cluster-client.ts';
import type { Connection } from '../../../mongo/connection.ts';
import { askTopology } from '../../../mongo/topology.ts';
import type { CheckFinding } from '../../../sync-api/json.ts';
import { issueCertificate } from '../../ground/certificates.ts';
import { CliProcess } from '../../ground/cli-process.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { startMongod } from '../../ground/mongod/mongod-process.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import { issueServerTls, type ServerTls } from '../../ground/mongod/server-tls.ts';
import { startSyncerProcess } from '../../ground/syncer-process.ts';
import { until } from '../../ground/until.ts';
import { VerifierProcess } from '../../ground/verifier-process.ts';

describe('a deployment that cannot be connected to', () => {
  let folder: GuardedFolder;
  let plain: ReplicaSet;
  let secure: ReplicaSet;
  let tls: ServerTls;
  let alonePort = 0;
  let closedPort = 0;
  const servers: Server[] = [];
  const answers = new Map<string, Promise<readonly string[]>>();

  async function listen(server: Server): Promise<number> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  before(async () => {
    folder = await createGuardedFolder();
    tls = await issueServerTls(folder.path, 'localhost');
    const secureHost = { name: 'secure', advertisedHost: 'localhost' };
    [plain, secure] = await Promise.all([
      startReplicaSet({ members: 3, name: 'plain' }),
      startReplicaSet({ members: 1, ...secureHost, ...tls.options }),
    ]);
    await using admin = new MongoClient(secure.uri('admin'));
    await admin.db('admin').command({ setParameter: 1, tlsMode: 'requireTLS' });
    const [name, signal] = ['alone', AbortSignal.timeout(60_000)];
    const alone = await startMongod({ side: 'source', folder, name, args: [], signal });
    alonePort = alone.port;
    const nobody = createServer();
    closedPort = await listen(nobody);
    nobody.close();
    // Each takes as long as servers are looked for.
    for (const [what, , given] of cases) {
      const answer = Promise.resolve(given()).then(answersOf);
      answers.set(what, answer);
      answer.catch(() => undefined);
    }
  });
  after(async () => {
    for (const server of servers) server.close();
    await Promise.all([plain.stop(), secure.stop()]);
    await folder.remove();
  });

  /** What a program says that asks it for its topology, and one that stays connected to it. */
  async function answersOf(connection: Connection): Promise<readonly string[]> {
    const soon = AbortSignal.timeout(60_000);
    const connecting = async (): Promise<void> => {
      await using cluster = createClusterClient({
        ...{ ...connection, option: 'cluster0', appName: 'test' },
        serverSelectionTimeoutMs: 10_000,
      });
      await connectCluster(cluster, soon);
    };
    const asked = await Promise.allSettled([
      askTopology(connection, { appName: 'test', refusesFiles: false }, soon),
      connecting(),
    ]);
    return asked.map((one) => (one.status === 'rejected' ? String(one.reason) : 'connected'));
  }

  const wrongSet = (): string => plain.uri('syncer').replace('replicaSet=plain', 'replicaSet=old');
  const authority = (): string => tls.served['ca.crt'];

  const cases: readonly (readonly [
    what: string,
    expected: RegExp,
    given: () => Connection | Promise<Connection>,
  ])[] = [
    [
      'by the name of another replica set',
      /^ClusterUnreachable: 127\.0\.0\.1:\d+ is a member of the replica set plain, and the connection string expects replicaSet=old: correct it, or the hosts$/,
      () => ({ uri: wrongSet() }),
    ],
    [
      'by the name of a replica set, though it is a standalone server',
      /^ClusterUnreachable: 127\.0\.0\.1:\d+ is not a member of a replica set, and the connection string expects replicaSet=old: correct the hosts, or make a standalone server a replica set$/,
      () => ({ uri: `mongodb://127.0.0.1:${alonePort}/?replicaSet=old` }),
    ],
    [
      'by TLS, which it does not use',
      /^ClusterUnreachable: Client network socket disconnected before secure TLS connection was established: if the server does not use TLS, omit tls, .+; otherwise its log says why/,
      () => ({ uri: plain.uri('syncer', { tls: 'true' }) }),
    ],
    [
      'without TLS, which it requires',
      /^ClusterUnreachable: localhost:\d+ has closed the connection before it answered, and its log says why\. If it serves TLS only, use TLS: tls of the ClusterSync, tls=true/,
      () => ({ uri: secure.uri('syncer') }),
    ],
    [
      'without a certificate, which it asks for',
      /^ClusterUnreachable: localhost:\d+ has closed the connection .+\. If it asks for a certificate of the client, name one: in tls\.clientCertificateSecretRef/,
      () => ({ uri: secure.uri('syncer'), tls: { ca: authority() } }),
    ],
    [
      'by a certificate of an authority that it does not know',
      /^ClusterUnreachable: localhost:\d+ has closed the connection .+\. If it does not accept the certificate of the client, use one that is valid/,
      async () => {
        const { 'tls.crt': cert, 'tls.key': key } = await issueCertificate('client');
        return { uri: secure.uri('syncer'), tls: { ca: authority(), cert, key } };
      },
    ],
    [
      'at a host that there is not',
      /^ClusterUnreachable: getaddrinfo ENOTFOUND no-such-host\.invalid: correct the host in the connection string, or let DNS resolve it here$/,
      () => ({ uri: 'mongodb://no-such-host.invalid/?replicaSet=plain' }),
    ],
    [
      'by an SRV record that there is not',
      /^ClusterUnreachable: querySrv ENOTFOUND _mongodb\._tcp\.no-such\.host\.invalid: correct the host of mongodb\+srv/,
      () => ({ uri: 'mongodb+srv://no-such.host.invalid/' }),
    ],
    [
      'at a port that nobody listens on',
      /^ClusterUnreachable: connect ECONNREFUSED 127\.0\.0\.1:\d+: correct host and port in the connection string, or start the server/,
      () => ({ uri: `mongodb://127.0.0.1:${closedPort}/` }),
    ],
    [
      'at both addresses of a name',
      /^ClusterUnreachable: .*ECONNREFUSED.*: correct host and port in the connection string, or start the server/,
      () => ({ uri: `mongodb://localhost:${closedPort}/` }),
    ],
    [
      'where something else answers',
      /^ClusterUnreachable: wrong version number: the server does not use TLS/,
      async () => {
        const web = createServer((socket) => {
          socket.on('error', () => undefined);
          socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
        });
        servers.push(web);
        return { uri: `mongodb://127.0.0.1:${await listen(web)}/?tls=true` };
      },
    ],
    [
      'where nothing answers',
      /^ClusterUnreachable: 127\.0\.0\.1:\d+: no answer\. Correct host and port, or let what is between/,
      async () => {
        const silent = createServer((socket) => socket.resume());
        servers.push(silent);
        return { uri: `mongodb://127.0.0.1:${await listen(silent)}/` };
      },
    ],
  ];
  for (const [what, expected] of cases) {
    it(`${what}: the error says what to do`, async () => {
      for (const answer of (await answers.get(what)) ?? ['']) assert.match(answer, expected);
    });
  }

  it('of which there is only a secondary: the error says so', async () => {
    const primary = await plain.primary();
    const secondary = plain.members.find((member) => member !== primary);
    assert.ok(secondary);
    const [answer] = await answersOf({ uri: plain.directUri('syncer', secondary) });
    assert.match(
      String(answer),
      /^ClusterUnreachable: .+ is not the primary \(that is .+\), and directConnection=true leads to no other member: omit it$/,
    );
  });

  describe('is named, with the reason,', () => {
    const reason = /127\.0\.0\.1:\d+ is a member of the replica set plain, and .* replicaSet=old/;

    it('by clustersync check', async () => {
      await writeFile(join(folder.path, 'ca.crt'), authority());
      const ca = ['--destination-ca-file', join(folder.path, 'ca.crt'), '--output', 'json'];
      const files = { source: wrongSet(), destination: secure.uri('syncer') };
      const connections = ['--source-file', '{source}', '--destination-file', '{destination}'];
      await using cli = await CliProcess.start(['check', ...connections, ...ca], { files });
      assert.equal((await cli.end()).exitCode, 1, await cli.errors());
      const { findings } = JSON.parse(await cli.output()) as { findings: readonly CheckFinding[] };
      const [source, destination] = findings.map(({ message }) => message);
      assert.match(String(source), new RegExp(`^the source cannot be reached: ${reason.source}`));
      assert.match(String(destination), /^the destination cannot be reached: .+ asks for a cert/);
    });

    it('by a syncer', async () => {
      await using syncer = await startSyncerProcess({
        ...{ cluster0: plain.uri('syncer'), cluster1: wrongSet(), until: 'listening' },
      });
      let said = '';
      await until('it says why', async () => {
        said = String((await syncer.getProgress()).body['error']);
        return !said.startsWith('NotStarted');
      });
      const named = /^ClusterUnreachable: cluster1 \(spec\.destination\): /;
      assert.match(said, new RegExp(named.source + reason.source));
    });

    it('by a verifier', async () => {
      await using verifier = await VerifierProcess.start({
        uris: { srcURI: wrongSet(), destURI: plain.uri('syncer') },
      });
      const named = new RegExp(`the source: ${reason.source}`);
      await until('it says why', async () => {
        const said = String((await verifier.get('/api/v1/progress'))['error']);
        assert.match(said, /^ClusterUnreachable: /);
        return named.test(said);
      });
    });
  });
});
