import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { documentedCommands, type DocumentedCommand } from '../../ground/documented-shell.ts';
import { toolPath } from '../../ground/tool-path.ts';
import { OperatorGround, RunningOperator } from '../operator/operator-ground.ts';
import { useClusterPair } from '../syncer/cluster-pair.ts';
import { skipUnlessReversible } from '../syncer/skip-reversal.ts';
import { playPods } from './played-pods.ts';

const docs = new URL('../../../docs/', import.meta.url);

/** The namespace that kubectl uses when none is named. */
const namespace = 'default';

/** Of one command: some wait until pods have started, one after the other, and until what they do is done. */
const deadlineMs = 300_000;

describe('the cutover checklist on Kubernetes, each command exactly as written', function () {
  this.timeout(900_000);

  before(async function () {
    await skipUnlessReversible(this);
  });

  // The roles that the guide asks for where a sync can be reversed, and no others.
  const pair = useClusterPair({
    roles: { source: 'sourceWithWriteBlocking', destination: 'sourceWithWriteBlocking' },
  });
  const running = new AsyncDisposableStack();
  let ground: OperatorGround;
  let folder = '';

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clustersync-cutover-'));
    running.defer(async () => {
      await rm(folder, { recursive: true });
    });
    ground = running.use(await OperatorGround.start());
    running.use(await RunningOperator.start(ground.kubeconfig));
    await symlink(toolPath('hyperkube', 'kubectl'), join(folder, 'kubectl'));
    await writeFile(join(folder, 'old.txt'), pair.source.set.uri('syncer'));
    await writeFile(join(folder, 'new.txt'), pair.destination.set.uri('syncer'));
    const example = async (name: string): Promise<string> =>
      await readFile(new URL(`examples/${name}`, docs), 'utf8');
    await writeFile(
      join(folder, 'clustersync.yaml'),
      (await example('clustersync.yaml')).replace(
        /(?<=\n) *enableUserWriteBlocking: true\n/,
        '$&  reversible: true\n',
      ),
    );
    await writeFile(join(folder, 'syncverification.yaml'), await example('syncverification.yaml'));
    await pair.source.client
      .db('shop')
      .collection('orders')
      .insertMany([{ n: 1 }, { n: 2 }]);
  });

  after(async () => {
    await running.disposeAsync();
  });

  async function run(command: string): Promise<string> {
    const env = {
      ...process.env,
      PATH: `${folder}:${process.env['PATH'] ?? ''}`,
      KUBECONFIG: ground.kubeconfig,
    };
    const options = { cwd: folder, env, timeout: deadlineMs };
    return (await promisify(execFile)('bash', ['-c', command], options)).stdout;
  }

  /** What the commands have written, in their order. */
  async function carryOut(commands: readonly DocumentedCommand[]): Promise<string[]> {
    const written: string[] = [];
    for (const { command } of commands) written.push(await run(command));
    return written;
  }

  it('leads to a verdict, with the applications at the new deployment, and back', async () => {
    await using pods = new AsyncDisposableStack();
    pods.use(playPods(ground, namespace));
    const commandsOf = async (page: string, heading: string): Promise<DocumentedCommand[]> =>
      documentedCommands(await readFile(new URL(page, docs), 'utf8'), heading);
    // The application has no pods here: nothing makes any.
    await run('kubectl create deployment web --image=web --replicas=2');
    const guide = await commandsOf('guide.md', 'On Kubernetes');
    const beginning = guide.findIndex(({ command }) => command.includes('ReadyToCommit'));
    assert.ok(beginning > 0);
    await carryOut(guide.slice(0, beginning).filter(({ command }) => !command.startsWith('helm ')));

    await carryOut(await commandsOf('cutover.md', 'The hour before'));
    const written = await carryOut(await commandsOf('cutover.md', 'The cutover on Kubernetes'));
    assert.ok(written.includes('Equal'), written.join('\n'));
    assert.equal(written.at(-1), 'true');
    await pair.assertEqual();

    const orders = pair.destination.client.db('shop').collection('orders');
    await orders.insertOne({ n: 3 });
    await carryOut(await commandsOf('cutover.md', 'Back with a reversal'));
    assert.equal(await pair.source.client.db('shop').collection('orders').countDocuments(), 3);
    await pair.assertEqual();
  });
});
