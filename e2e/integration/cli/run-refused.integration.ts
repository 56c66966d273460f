import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { CliProcess } from '../../ground/cli-process.ts';
import { testPassword } from '../../ground/mongod/users.ts';
import { useClusterPair } from '../syncer/cluster-pair.ts';

/** How long a program that does nothing takes to start on a quiet machine of two cores. */
const quietStartMs = 500;

/** How much slower than that machine this one is now, where it is. */
async function slowness(): Promise<number> {
  await using idle = await CliProcess.start(['--version']);
  return Math.max(1, (await idle.end()).tookMs / quietStartMs);
}

/** What a person reads of what was written to a terminal. */
function asText(written: string): string {
  return written.replaceAll(/\u001b\[[\d;?]*[a-zA-Z]/g, '').replaceAll('\r\n', '\n');
}

describe('clustersync run, where something is in the way', () => {
  const pair = useClusterPair();

  function files(): Record<'source' | 'destination', string> {
    return {
      source: pair.source.set.uri('syncer'),
      destination: pair.destination.set.uri('syncer'),
    };
  }

  async function run(
    args: readonly string[],
    options: { readonly files?: Record<string, string>; readonly hasTerminal?: boolean } = {},
  ): Promise<CliProcess> {
    const connections = ['--source-file', '{source}', '--destination-file', '{destination}'];
    return await CliProcess.start(['run', ...connections, ...args], { files: files(), ...options });
  }

  before(async () => {
    await pair.source.client.db('shop').collection('orders').insertOne({ name: 'one' });
    await pair.destination.client.db('shop').collection('orders').insertOne({ mine: true });
  });

  it('says in one sentence what is wrong, and what to do, within 10 seconds', async () => {
    // It takes connections, and never answers.
    await using silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const { source } = files();
    const nobody = createServer().listen(0, '127.0.0.1');
    await once(nobody, 'listening');
    const { port: closedPort } = nobody.address() as AddressInfo;
    nobody.close();
    const cases: readonly (readonly [string, Record<string, string>, readonly string[], RegExp])[] =
      [
        [
          'a wrong URI',
          { source: 'mongo:/127.0.0.1' },
          [],
          /^clustersync: --source: the connection string cannot be read/m,
        ],
        [
          'a file of this machine that is not there',
          { source: `${source}&tls=true&tlsCAFile=/nowhere/ca.pem` },
          [],
          /^clustersync: --source: the connection string names a file that cannot be read: ENOENT.* '\/nowhere\/ca.pem' \(InvalidOption\)$/m,
        ],
        [
          'a wrong password',
          { source: source.replace(encodeURIComponent(testPassword), 'hunter2') },
          [],
          /^clustersync: the source rejects the login: Authentication failed\. \(AuthenticationFailed\)$/m,
        ],
        [
          'a host that does not answer',
          { destination: `mongodb://127.0.0.1:${port}/` },
          [],
          /^clustersync: the destination cannot be reached: .* \(ClusterUnreachable\)$/m,
        ],
        [
          'a port that nobody listens on',
          { source: `mongodb://127.0.0.1:${closedPort}/` },
          [],
          /^clustersync: the source cannot be reached: .* \(ClusterUnreachable\)$/m,
        ],
        [
          'a host that there is not',
          { source: 'mongodb://no-such-host.invalid:27017/' },
          [],
          /^clustersync: the source cannot be reached: .* \(ClusterUnreachable\)$/m,
        ],
        [
          'a destination that is not empty',
          {},
          [],
          /^clustersync: the destination already has data: shop\.orders; there may be more blockers: clustersync check lists all \(DestinationNotEmpty\)$/m,
        ],
        [
          'what the contract forbids',
          {},
          ['--reversible'],
          /^clustersync: reversible needs enableUserWriteBlocking: true \(ReversibleNeedsWriteBlocking\)$/m,
        ],
      ];
    for (const hasTerminal of [false, true]) {
      for (const [what, wrong, args, pattern] of cases) {
        await using cli = await run(
          [...args, ...(hasTerminal ? [] : ['--commit-when-caught-up'])],
          {
            files: { ...files(), ...wrong },
            hasTerminal,
          },
        );
        // Measured beside it, too: other work that slows down its start may be over at its end.
        const [{ exitCode, tookMs }, slownessBeside] = await Promise.all([cli.end(), slowness()]);
        const errors = hasTerminal ? asText(await cli.output()) : await cli.errors();
        assert.equal(exitCode, 2, `${what}: ${errors}`);
        assert.match(errors, pattern);
        // The sentence, and the next step, and nothing else after the steps that were taken.
        const said = errors.slice(errors.indexOf('clustersync: ')).trimEnd().split('\n');
        assert.equal(said.length, 2, errors);
        const secrets = ['hunter2', encodeURIComponent(testPassword)];
        for (const secret of secrets) assert.ok(!errors.includes(secret), what);
        if (!hasTerminal) assert.equal(await cli.output(), '');
        const isInTime = async (): Promise<boolean> =>
          tookMs < 10_000 || tookMs < 10_000 * Math.max(slownessBeside, await slowness());
        assert.ok(await isInTime(), `${what}: ${tookMs} ms`);
      }
    }
    const internal = pair.destination.client.db('clustersync_internal');
    assert.equal(await internal.collection('sync').countDocuments(), 0);
  });

  it('tells in a dry run what is in the way, or forbidden, and how much would be moved', async () => {
    await using cli = await run(['--dry-run']);
    assert.equal((await cli.end()).exitCode, 2);
    assert.match(
      await cli.output(),
      /^This migration cannot start: the destination already has data: shop\.orders \(DestinationNotEmpty\)\nDrop from the destination/,
    );
    const forbidden = ['--reversible', '--enable-user-write-blocking', '--build-indexes', 'never'];
    await using other = await run(['--dry-run', ...forbidden, '--output', 'json']);
    assert.equal((await other.end()).exitCode, 2);
    const found = JSON.parse(await other.output()) as Record<string, unknown>;
    assert.equal(found['canStart'], false);
    assert.equal(found['error'], 'NeverWithReversible');
    assert.equal(found['documents'], 1);
    assert.deepEqual(found['filter'], []);
  });

  it('tells in a dry run everything that the check finds, not only the first', async () => {
    const metrics = pair.source.client.db('metrics');
    await metrics.createCollection('ticks', { timeseries: { timeField: 't' } });
    try {
      await using cli = await run(['--dry-run']);
      assert.equal((await cli.end()).exitCode, 2);
      const output = await cli.output();
      assert.match(
        output,
        /^This migration cannot start: the source has time-series collections: metrics\.ticks \(TimeSeriesNotSupported\)\nExclude .*\n\nBlockers:\n {2}DestinationNotEmpty \(destination\): .*\n {4}Drop .*\n\nsource /,
      );
      assert.equal(output.split('time-series collections: metrics').length, 2);
      await using json = await run(['--dry-run', '--output', 'json']);
      await json.end();
      const { findings } = JSON.parse(await json.output()) as { findings: { name: string }[] };
      assert.deepEqual(
        findings.map(({ name }) => name),
        ['TimeSeriesNotSupported', 'DestinationNotEmpty'],
      );
    } finally {
      await metrics.dropDatabase();
    }
  });

  it('tells in a dry run what each entry of the filter means', async () => {
    const filter = [{ databaseRegex: { pattern: '^sh' } }, { database: 'sohp' }];
    await using cli = await run(['--dry-run', '--include-namespaces', JSON.stringify(filter)]);
    assert.equal((await cli.end()).exitCode, 2);
    assert.match(
      await cli.output(),
      /\nincludeNamespaces\[0\] means shop\.orders\nincludeNamespaces\[1\] matches nothing\n$/,
    );
  });

  it('moves nothing where a name of --include-namespaces matches nothing, and says which', async () => {
    await pair.source.client.db('only').collection('one').insertOne({ n: 1 });
    const include = ['--include-namespaces', 'only.one,onyl'];
    const told =
      /--include-namespaces: the source has nothing that matches \{"database":"onyl"\}: correct the name/;
    await using cli = await run([...include, '--commit-when-caught-up']);
    assert.equal((await cli.end()).exitCode, 2);
    assert.match(await cli.errors(), told);
    const { databases } = await pair.destination.client.db('admin').admin().listDatabases();
    const names = databases.map(({ name }) => name);
    assert.ok(!names.includes('only') && !names.includes('clustersync_internal'), String(names));

    await using tried = await run([...include, '--dry-run']);
    assert.equal((await tried.end()).exitCode, 2);
    assert.match(await tried.output(), told);
    const exclude = ['--include-namespaces', 'only.one', '--exclude-namespaces', 'onyl'];
    await using harmless = await run([...exclude, '--dry-run']);
    assert.equal((await harmless.end()).exitCode, 0);
    assert.match(await harmless.output(), /\nexcludeNamespaces\[0\] matches nothing\n$/);
  });
});
