import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { documentedCommands, isAsDocumented } from '../../ground/documented-shell.ts';
import { toolPath } from '../../ground/tool-path.ts';
import { OperatorGround, RunningOperator } from '../operator/operator-ground.ts';
import { useClusterPair } from '../syncer/cluster-pair.ts';
import { playPods } from './played-pods.ts';

const docs = new URL('../../../docs/', import.meta.url);

/** The namespace that kubectl uses when none is named. */
const namespace = 'default';

/** Of one command: some wait until pods have started, one after the other, and until what they do is done. */
const deadlineMs = 300_000;

describe('the guide on Kubernetes, each command exactly as written', function () {
  this.timeout(900_000);

  // The roles that the guide asks for where writes are blocked, as in its example, and no others.
  const pair = useClusterPair({
    roles: { source: 'sourceWithWriteBlocking', destination: 'destination' },
  });
  let ground: OperatorGround;
  let operator: RunningOperator;
  let folder = '';

  before(async () => {
    ground = await OperatorGround.start();
    operator = await RunningOperator.start(ground.kubeconfig);
    folder = await mkdtemp(join(tmpdir(), 'clustersync-guide-'));
    await writeFile(join(folder, 'old.txt'), pair.source.set.uri('syncer'));
    await writeFile(join(folder, 'new.txt'), pair.destination.set.uri('syncer'));
    for (const name of ['clustersync.yaml', 'syncverification.yaml'])
      await copyFile(new URL(`examples/${name}`, docs), join(folder, name));
    await symlink(toolPath('hyperkube', 'kubectl'), join(folder, 'kubectl'));
    await pair.source.client
      .db('shop')
      .collection('orders')
      .insertMany([{ n: 1 }, { n: 2 }]);
  });

  after(async () => {
    await operator[Symbol.asyncDispose]();
    await ground[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  it('leads from connection strings to a committed sync and a verdict, with the output that is shown', async () => {
    await using running = new AsyncDisposableStack();
    running.use(playPods(ground, namespace));
    const text = await readFile(new URL('guide.md', docs), 'utf8');
    // The chart is installed by tests of its own.
    const commands = documentedCommands(text, 'On Kubernetes').filter(
      ({ command }) => !command.startsWith('helm '),
    );
    assert.ok(commands.some(({ command }) => command.includes('"state": "Committed"')));
    const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}` };
    for (const { command, output } of commands) {
      const { stdout } = await promisify(execFile)('bash', ['-c', command], {
        cwd: folder,
        env: { ...env, KUBECONFIG: ground.kubeconfig },
        timeout: deadlineMs,
      });
      if (output === undefined) continue;
      const message = `${command} has written:\n${stdout}\nand not:\n${output}`;
      assert.ok(isAsDocumented(stdout, output), message);
    }
    await pair.assertEqual();
  });
});
