import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readerGoneExitCode } from '../../service/terminal.ts';
import { environmentName } from '../../service/options.ts';
import { clusterSyncs } from '../../operator/api/clustersync.ts';
import type { KubeObject } from '../../operator/kube/resource.ts';
import { createGuardedFolder, type GuardedFolder } from '../ground/guarded-folder.ts';
import type { ApiServer } from '../ground/kubernetes/api-server.ts';
import { toolPath } from '../ground/tool-path.ts';
import { useApiServer } from '../integration/kube/use-api-server.ts';
import { installDefinitions, smallestSpec } from '../integration/operator/custom-resources.ts';
import { until } from '../ground/until.ts';
import { VerifierProcess } from '../ground/verifier-process.ts';
import type { SyncerProcess } from '../ground/syncer-process.ts';
import { useClusterPair } from '../integration/syncer/cluster-pair.ts';
import { LosingProcess, type LosingEnd, type LosingOptions } from './losing-process.ts';
import { freePort } from '../ground/free-port.ts';

const executable = fileURLToPath(new URL('../../bin/clustersync.ts', import.meta.url));

/** Rejects unless a command has failed, and says why in words. */
function assertLost({ exitCode, errors }: LosingEnd): void {
  assert.equal(exitCode, 2, errors);
  assert.match(errors, /^clustersync: .*(?:ENOSPC|EFBIG)/m);
  assert.doesNotMatch(errors, /\n {4}at |node:/);
}

/** Rejects unless a command has ended as one does that nobody reads any more. */
function assertQuiet({ exitCode, errors }: LosingEnd): void {
  assert.equal(errors, '');
  assert.equal(exitCode, readerGoneExitCode);
}

async function endOf(args: readonly string[], options: LosingOptions): Promise<LosingEnd> {
  await using losing = await LosingProcess.start(args, options);
  return await losing.end();
}

/** The options of a program, as it finds them in its environment. */
function environmentOf(options: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(options).map(([name, value]) => [environmentName(name), value]),
  );
}

async function untilReady(program: LosingProcess, port: number): Promise<void> {
  await until('it is ready', async () => {
    assert.equal(program.ending, undefined, 'it has ended');
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    return ready?.ok === true;
  });
}

describe('a command that can write nothing', () => {
  for (const words of ['--version', '--help', 'run --help', 'completion bash']) {
    it(`does not call it success: ${words}`, async () => {
      const args = words.split(' ');
      assertLost(await endOf(args, { out: 'full' }));
      assertQuiet(await endOf(args, { out: 'gone' }));
    });
  }

  for (const words of ['run --help', 'completion bash']) {
    it(`does not call half of it success: ${words}`, async () => {
      assertLost(await endOf(words.split(' '), { out: 'limited' }));
    });
  }

  it('says by its exit code that its words are wrong, also where nobody can be told how', async () => {
    for (const err of ['full', 'gone'] as const)
      for (const words of [['nonsense'], ['status', '--no-such-flag'], ['status', '--url', 'x:y']])
        assert.equal((await endOf(words, { err })).exitCode, 2, words.join(' '));
  });
});

