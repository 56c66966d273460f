import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clusterSyncs } from '../../operator/api/clustersync.ts';
import { namespaces, pods } from '../../operator/kube/builtin-resources.ts';
import type { KubeClient } from '../../operator/kube/client.ts';
import type { KubeObject } from '../../operator/kube/resource.ts';
import { ownerAnnotation } from '../../operator/operand/names.ts';
import { createGuardedFolder, type GuardedFolder } from '../ground/guarded-folder.ts';
import type { ApiServer } from '../ground/kubernetes/api-server.ts';
import { toolPath } from '../ground/tool-path.ts';
import { until } from '../ground/until.ts';
import { playKubelet, type PlayedKubelet } from '../integration/cli/played-kubelet.ts';
import { useApiServer } from '../integration/kube/use-api-server.ts';
import { installDefinitions, smallestSpec } from '../integration/operator/custom-resources.ts';
import { LosingProcess, type LosingEnd, type LosingOptions } from './losing-process.ts';

const executable = fileURLToPath(new URL('../../bin/clustersync.ts', import.meta.url));
const signal = new AbortController().signal;
const namespace = 'migration';

/** More than a sync has, unless a tenant gives its annotation to others. */
const podCount = 40;

/** How many logs the plugin reads at a time, and follows. */
const atATime = 8;
const followed = 32;

/**
 * Becomes kubectl; before, it writes its process id, and how many of them run with it, each into a line. Those that start while it
 * counts are left out, since others have ended meanwhile; and the id of one that has ended is soon that of another program.
 */
function countedKubectl(folder: string): string {
  return `#!/bin/sh
echo $$ >>'${folder}/started'
started=$(cat '${folder}/started')
running=0
for pid in $started; do grep -qs kubectl "/proc/$pid/cmdline" && running=$((running + 1)); done
echo "$running" >>'${folder}/running'
exec '${toolPath('hyperkube', 'kubectl')}' "$@"
`;
}

describe('kubectl clustersync logs, of a sync with many pods,', () => {
  let server: ApiServer;
  let client: KubeClient;
  let folder: GuardedFolder;
  let kubelet: PlayedKubelet;

  useApiServer(async (startedServer, startedClient) => {
    server = startedServer;
    client = startedClient;
    await installDefinitions(client);
    await client.create(namespaces, { metadata: { name: namespace } }, { signal });
    kubelet = await playKubelet(server, { keepsFollowed: true });
    for (const [name, count] of Object.entries({ crowded: podCount, small: 2 })) {
      const sync = { metadata: { namespace, name }, spec: smallestSpec };
      await client.create<KubeObject>(clusterSyncs, sync, { signal });
      for (let index = 0; index < count; index++) await createPod(name, index);
    }
    folder = await createGuardedFolder();
    await symlink(executable, join(folder.path, 'kubectl-clustersync'));
    await writeFile(join(folder.path, 'kubectl'), countedKubectl(folder.path), { mode: 0o755 });
  });

  beforeEach(async () => {
    for (const name of ['started', 'running']) await writeFile(join(folder.path, name), '');
  });

  after(async () => {
    await kubelet[Symbol.asyncDispose]();
    await folder.remove();
  });

  async function createPod(sync: string, index: number): Promise<void> {
    const annotations = { [ownerAnnotation]: `ClusterSync/${sync}` };
    const labels = { 'app.kubernetes.io/managed-by': 'clustersync-operator' };
    const metadata = { namespace, name: `${sync}-${index}`, annotations, labels };
    const containers = [{ name: 'syncer', image: 'syncer' }];
    const spec = { nodeName: kubelet.nodeName, containers };
    await client.create<KubeObject>(pods, { metadata, spec } as never, { signal });
  }

  async function logs(
    args: readonly string[],
    losing: Pick<LosingOptions, 'out'> = {},
  ): Promise<LosingProcess> {
    const env = {
      PATH: `${folder.path}:${process.env['PATH'] ?? ''}`,
      KUBECONFIG: await server.writeKubeConfig(),
    };
    const program = join(folder.path, 'kubectl-clustersync');
    const words = ['logs', ...args, '--namespace', namespace];
    return await LosingProcess.start(words, { ...losing, env, program });
  }

  async function endOf(...call: Parameters<typeof logs>): Promise<LosingEnd> {
    await using process = await logs(...call);
    return await process.end();
  }

  async function numbersIn(name: string): Promise<number[]> {
    const text = await readFile(join(folder.path, name), 'utf8');
    return text.split('\n').filter(Boolean).map(Number);
  }

  it('tells the logs of all of them, and runs a few programs at a time', async () => {
    const { exitCode, output, errors } = await endOf(['crowded']);
    assert.equal(exitCode, 0, errors);
    const expected = Array.from(
      { length: podCount },
      (_, index) => `[pod/crowded-${index}/syncer] log of crowded-${index}, as it is`,
    );
    assert.deepEqual(output.trimEnd().split('\n').sort(), expected.sort());
    const running = await numbersIn('running');
    assert.ok(Math.max(...running) <= atATime, running.join(' '));
  });

  it('follows no more than fit into one terminal, and says how to follow one', async () => {
    const { exitCode, errors } = await endOf(['crowded', '--follow']);
    assert.equal(exitCode, 2, errors);
    assert.match(
      errors,
      new RegExp(`^clustersync: --follow: .* ${podCount} pods, .* ${followed} `),
    );
    assert.match(errors, /kubectl logs/);
  });

  it('leaves no program behind that follows a log for nobody', async () => {
    const { exitCode, errors } = await endOf(['small', '--follow'], { out: 'gone' });
    assert.deepEqual([exitCode, errors], [141, '']);
    const pids = await numbersIn('started');
    // The sync, its verifications, its pods, and two logs.
    assert.ok(pids.length >= 4, pids.join(' '));
    await until('all have ended', () => pids.every((pid) => !existsSync(`/proc/${pid}`)));
  });

  it('follows until told to end', async () => {
    await using following = await logs(['small', '--follow']);
    await until('both logs are shown', async () => {
      const said = await following.output();
      return [0, 1].every((index) => said.includes(`log of small-${index}, followed`));
    });
    following.signal('SIGTERM');
    assert.equal((await following.end()).exitCode, 130);
    const pids = await numbersIn('started');
    await until('all have ended', () => pids.every((pid) => !existsSync(`/proc/${pid}`)));
  });
});
