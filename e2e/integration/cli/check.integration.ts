import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { CheckFinding } from '../../../sync-api/json.ts';
import { CliProcess } from '../../ground/cli-process.ts';
import { namespacesOf, useClusterPair } from '../syncer/cluster-pair.ts';

interface Output {
  readonly canStart: boolean;
  readonly findings: readonly CheckFinding[];
}

describe('clustersync check', () => {
  const pair = useClusterPair({ roles: { source: 'source', destination: 'destination' } });

  async function check(
    args: readonly string[] = [],
    files: Readonly<Record<string, string>> = {},
  ): Promise<{
    readonly exitCode: number | null;
    readonly output: string;
    readonly errors: string;
  }> {
    const connections = ['--source-file', '{source}', '--destination-file', '{destination}'];
    const uris = {
      source: pair.source.set.uri('syncer'),
      destination: pair.destination.set.uri('syncer'),
    };
    await using cli = await CliProcess.start(['check', ...connections, ...args], {
      files: { ...uris, ...files },
    });
    const { exitCode } = await cli.end();
    return { exitCode, output: await cli.output(), errors: await cli.errors() };
  }

  beforeEach(async () => {
    await pair.reset();
    await pair.source.client.db('shop').collection('orders').insertOne({ name: 'one' });
  });

  it('ends with 0 if nothing was found, and has changed nothing', async () => {
    const { exitCode, output, errors } = await check();
    assert.equal(exitCode, 0, errors);
    assert.equal(output, 'This migration can start; nothing was found.\n');
    assert.deepEqual(await namespacesOf(pair.destination), []);
  });

  it('measures the speed of the copy if it is told to, and leaves nothing', async () => {
    const { exitCode, output, errors } = await check(['--measure-copy']);
    assert.equal(exitCode, 0, errors);
    assert.match(
      output,
      /^This migration can start; 1 piece of advice\.\n\nAdvice:\n {2}CopyEstimated: the copy of \d+ B takes about .*, at a measured .*\n/,
    );
    assert.deepEqual(await namespacesOf(pair.destination), []);
    const internal = pair.destination.client.db('clustersync_internal');
    assert.deepEqual(await internal.listCollections().toArray(), []);
  });

  it('ends with 0 if there are only warnings, and shows them', async () => {
    const { exitCode, output } = await check(['--exclude-namespaces', 'misspelt']);
    assert.equal(exitCode, 0);
    assert.match(
      output,
      /^This migration can start; 1 warning\.\n\nWarnings:\n {2}FilterMatchesNothing: .*\n {4}\S.*\n$/,
    );
  });

  it('ends with 1 if there is a blocker, in every format', async () => {
    await pair.destination.client.db('shop').collection('orders').insertOne({ mine: true });
    await pair.source.client
      .db('metrics')
      .createCollection('ticks', { timeseries: { timeField: 't' } });
    const names = ['TimeSeriesNotSupported', 'DestinationNotEmpty'];
    const text = await check();
    assert.equal(text.exitCode, 1);
    assert.match(text.output, /^This migration cannot start; 2 blockers\.\n\nBlockers:\n/);
    for (const name of names) assert.match(text.output, new RegExp(`^ {2}${name} \\(`, 'm'));
    const json = await check(['--output', 'json']);
    assert.equal(json.exitCode, 1);
    const { canStart, findings } = JSON.parse(json.output) as Output;
    assert.equal(canStart, false);
    assert.deepEqual(
      findings.map(({ name }) => name),
      names,
    );
    const sarif = await check(['--output', 'sarif']);
    assert.equal(sarif.exitCode, 1);
    const { runs } = JSON.parse(sarif.output) as { runs: { results: { ruleId: string }[] }[] };
    assert.deepEqual(
      runs[0]?.results.map(({ ruleId }) => ruleId),
      names,
    );
  });

  it('reports both deployments that cannot be reached, and options that contradict each other', async () => {
    const nobody = createServer().listen(0, '127.0.0.1');
    await once(nobody, 'listening');
    const { port } = nobody.address() as AddressInfo;
    nobody.close();
    const wrong = pair.source.set.uri('syncer').replace(/\/\/.*@/, '//syncer:wrong@');
    const uris = { source: wrong, destination: `mongodb://127.0.0.1:${port}/` };
    const { exitCode, output } = await check(['--output', 'json'], uris);
    assert.equal(exitCode, 1);
    assert.deepEqual(
      (JSON.parse(output) as Output).findings.map(({ name, side }) => [name, side]),
      [
        ['AuthenticationFailed', 'source'],
        ['ClusterUnreachable', 'destination'],
      ],
    );
    const contradictory = await check(['--reversible']);
    assert.equal(contradictory.exitCode, 1);
    assert.match(contradictory.output, /^ {2}ReversibleNeedsWriteBlocking: /m);
  });

  it('ends with 2 once the sync has begun', async () => {
    await using syncer = await pair.syncing();
    await syncer.post('pause', {});
    const { exitCode, output, errors } = await check();
    assert.equal(exitCode, 2);
    assert.equal(output, '');
    assert.match(errors, /^clustersync: check is allowed in IDLE, before the start; the state is/m);
  });
});