describe('a command between two deployments that can write nothing', () => {
  const pair = useClusterPair();
  let syncer: SyncerProcess;
  let verifier: VerifierProcess;

  before(async () => {
    const { source, destination } = pair;
    for (const { client } of [source, destination])
      await client
        .db('shop')
        .collection('items')
        .insertOne({ _id: 1 } as object);
    const uris = { srcURI: source.set.uri('syncer'), destURI: destination.set.uri('syncer') };
    syncer = await pair.syncer();
    await using equal = await VerifierProcess.start({ uris, options: { verification: 'equal' } });
    await equal.post('check');
    await equal.post('writesOff');
    assert.equal((await equal.untilComplete()).verdict, 'equal');
    await source.client.db('other').collection('items').insertOne({});
    verifier = await VerifierProcess.start({ uris, options: { verification: 'different' } });
    await verifier.post('check');
    await verifier.post('writesOff');
    assert.equal((await verifier.untilComplete()).verdict, 'different');
  });

  after(async () => {
    await (syncer as SyncerProcess | undefined)?.[Symbol.asyncDispose]();
    await (verifier as VerifierProcess | undefined)?.[Symbol.asyncDispose]();
  });

  for (const verdict of ['equal', 'different'] as const) {
    it(`gives no exit code of a verdict: verifier report of one that is ${verdict}`, async () => {
      const env = { CLUSTERSYNC_META_URI: pair.destination.set.uri('syncer') };
      const args = ['verifier', 'report', `--verification=${verdict}`];
      const told = await endOf(args, { env });
      assert.equal(told.exitCode, verdict === 'equal' ? 0 : 1, told.errors);
      for (const format of ['text', 'json', 'junit']) {
        const asked = [...args, `--format=${format}`];
        assertLost(await endOf(asked, { env, out: 'full' }));
        assertQuiet(await endOf(asked, { env, out: 'gone' }));
      }
      assertLost(await endOf([...args, '--output=/dev/full'], { env }));
    });
  }

  it('gives no exit code of a verdict: report', async () => {
    const args = ['report', '--url', verifier.url];
    assert.equal((await endOf(args, {})).exitCode, 1);
    assertLost(await endOf(args, { out: 'full' }));
    assertQuiet(await endOf(args, { out: 'gone' }));
  });

  it('does not call it success: status', async () => {
    const args = ['status', '--url', syncer.url, '--output', 'json'];
    assertLost(await endOf(args, { out: 'full' }));
    assertQuiet(await endOf(args, { out: 'gone' }));
  });

  it('stops writing: progress --watch', async () => {
    const args = ['progress', '--url', syncer.url, '--watch', '--output', 'json'];
    assertLost(await endOf(args, { out: 'full' }));
    assertQuiet(await endOf(args, { out: 'gone' }));
  });

  it('ends if nobody reads the progress that it writes to standard error: progress --watch', async () => {
    const args = ['progress', '--url', syncer.url, '--watch'];
    assert.equal((await endOf(args, { err: 'full' })).exitCode, 2);
    assert.equal((await endOf(args, { err: 'gone' })).exitCode, readerGoneExitCode);
  });

  it('prints its result if only its messages are lost: status, and report', async () => {
    for (const err of ['full', 'gone'] as const) {
      const status = await endOf(['status', '--url', syncer.url], { err });
      assert.deepEqual(
        [status.exitCode, status.output],
        [0, 'state  IDLE: no sync has been started\n'],
      );
      const report = await endOf(['report', '--url', verifier.url], { err });
      assert.equal(report.exitCode, 1);
      assert.match(report.output, /^verdict +different\n/);
    }
  });

  for (const program of ['syncer', 'verifier'] as const) {
    for (const loss of ['full', 'gone'] as const) {
      it(`works without its log, and ends when told to: ${program}, ${loss}`, async () => {
        const port = await freePort();
        const [source, destination] = [
          pair.source.set.uri('syncer'),
          pair.destination.set.uri('syncer'),
        ];
        const uris = {
          cluster0: source,
          cluster1: destination,
          srcURI: source,
          destURI: destination,
        };
        const options = { ...uris, port: String(port), host: '127.0.0.1', verifyAll: 'true' };
        await using losing = await LosingProcess.start([program, '--logLevel=debug'], {
          ...{ out: loss, err: loss },
          env: environmentOf(options),
        });
        await untilReady(losing, port);
        losing.signal('SIGTERM');
        assert.equal((await losing.end()).exitCode, 0);
      });
    }
  }
});

