import assert from 'node:assert/strict';
import { MongoClient } from 'mongodb';
import { readPage } from '../../docs/site/markdown.ts';
import { clusterTimeout } from '../ground/default-deadline.ts';
import { assertProven } from '../ground/assert-proven.ts';
import { assertEqualClusters } from '../ground/compare.ts';
import { startDeployment, type Deployment } from '../ground/deployment.ts';
import type { DocumentedCommand } from '../ground/documented-shell.ts';
import { useCluster, type Cluster } from '../ground/kubernetes/cluster.ts';
import { operatorNamespace, uninstallOperator } from '../ground/kubernetes/operator-release.ts';
import { loadShop } from '../ground/shop/load-shop.ts';
import { until } from '../ground/until.ts';
import { startShopWriter } from '../ground/shop/shop-writer.ts';
import { example, syncName } from './migration.ts';
import { Reader, type LeftOut, type Substitution } from './reader.ts';

const namespace = 'documents';
const definitions = ['clustersyncs.clustersync.dev', 'syncverifications.clustersync.dev'];

/** Replacements for the commands that cannot be run as documented; nothing else is changed. */
const substitutions = (image: string): readonly Substitution[] => [
  {
    text: 'image.repository=registry.example.com/clustersync,image.tag=0.1.0',
    by: `image.repository=${image.replace(/:[^:]*$/, '')},image.tag=${image.replace(/.*:/, '')}`,
    because: 'there is no registry: the image of this checkout is on the node already',
  },
  {
    text: "<the operator's image>",
    by: image,
    because: 'the document leaves it to the reader',
  },
  {
    text: 'deployment/clustersync 8081',
    by: 'deployment/clustersync :8081',
    because: 'another program may have this port on this machine: kubectl takes a free one',
  },
];

const leftOut: readonly LeftOut[] = [
  { command: /^docker /, because: 'there is no registry to push an image to' },
];

