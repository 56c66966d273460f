import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { MongoClient } from 'mongodb';
import { createClusterClient } from '../../../mongo/cluster-client.ts';
import { assertEqualClusters } from '../../ground/compare.ts';
import { destinationHeader } from '../../../sync-api/headers.ts';
import { CliProcess } from '../../ground/cli-process.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import { startReplicaSet, type ReplicaSet } from '../../ground/mongod/replica-set.ts';
import {
  createCertificateUser,
  issueServerTls,
  uriWithoutUser,
} from '../../ground/mongod/server-tls.ts';
import { startSyncerProcess } from '../../ground/syncer-process.ts';
import { testPassword } from '../../ground/mongod/users.ts';
import { until } from '../../ground/until.ts';
import { VerifierProcess } from '../../ground/verifier-process.ts';
import { commitAndWait, startSyncing } from '../syncer/cluster-pair.ts';

describe('connections by TLS', () => {
  let folder: GuardedFolder;
  const sets: ReplicaSet[] = [];
  /** By the client's certificate, in the order of the sets. */
  const uris: string[] = [];
  const path = (name: string): string => join(folder.path, name);

  before(async () => {
    folder = await createGuardedFolder();
    const { served, client, options } = await issueServerTls(folder.path, 'localhost');
    const files = {
      'ca.crt': served['ca.crt'],
      'other-ca.crt': client['ca.crt'],
      'client.crt': client['tls.crt'],
      'client.key': client['tls.key'],
      'other.key': served['tls.key'],
      user: 'syncer\n',
      password: `${testPassword}\n`,
    };
    for (const [name, text] of Object.entries(files)) await writeFile(path(name), text);
    for (const name of ['source', 'destination']) {
      const advertisedHost = 'localhost';
      const set = await startReplicaSet({ members: 1, name, advertisedHost, ...options });
      sets.push(set);
      uris.push(await createCertificateUser(set));
    }
  });
  after(async () => {
    await Promise.all(
      sets.map(async (set) => {
        await set.stop();
      }),
    );
    await folder.remove();
  });

  /** A connection string without a user: the certificate names it. */
  function x509Uri(side: 'source' | 'destination'): string {
    return uris[side === 'source' ? 0 : 1] ?? '';
  }

  /** What a syncer says that cannot reach its source. */
  async function errorOf(source: {
    readonly uri: string;
    readonly options: Readonly<Record<string, string>>;
  }): Promise<string> {
    await using running = await startSyncerProcess({
      ...{ cluster0: source.uri, cluster1: x509Uri('destination'), until: 'listening' },
      options: { ...certificates('cluster1'), ...source.options },
    });
    let said: unknown;
    await until('it says why', async () => {
      ({ error: said } = (await running.getProgress()).body);
      return typeof said === 'string' && !said.startsWith('NotStarted');
    });
    return String(said);
  }

  const certificates = (prefix: string): Record<string, string> => ({
    [`${prefix}CaFile`]: path('ca.crt'),
    [`${prefix}CertificateFile`]: path('client.crt'),
    [`${prefix}KeyFile`]: path('client.key'),
  });

  it('with certificates in files: a sync and a verification, by the user of the certificate', async () => {
    const [source, destination] = sets;
    assert.ok(source && destination);
    await using writer = new MongoClient(source.uri('admin'));
    const items = writer.db('shop').collection('items');
    const text = 'x'.repeat(1_000);
    await items.insertMany(Array.from({ length: 20_000 }, (_, n) => ({ n, text })));
    await using running = await startSyncing(
      await startSyncerProcess({
        ...{ cluster0: x509Uri('source'), cluster1: x509Uri('destination') },
        options: {
          ...certificates('cluster0'),
          ...certificates('cluster1'),
          partitionMebibytes: 4,
        },
      }),
      {},
    );
    await items.updateMany({ n: { $lt: 3_000 } }, { $set: { changed: true } });
    await commitAndWait(running);
    await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
    const login = (prefix: string) => ({
      [`${prefix}UserFile`]: path('user'),
      [`${prefix}PasswordFile`]: path('password'),
    });
    await using verifier = await VerifierProcess.start({
      uris: {
        ...{ srcURI: source.uri('syncer'), destURI: destination.uri('syncer') },
        metaURI: uriWithoutUser(destination),
      },
      options: {
        ...{ ...certificates('src'), ...certificates('dest') },
        ...{ ...certificates('meta'), ...login('meta') },
      },
    });
    await verifier.post('check');
    await verifier.post('writesOff');
    const { verdict, documentsCompared } = await verifier.untilComplete();
    assert.deepEqual([verdict, documentsCompared], ['equal', 20_000]);
    const report = await verifier.report({
      ...{ ...certificates('meta'), ...login('meta'), format: 'json' },
    });
    assert.equal(report.exitCode, 0, report.output);
    assert.equal((JSON.parse(report.output) as { readonly verdict: unknown }).verdict, 'equal');
  });

  describe('to servers that are reached by another name than that of their certificate', () => {
    let reached: ReplicaSet;
    let uri: string;

    before(async () => {
      const inside = path('inside');
      await mkdir(inside);
      const { served, client, options } = await issueServerTls(inside, 'db.example');
      const files = {
        'db-ca.crt': served['ca.crt'],
        'db-client.crt': client['tls.crt'],
        'db-client.key': client['tls.key'],
        'db-server.crt': served['tls.crt'],
        'db-server.key': served['tls.key'],
      };
      for (const [name, text] of Object.entries(files)) await writeFile(path(name), text);
      reached = await startReplicaSet({ members: 1, name: 'reached', ...options });
      uri = await createCertificateUser(reached);
    });
    after(async () => {
      await reached.stop();
    });

    const named = (prefix: string, serverName?: string): Record<string, string> => ({
      [`${prefix}CaFile`]: path('db-ca.crt'),
      [`${prefix}CertificateFile`]: path('db-client.crt'),
      [`${prefix}KeyFile`]: path('db-client.key'),
      ...(serverName !== undefined && { [`${prefix}ServerName`]: serverName }),
    });

    it('sync and verify by the name that is given', async () => {
      const [source] = sets;
      assert.ok(source);
      await using writer = new MongoClient(source.uri('admin'));
      // Of the tests before: the proof of the verdict is compared with all documents of both sides.
      for (const name of ['shop', 'more']) await writer.db(name).dropDatabase();
      await writer
        .db('reached')
        .collection('items')
        .insertMany([{ n: 1 }, { n: 2 }]);
      await using running = await startSyncing(
        await startSyncerProcess({
          ...{ cluster0: x509Uri('source'), cluster1: uri },
          options: { ...certificates('cluster0'), ...named('cluster1', 'DB.example') },
        }),
        { includeNamespaces: [{ database: 'reached' }] },
      );
      await writer.db('reached').collection('items').insertOne({ n: 3 });
      await commitAndWait(running);
      await using verifier = await VerifierProcess.start({
        uris: { srcURI: source.uri('syncer'), destURI: reached.uri('syncer') },
        options: {
          ...{ ...certificates('src'), ...named('dest', 'db.example') },
          verifyAll: 'false',
          includeNamespaces: JSON.stringify([{ database: 'reached' }]),
        },
      });
      await verifier.post('check');
      await verifier.post('writesOff');
      const { verdict, documentsCompared } = await verifier.untilComplete();
      assert.deepEqual([verdict, documentsCompared], ['equal', 3]);
    });

    for (const [serverName, who] of [
      [undefined, /IP: 127\.0\.0\.1 is not in the cert's list/],
      ['other.example', /Host: other\.example\. is not in the cert's altnames: DNS:db\.example/],
    ] as const) {
      it(`are refused ${serverName === undefined ? 'without it' : 'by another one'}`, async () => {
        const said = await errorOf({ uri, options: named('cluster0', serverName) });
        assert.match(said, /^ClusterUnreachable: .+: name the servers, .+ in tls\.serverName/);
        assert.match(said, who);
      });
    }

    it('tell it to whatever they reach first', async () => {
      const [cert, key, ca] = await Promise.all(
        ['db-server.crt', 'db-server.key', 'db-ca.crt'].map(async (name) => {
          return await readFile(path(name), 'utf8');
        }),
      );
      const told = Promise.withResolvers<unknown>();
      const proxy = createServer({ cert, key }, (socket) => {
        told.resolve(socket.servername);
        socket.destroy();
      });
      proxy.listen(0, '127.0.0.1');
      await once(proxy, 'listening');
      const { port } = proxy.address() as AddressInfo;
      await using cluster = createClusterClient({
        ...{ uri: `mongodb://127.0.0.1:${port}`, option: 'cluster0', appName: 'test' },
        tls: { ...(ca !== undefined && { ca }), servername: 'db.example' },
        serverSelectionTimeoutMs: 2_000,
      });
      await assert.rejects(cluster.decoded.connect());
      assert.equal(await told.promise, 'db.example');
      proxy.close();
    });
  });

  const refused: readonly (readonly [
    what: string,
    expected: RegExp,
    given: () => { readonly uri?: string; readonly options: Readonly<Record<string, string>> },
  ])[] = [
    [
      'another authority',
      /^ClusterUnreachable: cluster0 \(spec\.source\): self-signed certificate in certificate chain: the certificate of the server is signed by an authority that is not trusted\. Name its authority: .+/,
      () => ({ options: { ...certificates('cluster0'), cluster0CaFile: path('other-ca.crt') } }),
    ],
    [
      'none but the authorities of the system',
      /^ClusterUnreachable: cluster0 \(spec\.source\): self-signed certificate in certificate chain: the certificate of the server/,
      () => ({ uri: `${x509Uri('source')}&tls=true`, options: {} }),
    ],
    [
      'a name that the certificate does not have',
      /^ClusterUnreachable: .+127\.0\.0\.1.+: name the servers, .+ as their certificates do, or give the name/,
      () => ({
        uri: x509Uri('source').replace('localhost', '127.0.0.1'),
        options: certificates('cluster0'),
      }),
    ],
    [
      'a user that the server does not have',
      /^AuthenticationFailed: /,
      () => ({
        uri: x509Uri('source').replace('mongodb://', 'mongodb://CN=nobody@'),
        options: certificates('cluster0'),
      }),
    ],
    [
      'no certificate of its own',
      /^ClusterUnreachable: cluster0 \(spec\.source\): localhost:\d+ has closed .+ If it asks for a certificate of the client, name one: /,
      () => ({ options: { cluster0CaFile: path('ca.crt') } }),
    ],
  ];
  for (const [what, expected, given] of refused) {
    it(`with ${what} say so`, async () => {
      assert.match(await errorOf({ uri: x509Uri('source'), ...given() }), expected);
    });
  }

  /** The connection string of the destination by several hosts, and where the process says that it has logged in. */
  async function provenHosts(
    options: Readonly<Record<string, string>>,
    user: 'certificate' | 'password',
  ): Promise<string> {
    const [, destination] = sets;
    assert.ok(destination);
    const mechanism = user === 'certificate' ? 'authMechanism=MONGODB-X509&' : '';
    const port = destination.members[0]?.port;
    const uri = `mongodb://127.0.0.1:${port},localhost:${port}/?${mechanism}replicaSet=destination`;
    await using running = await startSyncerProcess({
      ...{ cluster0: x509Uri('source'), cluster1: uri },
      options: { ...certificates('cluster0'), ...certificates('cluster1'), ...options },
    });
    let said = '';
    await until('it says where it has logged in', async () => {
      const { headers } = await fetch(`${running.url}/api/v1/progress`);
      said = headers.get(destinationHeader) ?? '';
      return said !== '';
    });
    return said.replaceAll(String(port), 'port');
  }

  it('are used at each host where a login is to be proven', async () => {
    const login = { cluster1UserFile: path('user'), cluster1PasswordFile: path('password') };
    assert.equal(await provenHosts({}, 'certificate'), 'mongodb://localhost:port');
    assert.equal(await provenHosts(login, 'password'), 'mongodb://localhost:port');
    const named = { cluster1ServerName: 'localhost' };
    const expected = 'mongodb://127.0.0.1:port,localhost:port/?serverName=localhost';
    assert.equal(await provenHosts(named, 'certificate'), expected);
  });

  it('are options of clustersync run, too', async () => {
    const [source, destination] = sets;
    assert.ok(source && destination);
    await using admin = new MongoClient(destination.uri('admin'));
    for (const name of ['shop', 'clustersync_internal', 'migration_verification_metadata'])
      await admin.db(name).dropDatabase();
    await using writer = new MongoClient(source.uri('admin'));
    await writer.db('more').collection('items').insertOne({ a: 1 });
    const ofSide = (side: string): string[] => [
      ...[`--${side}-ca-file`, path('ca.crt'), `--${side}-certificate-file`, path('client.crt')],
      ...[`--${side}-key-file`, path('client.key')],
    ];
    const files = { source: x509Uri('source'), destination: uriWithoutUser(destination) };
    const args = [
      ...['run', '--source-file', '{source}', '--destination-file', '{destination}'],
      ...['--include-namespaces', 'more', '--commit-when-caught-up', '--output', 'json'],
      ...[...ofSide('source'), ...ofSide('destination')],
    ];
    await using without = await CliProcess.start([...args, '--dry-run'], { files });
    assert.equal((await without.end()).exitCode, 2);
    assert.match(await without.errors(), /the destination: .*requires authentication/);
    const login = ['--destination-user', 'syncer', '--destination-password-file', path('password')];
    await using tried = await CliProcess.start([...args, ...login, '--dry-run'], { files });
    assert.equal((await tried.end()).exitCode, 0, await tried.errors());
    await using checked = await CliProcess.start(
      ['check', ...args.slice(1).filter((arg) => arg !== '--commit-when-caught-up'), ...login],
      { files },
    );
    assert.equal((await checked.end()).exitCode, 0, await checked.errors());
    await using cli = await CliProcess.start([...args, ...login], { files });
    assert.equal((await cli.end()).exitCode, 0, await cli.errors());
    const { verdict, documentsCompared } = JSON.parse(await cli.output()) as Readonly<
      Record<string, unknown>
    >;
    assert.deepEqual([verdict, documentsCompared], ['equal', 1]);
    const wrong = [...login, '--source-ca-file', path('user')];
    await using refused = await CliProcess.start([...args, ...wrong], { files });
    assert.equal((await refused.end()).exitCode, 2);
    assert.match(await refused.errors(), /--source-ca-file: the file is not, or not only, PEM/);
    const plain = { ...files, source: `${x509Uri('source')}&tls=false` };
    await using contradicted = await CliProcess.start([...args, ...login], { files: plain });
    assert.equal((await contradicted.end()).exitCode, 2);
    assert.match(await contradicted.errors(), /--source: .*tls=false contradicts the certificates/);
  });

  it('of the metadata store are refused without its connection string', async () => {
    const uris = { srcURI: x509Uri('source'), destURI: x509Uri('destination') };
    for (const options of [{ metaUser: 'syncer' }, { metaCaFile: path('ca.crt') }]) {
      await assert.rejects(
        VerifierProcess.start({ uris, options }),
        /user or certificates of the metadata store are given without --metaURI/,
      );
    }
  });

  for (const [what, expected, given] of [
    [
      'a CA file that has no certificate',
      /--cluster0CaFile: the file is not, or not only, PEM certificates/,
      () => ({ options: { cluster0CaFile: path('client.key') } }),
    ],
    [
      'the key of another certificate',
      /--cluster0CertificateFile: the certificate cannot be used with --cluster0KeyFile: .+/,
      () => ({ options: { ...certificates('cluster0'), cluster0KeyFile: path('other.key') } }),
    ],
    [
      'a certificate without its key',
      /--cluster0CertificateFile requires --cluster0KeyFile/,
      () => ({ options: { cluster0CertificateFile: path('client.crt') } }),
    ],
    [
      'a key without its certificate',
      /--cluster0KeyFile requires --cluster0CertificateFile/,
      () => ({ options: { cluster0KeyFile: path('client.key') } }),
    ],
    [
      'the address of a server for its name',
      /--cluster0ServerName: expected a DNS name/,
      () => ({ options: { ...certificates('cluster0'), cluster0ServerName: '127.0.0.1' } }),
    ],
    [
      'TLS turned off in the connection string',
      /--cluster0: tls=false contradicts the certificates that are given: omit one of them/,
      () => ({ uri: `${x509Uri('source')}&tls=false`, options: certificates('cluster0') }),
    ],
  ] as const) {
    it(`with ${what} are refused at the start`, async () => {
      const { options, uri } = { uri: x509Uri('source'), ...given() };
      await assert.rejects(
        startSyncerProcess({ cluster0: uri, cluster1: x509Uri('destination'), options }),
        expected,
      );
    });
  }
});
