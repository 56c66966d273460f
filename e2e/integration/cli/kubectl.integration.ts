import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clusterSyncs, type ClusterSyncSpec } from '../../../operator/api/clustersync.ts';
import { syncVerifications } from '../../../operator/api/sync-verification.ts';
import { namespaces, pods } from '../../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../../operator/kube/client.ts';
import type { KubeObject } from '../../../operator/kube/resource.ts';
import { ownerAnnotation } from '../../../operator/operand/names.ts';
import { CliProcess } from '../../ground/cli-process.ts';
import { CommandError } from '../../ground/command.ts';
import { createGuardedFolder, type GuardedFolder } from '../../ground/guarded-folder.ts';
import type { ApiServer } from '../../ground/kubernetes/api-server.ts';
import { until } from '../../ground/until.ts';
import { toolPath } from '../../ground/tool-path.ts';
import { useApiServer } from '../kube/use-api-server.ts';
import { installDefinitions, smallestSpec } from '../operator/custom-resources.ts';
import { playKubelet } from './played-kubelet.ts';

const executable = fileURLToPath(new URL('../../../bin/clustersync.ts', import.meta.url));
const signal = new AbortController().signal;
const namespace = 'migration';

describe('kubectl clustersync', () => {
  let server: ApiServer;
  let client: KubeClient;
  let folder: GuardedFolder;

  useApiServer(async (startedServer, startedClient) => {
    server = startedServer;
    client = startedClient;
    await installDefinitions(client);
    await client.create(namespaces, { metadata: { name: namespace } }, { signal });
    for (const name of ['shop', 'depot']) {
      const sync = { metadata: { namespace, name }, spec: smallestSpec };
      await client.create<KubeObject>(clusterSyncs, sync, { signal });
    }
    const spec = { clusterSyncRef: { name: 'shop' } };
    const proof = { metadata: { namespace, name: 'proof' }, spec };
    await client.create<KubeObject>(syncVerifications, proof, { signal });
    await setStatus('clustersync', 'shop', {
      phase: 'ChangeApplication',
      lagTimeSeconds: 3,
      conditions: [
        {
          ...{ type: 'ReadyToCommit', status: 'True', reason: 'Verified', message: '' },
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
      coordinatorID: 'rs0',
      totals: { percent: 100 },
      instances: [{ id: 'rs0', ready: true, progress: { state: 'RUNNING' }, error: uri }],
    });
    folder = await createGuardedFolder();
    // kubectl finds its plugins on the PATH, by their names.
    for (const name of ['kubectl-clustersync', 'kubectl_complete-clustersync']) {
      const link = join(folder.path, `${name}.ts`);
      await symlink(executable, link);
      const wrapper = `#!/bin/sh\nexec '${process.execPath}' '${link}' "$@"\n`;
      await writeFile(join(folder.path, name), wrapper, { mode: 0o755 });
    }
    await symlink(toolPath('hyperkube', 'kubectl'), join(folder.path, 'kubectl'));
  });

  after(async () => {
    await folder.remove();
  });

  const uri = 'mongodb://user:secret@old/ is not there';

  async function setStatus(kind: string, name: string, status: object): Promise<void> {
    const patch = `--patch=${JSON.stringify({ status })}`;
    const scope = ['--subresource=status', '--type=merge', '--namespace', namespace];
    await server.kubectl(['patch', kind, name, ...scope, patch]);
  }

  function pathWithPlugin(): Readonly<Record<'PATH', string>> {
    return { PATH: `${folder.path}:${process.env['PATH'] ?? ''}` };
  }

  async function kubectl(...args: readonly string[]): Promise<string> {
    const env = pathWithPlugin();
    return await server.kubectl(['clustersync', ...args, '--namespace', namespace], { env });
  }

  async function specOf(name: string): Promise<Readonly<Record<string, unknown>>> {
    const found = await client.find(clusterSyncs, { namespace, name }, { signal });
    return { ...found?.spec };
  }

  it('lists the syncs and shows one of them as a tree', async () => {
    assert.equal(
      await kubectl('list'),
      [
        'NAME    PHASE               COPIED   LAG   READY TO COMMIT   VERIFICATION',
        'depot   Pending             -        -     unknown           -',
        'shop    ChangeApplication   100 %    3 s   yes               Pending',
        '',
      ].join('\n'),
    );
    const all = JSON.parse(await kubectl('list', '--output', 'json')) as { syncs: object[] };
    assert.equal(all.syncs.length, 2);
    const short = async (...args: readonly string[]): Promise<string> =>
      await server.kubectl(['clustersync', ...args], { env: pathWithPlugin() });
    assert.equal(await short('list', '-n', namespace), await kubectl('list'));
    assert.match(
      await short('list', '-A'),
      new RegExp(`^NAMESPACE +NAME .*\\n${namespace} +depot `),
    );
    assert.match(
      await kubectl('status', 'shop'),
      /^ClusterSync shop: ChangeApplication, 100 % copied, lag 3 s, ready to commit {2}\(old -> new\)\n├─ 1 instance\n│ {2}└─ rs0 \(coordinates\): RUNNING\n/,
    );
  });

  it('completes commands, flags, values, and the names of the syncs', async () => {
    const offered = async (...words: readonly string[]): Promise<string[]> => {
      const printed = await server.kubectl(['__complete', 'clustersync', ...words], {
        env: pathWithPlugin(),
      });
      return printed.trim().split('\n');
    };
    assert.deepEqual(await offered('sta'), ['status', ':4']);
    assert.deepEqual(await offered('logs', '--fol'), ['--follow', ':4']);
    assert.deepEqual(await offered('commit', '--wa'), ['--wait', ':4']);
    assert.deepEqual(await offered('list', '--output', ''), ['text', 'json', 'yaml', ':4']);
    assert.deepEqual(await offered('status', '--kubeconfig', ''), [':0']);
    // It offers no names, and says nothing, where the cluster does not answer in good time.
    const offeredNames = async (...words: readonly string[]): Promise<string[]> => {
      let names: string[] = [];
      await until('names are offered', async () => {
        names = await offered(...words);
        return names.includes('shop');
      });
      return names;
    };
    const within = ['status', '--namespace', namespace];
    assert.deepEqual((await offeredNames('status', '-n', namespace, '')).slice(0, 2), [
      'depot',
      'shop',
    ]);
    assert.deepEqual((await offeredNames(...within, '')).slice(0, 2), ['depot', 'shop']);
    assert.deepEqual(await offeredNames(...within, 'sh'), ['shop', ':4']);
    assert.deepEqual(await offered(...within, 'shop', '--out'), ['--output', ':4']);
  });

  it('asks for pause, resume, commit and reverse by the spec', async () => {
    await kubectl('pause', 'depot');
    assert.equal((await specOf('depot'))['state'], 'Paused');
    await kubectl('resume', 'depot');
    assert.equal((await specOf('depot'))['state'], 'Running');
    await kubectl('commit', 'depot');
    assert.equal((await specOf('depot'))['state'], 'Committed');
    await assert.rejects(async () => await kubectl('reverse', 'depot'), CommandError);
  });

  describe('commit', () => {
    const readyToCommit = {
      ...{ type: 'ReadyToCommit', status: 'True', reason: 'Verified', message: 'all is equal' },
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const condition = (type: string, reason: string, message: string): object => ({
      ...{ type, status: 'True', reason, message },
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });

    /** A sync that is not committed. */
    async function createSync(name: string): Promise<void> {
      const sync = { metadata: { namespace, name }, spec: smallestSpec };
      await client.create<KubeObject>(clusterSyncs, sync, { signal });
      await setStatus('clustersync', name, {
        ...{ phase: 'ChangeApplication', lagTimeSeconds: 65, conditions: [readyToCommit] },
      });
    }

    async function commit(
      args: readonly string[],
      hasTerminal = false,
      env: Readonly<Record<string, string>> = {},
    ): Promise<CliProcess> {
      const scope = ['--namespace', namespace, '--kubeconfig', '{kubeconfig}'];
      return await CliProcess.start(['commit', ...args, ...scope], {
        program: join(folder.path, 'kubectl-clustersync.ts'),
        env: { ...pathWithPlugin(), ...env },
        files: { kubeconfig: await readFile(await server.writeKubeConfig(), 'utf8') },
        hasTerminal,
      });
    }

    /** What an operator says of the spec that is there. */
    async function sayOfSpec(name: string, status: object): Promise<void> {
      const found = await client.find(clusterSyncs, { namespace, name }, { signal });
      const observedGeneration = found?.metadata.generation;
      await setStatus('clustersync', name, { observedGeneration, ...status });
    }

    it('shows the lag and whether it is advisable, and asks nothing where there is no terminal', async () => {
      await createSync('asked');
      await using cli = await commit(['asked']);
      assert.equal((await cli.end()).exitCode, 0, await cli.errors());
      assert.match(
        await cli.errors(),
        /^lag +1 min 5 s\nReadyToCommit +True \(Verified\): all is equal$/m,
      );
      assert.match(await cli.output(), /asked patched/);
      assert.equal((await specOf('asked'))['state'], 'Committed');
    });

    it('asks at a terminal, and requests nothing without a yes', async () => {
      await createSync('confirmed');
      for (const [answer, exitCode, state] of [
        ['no', 2, 'Running'],
        ['', 2, 'Running'],
        ['yes', 0, 'Committed'],
      ] as const) {
        await using cli = await commit(['confirmed'], true);
        await cli.untilSays(/ReadyToCommit +True[^]*Commit\? It cannot be undone \(yes\/no\):/);
        cli.type(`${answer}\r`);
        assert.equal((await cli.end()).exitCode, exitCode, await cli.output());
        assert.equal((await specOf('confirmed'))['state'], state);
      }
      // It cannot be undone any more.
      await using again = await commit(['confirmed'], true);
      assert.equal((await again.end()).exitCode, 0, await again.output());
    });

    it('does not ask with --yes, and requests nothing where somebody types but cannot see the question', async () => {
      await createSync('piped');
      await using unseen = await commit(['piped'], true, { TERM: 'dumb' });
      assert.equal((await unseen.end()).exitCode, 2);
      assert.match(await unseen.output(), /--yes: required here/);
      assert.equal((await specOf('piped'))['state'], 'Running');
      await using cli = await commit(['piped', '--yes'], true);
      assert.equal((await cli.end()).exitCode, 0, await cli.output());
      assert.equal((await specOf('piped'))['state'], 'Committed');
    });

    it('says at a terminal that a commit is not advisable, and Ctrl-C requests nothing', async () => {
      await createSync('early');
      await setStatus('clustersync', 'early', {
        conditions: [{ ...readyToCommit, status: 'False', reason: 'WaitingForLag' }],
      });
      await using cli = await commit(['early'], true);
      await cli.untilSays(/False \(WaitingForLag\)[^]*Not ready\. Commit anyway\?/);
      cli.type('\u0003');
      assert.equal((await cli.end()).exitCode, 130);
      assert.equal((await specOf('early'))['state'], 'Running');
    });

    it('waits until it is committed, also while the API server cannot be reached', async () => {
      await createSync('awaited');
      const kubeconfig = join(folder.path, 'kubeconfig');
      const reachable = await readFile(await server.writeKubeConfig(), 'utf8');
      await writeFile(kubeconfig, reachable);
      // From a time before the request.
      await sayOfSpec('awaited', { conditions: [condition('Committed', 'Committed', '')] });
      await using cli = await CliProcess.start(
        [
          ...['commit', 'awaited', '--wait', '--timeout-seconds', '600'],
          ...['--namespace', namespace, '--kubeconfig', kubeconfig],
        ],
        { program: join(folder.path, 'kubectl-clustersync.ts'), env: pathWithPlugin() },
      );
      await cli.untilSays(/the operator has not seen the request yet/);
      await writeFile(kubeconfig, reachable.replace(/(127\.0\.0\.1):\d+/, '$1:1'));
      await cli.untilSays(/its state cannot be read, trying again: .*127\.0\.0\.1:1\b/);
      await writeFile(kubeconfig, reachable);
      await sayOfSpec('awaited', {
        phase: 'Committing',
        conditions: [condition('Ready', 'Committing', 'the commit is being carried out')],
      });
      await cli.untilSays(/Committing \(Committing\): the commit is being carried out/);
      const conditions = [condition('Committed', 'Committed', 'the sync is committed')];
      await sayOfSpec('awaited', { phase: 'Committed', conditions });
      assert.equal((await cli.end()).exitCode, 0, await cli.errors());
      assert.match(await cli.output(), /^ClusterSync awaited: Committed$/m);
    });

    it('says what it has waited for where that needs somebody, takes too long, or is interrupted', async () => {
      await createSync('stuck');
      await using late = await commit(['stuck', '--wait', '--timeout-seconds', '3']);
      assert.equal((await late.end()).exitCode, 2);
      assert.match(
        await late.errors(),
        /^clustersync: not committed after 3 s: .* \(CommitPending\)\nDo not let applications write/m,
      );
      await using interrupted = await commit(['stuck', '--wait']);
      await interrupted.untilSays(/has not seen the request/);
      await interrupted.kill('SIGINT');
      assert.equal((await interrupted.end()).exitCode, 130);
      assert.match(await interrupted.errors(), /the commit is still requested/);
      const conditions = [condition('Stalled', 'SyncFailed', 'a view is refused')];
      await sayOfSpec('stuck', { phase: 'Stalled', conditions });
      await using stalled = await commit(['stuck', '--wait']);
      assert.equal((await stalled.end()).exitCode, 2);
      assert.match(
        await stalled.errors(),
        /^clustersync: .*: SyncFailed: a view is refused \(CommitPending\)$/m,
      );
    });

    it('refuses a limit of a wait that was not requested', async () => {
      await using cli = await commit(['shop', '--timeout-seconds', '3']);
      assert.equal((await cli.end()).exitCode, 2);
      assert.match(await cli.errors(), /^clustersync: --timeout-seconds: .* \(InvalidOption\)$/m);
      assert.equal((await specOf('shop'))['state'], 'Running');
    });
  });

  it('asks for a repair by the spec, for another one each time', async () => {
    const repairOf = async (...args: readonly string[]): Promise<ClusterSyncSpec['repair']> => {
      await kubectl('repair', 'depot', ...args);
      const found = await client.find(clusterSyncs, { namespace, name: 'depot' }, { signal });
      return found?.spec.repair;
    };
    const first = await repairOf();
    const second = await repairOf('--comparison', 'bytes');
    assert.equal(first?.comparison, 'Hashes');
    assert.equal(second?.comparison, 'Bytes');
    assert.notEqual(first.token, second.token);
  });

  it('fails by the exit code of a failure where kubectl does', async () => {
    for (const command of ['pause', 'reverse', 'logs'])
      await assert.rejects(
        async () => await kubectl(command, 'nowhere'),
        (error) => error instanceof CommandError && error.exitCode === 2,
      );
  });

  it('watches until the sync is committed and its verification has ended', async () => {
    const metadata = { namespace, name: 'watched' };
    const sync = { metadata, spec: smallestSpec };
    const verification = { metadata, spec: { clusterSyncRef: { name: 'watched' } } };
    await client.create<KubeObject>(clusterSyncs, sync, { signal });
    await client.create<KubeObject>(syncVerifications, verification, { signal });
    const args = ['clustersync', 'watch', 'watched', '--namespace', namespace];
    const watching = folder.spawn(join(folder.path, 'kubectl'), args, 'watched', {
      env: { ...pathWithPlugin(), KUBECONFIG: await server.writeKubeConfig() },
    });
    const shown = async (): Promise<string> => await readFile(join(folder.path, 'watched'), 'utf8');
    const untilShows = async (text: string): Promise<void> => {
      await until(`it shows ${text}`, async () => (await shown()).includes(text));
    };
    await untilShows('ClusterSync watched: Pending');
    const observed = { observedGeneration: 1 };
    await setStatus('clustersync', 'watched', { phase: 'Committed', ...observed });
    await untilShows('ClusterSync watched: Committed');
    assert.equal(watching.exitCode, null, 'it waits for the verification');
    const end = once(watching, 'exit');
    const equal = {
      ...{ type: 'Consistent', status: 'True', reason: 'Equal', message: '' },
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    await setStatus('syncverification', 'watched', {
      ...{ phase: 'Succeeded', verdict: 'Equal', ...observed, conditions: [equal] },
    });
    assert.deepEqual(await end, [0, null]);
    assert.ok(
      (await shown()).endsWith(
        '└─ SyncVerification watched: Succeeded, Equal\n' +
          '   └─ conditions\n      └─ Consistent True (Equal)\n',
      ),
      'the verdict and what it rests on come last',
    );
    assert.doesNotMatch(await shown(), /\u001b/, 'plain where there is no terminal');
  });

  it('logs tells the logs of the pods of the sync and of its verifications, and of no others', async () => {
    await using kubelet = await playKubelet(server);
    const { nodeName } = kubelet;
    const owners = ['ClusterSync/shop', 'SyncVerification/proof', 'ClusterSync/depot', undefined];
    for (const [index, owner] of owners.entries()) {
      const annotations = owner === undefined ? {} : { [ownerAnnotation]: owner };
      const labels = { 'app.kubernetes.io/managed-by': 'clustersync-operator' };
      const metadata = { namespace, name: `pod-${index}`, annotations, labels };
      const spec = { nodeName, containers: [{ name: 'syncer', image: 'syncer' }] };
      await client.create<KubeObject>(pods, { metadata, spec } as never, { signal });
    }
    const linesOf = async (...args: readonly string[]): Promise<string[]> =>
      (await kubectl('logs', 'shop', ...args)).trim().split('\n').sort();
    assert.deepEqual(await linesOf(), [
      '[pod/pod-0/syncer] log of pod-0, as it is',
      '[pod/pod-1/syncer] log of pod-1, as it is',
    ]);
    assert.deepEqual(await linesOf('--follow'), [
      '[pod/pod-0/syncer] log of pod-0, followed',
      '[pod/pod-1/syncer] log of pod-1, followed',
    ]);
  });

  it('logs says of a sync without pods that it has none', async () => {
    const sync = { metadata: { namespace, name: 'new' }, spec: smallestSpec };
    await client.create<KubeObject>(clusterSyncs, sync, { signal });
    assert.equal(await kubectl('logs', 'new'), '');
  });

  it('collects what a maintainer needs, without secrets', async () => {
    const collected = await kubectl('diagnose', 'shop');
    for (const part of [
      'kind: ClusterSync',
      'kind: SyncVerification',
      'Server Version',
      '==== kubectl get events',
    ])
      assert.ok(collected.includes(part), part);
    assert.ok(!collected.includes('user:secret'), 'redacted');
    assert.match(collected, /mongodb:\/\/<credentials>@old\/ is not there/);
  });

  it('says what kubectl says of what is not there', async () => {
    await assert.rejects(
      async () => await kubectl('status', 'nowhere'),
      (error) =>
        error instanceof CommandError &&
        error.exitCode === 2 &&
        /clustersync: Error from server \(NotFound\): .*"nowhere" not found \(KubectlFailed\)\nCheck what kubectl reports/.test(
          error.standardError,
        ),
    );
  });
});