describe('the documents, each command exactly as written, on an empty cluster', function () {
  this.timeout(1_800_000);
  const running = new AsyncDisposableStack();
  let cluster: Cluster;
  let source: Deployment;
  let destination: Deployment;
  let reader: Reader;

  before(async () => {
    cluster = await useCluster();
    const image = await cluster.loadImage();
    await beginAnew();
    await cluster.kubectl(['create', 'namespace', namespace]);
    source = running.use(await startDeployment('source', 'replicaSet', cluster.hostAddress));
    await loadShop(source.uri('app'), { scale: 0.02, signal: new AbortController().signal });
    destination = running.use(
      await startDeployment('destination', 'replicaSet', cluster.hostAddress),
    );
    const files = {
      'old.txt': source.uri('syncer'),
      'new.txt': destination.uri('syncer'),
      // The guide lets the reader start from these, and says what a sync needs that is to be reversed.
      'clustersync.yaml': (await example('clustersync.yaml')).replace(
        /(?<=\n) *enableUserWriteBlocking: true\n/,
        '$&  reversible: true\n',
      ),
      'syncverification.yaml': await example('syncverification.yaml'),
    };
    const options = { cluster, namespace, files, leftOut, substitutions: substitutions(image) };
    reader = running.use(await Reader.start(options));
  });

  afterEach(async function () {
    if (this.currentTest?.isFailed() !== true) return;
    console.error(await cluster.dump(namespace), await cluster.dump(operatorNamespace));
  });

  after(async () => {
    await running.disposeAsync();
    await beginAnew();
  });

  /** Nothing of the operator, nor of a reader, is in the cluster. */
  async function beginAnew(): Promise<void> {
    const options = ['--ignore-not-found', '--wait'];
    await cluster.kubectl(['delete', 'namespace', namespace, ...options]);
    await uninstallOperator(cluster);
    await cluster.kubectl(['delete', 'crd', ...definitions, ...options]);
    await cluster.kubectl(['delete', 'namespace', operatorNamespace, ...options]);
  }

  async function carryOut(commands: readonly DocumentedCommand[]): Promise<string[]> {
    const written = [];
    for (const command of commands) written.push(await reader.carryOut(command));
    return written;
  }

  /** The commands before one that contains a text, and from it on. */
  function divided(
    commands: readonly DocumentedCommand[],
    text: string,
  ): readonly [DocumentedCommand[], DocumentedCommand[]] {
    const at = commands.findIndex(({ command }) => command.includes(text));
    assert.ok(at >= 0, text);
    return [commands.slice(0, at), commands.slice(at)];
  }

  async function drop(deployment: Deployment, ...databases: readonly string[]): Promise<void> {
    await using client = new MongoClient(deployment.uri('admin'));
    await client.db('admin').command({ setUserWriteBlockMode: 1, global: false });
    for (const name of databases) await client.db(name).dropDatabase();
  }

  it('docs/install.md installs the operator, tests it, upgrades it, and takes it away', async () => {
    const [, tested = ''] = await carryOut(await reader.commandsOf('docs/install.md', 'With Helm'));
    assert.match(tested, /TEST SUITE: +clustersync-test[^]*Phase: +Succeeded/);
    const kinds = 'all,crds,clusterroles,networkpolicies,secrets,serviceaccounts';
    const where = `--namespace=${operatorNamespace}`;
    // Pods may take a moment to end.
    await until('nothing of it is left', async () => {
      const left = await cluster.kubectl(['get', kinds, where, '--output=name']);
      return !left.includes('clustersync');
    });
  });

  it('README.md leads from nothing to a verdict', async () => {
    const { signal } = new AbortController();
    const writer = startShopWriter(source.uri('app'), { writesPerSecond: 100, signal });
    try {
      const commands = await reader.commandsOf('README.md', 'Quick start');
      const [begin, [watch, ...end]] = divided(commands, '--watch');
      assert.ok(watch);
      const [, tested = ''] = await carryOut(begin);
      assert.match(tested, /TEST SUITE: +clustersync-test[^]*Phase: +Succeeded/);
      const pods = await reader.run(`kubectl get pods --namespace ${operatorNamespace}`);
      assert.doesNotMatch(pods, /clustersync-test/);
      const caughtUp = /^shop +Running +ChangeApplication +100 +\d+ +True +True /m;
      await reader.runUntil(watch, caughtUp, async () => {
        // What the page asks the reader to do before the commit.
        assert.ok((await writer.stop()) > 0);
      });
      assert.equal((await carryOut(end)).at(-1), 'Equal');
      await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
    } finally {
      await writer.stop();
    }
  });

  it('docs/dashboard.md shows the page in a browser, and asks for the token', async () => {
    const [[enable], [look]] = divided(
      await reader.commandsOf('docs/dashboard.md', 'Open it'),
      'port-forward',
    );
    assert.ok(enable && look);
    const forwarding = /Forwarding from (127\.0\.0\.1:\d+) -> 8081/;
    await reader.carryOut(enable);
    await reader.runUntil(look, forwarding, async ([, address]) => {
      const page = await fetch(`http://${address}/`);
      assert.match(await page.text(), /<title>.*clustersync/);
      const { syncs } = (await (await fetch(`http://${address}/api/v1/syncs`)).json()) as {
        syncs: { key: string; phase: string }[];
      };
      assert.deepEqual(
        syncs.map(({ key, phase }) => [key, phase]),
        [[`${namespace}/${syncName}`, 'Committed']],
      );
    });
    const token = (await carryOut(await reader.commandsOf('docs/dashboard.md', 'With a token'))).at(
      -1,
    );
    assert.match(token ?? '', /^[0-9a-f]{64}$/);
    await reader.runUntil(look, forwarding, async ([, address]) => {
      const url = `http://${address}/api/v1/syncs`;
      assert.equal((await fetch(url)).status, 401);
      const headers = { Authorization: `Bearer ${token}` };
      assert.equal((await fetch(url, { headers })).status, 200);
    });
  });

  it('docs/guide.md leads to a verdict, to its report, and back; the plugin does what docs/command-line.md says', async () => {
    // A new user's cluster has the operator once: README.md has installed it, by the same command.
    const guide = await reader.commandsOf('docs/guide.md', 'On Kubernetes');
    const readme = await reader.commandsOf('README.md', 'Quick start');
    const [install, ...commands] = guide;
    assert.ok(readme.some(({ command }) => command === install?.command));
    const [move, cleanUp] = divided(commands, 'kubectl delete');
    // What README.md has made.
    await carryOut(cleanUp);
    await drop(destination, 'shop', 'clustersync_internal', 'clustersync_verifier');
    await drop(source);

    await carryOut(move);
    await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
    await readReport();

    await carryOut(await reader.commandsOf('docs/guide.md', 'Going back'));
    await runPlugin();
    await carryOut(cleanUp);
  });

  /** By the command that the status tells, and by a Job. */
  async function readReport(): Promise<void> {
    const heading = 'The report of a verification';
    const [tell, report] = await reader.commandsOf('docs/guide.md', heading);
    assert.ok(tell && report);
    const told = await reader.carryOut(tell);
    const name = /--verification=(\S+)/.exec(told)?.[1];
    assert.ok(name !== undefined, told);
    const { verdict, proof } = JSON.parse(
      await reader.run(report.command.replace('<name>', name)),
    ) as { verdict: string; proof: unknown };
    assert.equal(verdict, 'equal');
    await assertProven(proof, source.uri('admin'), destination.uri('admin'));
    const text = await reader.text('docs/guide.md');
    const job = readPage(text).codeBlocks.find((block) => {
      return block.heading === heading && block.language === 'yaml';
    });
    assert.ok(job);
    await cluster.kubectl(['apply', '--filename=-', `--namespace=${namespace}`], {
      input: reader.substituted(job.text).replace('<name>', name),
    });
    await cluster.waitFor('job/verification-report', 'condition=Complete', { namespace });
    assert.match(await reader.run('kubectl logs job/verification-report'), /verdict: +equal/);
  }

  async function runPlugin(): Promise<void> {
    const commands = await reader.commandsOf('docs/command-line.md', 'kubectl clustersync');
    for (const command of commands) {
      const [, , verb = '', ...words] = command.command.split(' ');
      switch (verb) {
        case 'watch':
          await reader.runUntil(command, /<-/, () => undefined);
          break;
        case 'logs':
          assert.ok(words.includes('--follow'));
          await reader.runUntil(command, /"level":/, () => undefined);
          break;
        case 'reverse':
          // It is for a sync that is committed.
          await reader.run(
            `kubectl wait clustersync/shop --for=condition=Committed --timeout=${clusterTimeout}`,
          );
          await assertEqualClusters(source.uri('admin'), destination.uri('admin'));
          await reader.carryOut(command);
          await reader.run(
            `kubectl wait clustersync/shop --for=jsonpath='{.status.direction}'=Forward --timeout=${clusterTimeout}`,
          );
          break;
        default:
          await reader.carryOut(command);
      }
    }
    const diagnosis = await reader.run('cat shop.txt');
    assert.match(diagnosis, /kind: ClusterSync/);
    assert.doesNotMatch(diagnosis, /mongodb:\/\/[^/]*@/);
  }
});