describe('a migration that can write nothing', () => {
  const pair = useClusterPair();

  beforeEach(async () => {
    await pair.reset();
    await pair.source.client.db('shop').collection('items').insertOne({ name: 'nail' });
  });

  async function migrate(
    args: readonly string[],
    losing: Pick<LosingOptions, 'out' | 'err'> = {},
  ): Promise<LosingEnd> {
    const source = pair.source.set.uri('syncer');
    const destination = pair.destination.set.uri('syncer');
    const files = { source, destination };
    const connections = ['--source-file', '{source}', '--destination-file', '{destination}'];
    return await endOf(['run', ...connections, ...args], { ...losing, files });
  }

  it('does not call it success where nothing is in the way: --dry-run', async () => {
    assertLost(await migrate(['--dry-run'], { out: 'full' }));
  });

  it('is carried out, and does not end with the code of a verdict that nobody was told', async () => {
    assertLost(await migrate(['--commit-when-caught-up'], { out: 'full' }));
    await pair.assertEqual();
    const again = await migrate([]);
    assert.equal(again.exitCode, 0, again.errors);
    assert.match(again.output, /^Committed and verified: both sides are equal\.\n/);
  });

  for (const err of ['full', 'gone'] as const) {
    it(`is carried out, and tells its result, where how far it is can be told to nobody: ${err}`, async () => {
      const told = await migrate(['--commit-when-caught-up'], { err });
      assert.equal(told.exitCode, 0);
      assert.match(told.output, /^Committed and verified: both sides are equal\.\n/);
    });
  }

  it('is carried out where its log file takes nothing, and says that once', async () => {
    const told = await migrate(['--commit-when-caught-up', '--log-file', '/dev/full']);
    assert.equal(told.exitCode, 0, told.errors);
    assert.match(told.output, /^Committed and verified: both sides are equal\.\n/);
    assert.equal(told.errors.match(/--log-file: .*ENOSPC/g)?.length, 1, told.errors);
  });
});

describe('a program for Kubernetes that can write nothing', () => {
  let server: ApiServer;
  let folder: GuardedFolder;
  let env: Readonly<Record<string, string>>;

  useApiServer(async (startedServer, client) => {
    server = startedServer;
    await installDefinitions(client);
    const sync = { metadata: { namespace: 'default', name: 'shop' }, spec: smallestSpec };
    const { signal } = new AbortController();
    await client.create<KubeObject>(clusterSyncs, sync, { signal });
    // The operator does not work without it.
    await server.kubectl(['create', 'secret', 'generic', 'clustersync-operator-api-key']);
    folder = await createGuardedFolder();
    await symlink(executable, join(folder.path, 'kubectl-clustersync'));
    await symlink(toolPath('hyperkube', 'kubectl'), join(folder.path, 'kubectl'));
    const path = `${folder.path}:${process.env['PATH'] ?? ''}`;
    env = { PATH: path, KUBECONFIG: await server.writeKubeConfig() };
  });

  after(async () => {
    await (folder as GuardedFolder | undefined)?.remove();
  });

  for (const words of ['list', 'status shop', 'watch shop', 'diagnose shop', 'pause shop'])
    it(`does not call it success: kubectl clustersync ${words}`, async () => {
      const plugin = { env, program: join(folder.path, 'kubectl-clustersync') };
      assertLost(await endOf(words.split(' '), { ...plugin, out: 'full' }));
      assertQuiet(await endOf(words.split(' '), { ...plugin, out: 'gone' }));
    });

  for (const loss of ['full', 'gone'] as const)
    it(`works without its log, and ends when told to: operator, ${loss}`, async () => {
      const port = await freePort();
      const options = {
        ...{ port: String(port), host: '127.0.0.1', logLevel: 'debug' },
        ...{ kubeconfig: env['KUBECONFIG'] ?? '', operandImage: 'example.dev/clustersync:test' },
      };
      await using losing = await LosingProcess.start(['operator'], {
        ...{ out: loss, err: loss },
        env: environmentOf(options),
      });
      await untilReady(losing, port);
      losing.signal('SIGTERM');
      assert.equal((await losing.end()).exitCode, 0);
    });
});
