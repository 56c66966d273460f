import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ClusterSync } from '../../operator/api/clustersync.ts';
import type { SyncVerification } from '../../operator/api/sync-verification.ts';
import { findCondition, isConditionTrue } from '../../operator/kube/conditions.ts';
import { sleep } from '../../service/sleep.ts';
import { countText } from '../../service/quantities.ts';
import { run } from '../ground/command.ts';
import { takeDown, useCluster, type Cluster } from '../ground/kubernetes/cluster.ts';
import { installOperator, operatorNamespace } from '../ground/kubernetes/operator-release.ts';
import { SyncNamespace } from '../ground/kubernetes/sync-namespace.ts';
import { startDeployment, type Deployment, type DeploymentKind } from '../ground/deployment.ts';
import type { Side } from '../ground/mongod/server-pair.ts';
import { loadShop } from '../ground/shop/load-shop.ts';
import { shardShop } from '../ground/shop/shard-shop.ts';
import { startShopWriter, type ShopWriter } from '../ground/shop/shop-writer.ts';
import { compareSides, tableOf } from './both-sides.ts';
import { progressLines } from './progress-line.ts';
import type { Screen } from './screen.ts';
import { settled } from './settled.ts';

const syncName = 'shop';
const writesPerSecond = 300;

/** How long the writer continues after the destination has caught up, so that the demo shows changes being applied. */
const followMs = 5_000;
const phaseDeadlineMs = 180_000;
const redrawMs = 300;

/** The kind of deployments that the demo migrates. */
export type DemoKind = 'replica sets' | 'sharded clusters';

const deploymentKinds: Readonly<Record<DemoKind, readonly [DeploymentKind, DeploymentKind]>> = {
  'replica sets': ['replicaSet', 'replicaSet'],
  'sharded clusters': [2, 3],
};

/**
 * Migrates a live deployment to another one, as described in the guide, on real servers. Always cleans up.
 * @returns whether the demo's own comparison finds both sides equal, and the verification has succeeded.
 */
export async function runDemo(
  screen: Screen,
  kind: DemoKind,
  signal: AbortSignal,
): Promise<boolean> {
  await using resources = new AsyncDisposableStack();
  screen.step('starting a Kubernetes cluster and building the image');
  resources.defer(async () => {
    screen.step('cleaning up');
    await takeDown();
  });
  const imageBuilt = run(scriptOf('image.sh'), [], {
    deadlineMs: 900_000,
    showErrors: true,
    signal,
  });
  // Left over from a demo that was killed.
  const clusterUp = takeDown().then(async () => await useCluster({ signal }));
  const [cluster] = await settled(clusterUp, imageBuilt);
  screen.step(`the cluster is running (${cluster.kind}); starting two MongoDB ${kind}`);
  const [sourceKind, destinationKind] = deploymentKinds[kind];
  const start = async (side: Side, of: DeploymentKind): Promise<Deployment> =>
    resources.use(await startDeployment(side, of, cluster.hostAddress, { signal }));
  const [source, destination] = await settled(
    start('source', sourceKind),
    start('destination', destinationKind),
  );
  screen.step('both are running; loading sample data and installing the chart');
  const [documents, namespace] = await settled(
    loadSource(source, kind, signal),
    prepareKubernetes(cluster, { source, destination }, signal),
  );
  const writer = startShopWriter(source.uri('app'), { writesPerSecond, signal });
  resources.defer(async () => {
    await writer.stop();
  });
  screen.step(
    `the old deployment has ${countText(documents)} documents, and an application keeps writing to it`,
  );
  try {
    await migrate(screen, namespace, writer, signal);
    const verification = await namespace.untilVerified(syncName, { signal });
    const { phase, verdict, verificationStatus } = verification.status ?? {};
    screen.step(
      `the verification ${phase === 'Succeeded' ? 'succeeded' : 'FAILED'}: ${verdict ?? 'no verdict'}, ` +
        `${verificationStatus?.completedTasks ?? 0} tasks completed, ${verificationStatus?.failedTasks ?? '?'} failed`,
    );
    const sides = await compareSides(source.uri('admin'), destination.uri('admin'));
    screen.step('counted and hashed the documents on both sides, independently of clustersync:');
    screen.print(
      `\n${tableOf(sides)}\n\n${timesOf(await namespace.sync(syncName), verification)}\n`,
    );
    return phase === 'Succeeded' && sides.length > 0 && sides.every(({ isEqual }) => isEqual);
  } catch (error) {
    if (!signal.aborted)
      screen.print(
        `resources, events and logs of the cluster are in ${await keepDump(cluster, namespace)}`,
      );
    throw error;
  }
}

/** @returns the number of documents. */
async function loadSource(
  source: Deployment,
  kind: DemoKind,
  signal: AbortSignal,
): Promise<number> {
  const documents = await loadShop(source.uri('app'), { signal });
  if (kind === 'sharded clusters') await shardShop(source.uri('admin'));
  return documents;
}

async function prepareKubernetes(
  cluster: Cluster,
  { source, destination }: Readonly<Record<'source' | 'destination', Deployment>>,
  signal: AbortSignal,
): Promise<SyncNamespace> {
  await installOperator(cluster, await cluster.loadImage({ signal }), { signal });
  const namespace = await SyncNamespace.create(cluster, 'migration');
  await namespace.putUris({
    'old-mongodb': source.uri('syncer'),
    'new-mongodb': destination.uri('syncer'),
  });
  return namespace;
}

/** From `kubectl apply` to the commit. */
async function migrate(
  screen: Screen,
  namespace: SyncNamespace,
  writer: ShopWriter,
  signal: AbortSignal,
): Promise<void> {
  for (const file of ['clustersync.yaml', 'syncverification.yaml']) {
    await namespace.apply(await readFile(exampleOf(file), 'utf8'));
    screen.step(`kubectl apply --filename docs/examples/${file}`);
  }
  await using view = new ProgressView(screen, writer);
  const wait = { signal, deadlineMs: phaseDeadlineMs };
  const until = async (what: string, isReached: (sync: ClusterSync) => boolean): Promise<void> => {
    await namespace.untilSync(
      syncName,
      what,
      (sync) => {
        view.show(sync);
        const stalled = findCondition(sync.status?.conditions, 'Stalled');
        if (stalled) throw new Error(`the sync is stalled: ${stalled.message}`);
        return isReached(sync);
      },
      wait,
    );
  };
  await until('the initial copy is done', (sync) =>
    isConditionTrue(sync.status?.conditions, 'InitialCopyDone'),
  );
  screen.step('the initial copy is complete; applying changes');
  await until('the destination has caught up', ({ status }) => {
    return status?.canCommit === true && (status.lagTimeSeconds ?? Infinity) <= 2;
  });
  screen.step('the new deployment has caught up with the application');
  await sleep(followMs, signal);
  screen.step(`the application has stopped after ${countText(await writer.stop())} writes`);
  await namespace.setState(syncName, 'Committed');
  screen.step(`kubectl patch clustersync ${syncName}: set spec.state to Committed`);
  await until('the sync is committed', ({ status }) => status?.phase === 'Committed');
  screen.step('committed: applications may write to the new deployment');
}

/** The times of a sync, from its status and conditions, in whole seconds. */
function timesOf({ metadata, status }: ClusterSync, verification: SyncVerification): string {
  const createdMs = Date.parse(metadata.creationTimestamp ?? '');
  const after = (time: string | undefined): string =>
    time === undefined ? '?' : `${((Date.parse(time) - createdMs) / 1000).toFixed(0)} s`;
  const copied = findCondition(status?.conditions, 'InitialCopyDone')?.lastTransitionTime;
  return (
    `time since kubectl apply: sync started ${after(status?.startedAt)}, initial copy complete ${after(copied)}, ` +
    `committed ${after(status?.committedAt)}, verified ${after(verification.status?.completedAt)}`
  );
}

/** Draws the progress lines, also between two changes of the status. */
class ProgressView implements AsyncDisposable {
  readonly #screen: Screen;
  readonly #writer: ShopWriter;
  readonly #end = new AbortController();
  readonly #drawn: Promise<void>;
  #sync: ClusterSync | undefined;

  constructor(screen: Screen, writer: ShopWriter) {
    this.#screen = screen;
    this.#writer = writer;
    this.#drawn = this.#redraw();
  }

  show(sync: ClusterSync): void {
    this.#sync = sync;
    this.#draw();
  }

  #draw(): void {
    if (!this.#sync) return;
    this.#screen.live(
      progressLines(this.#sync, this.#writer.writes),
      this.#sync.status?.phase ?? '',
    );
  }

  async #redraw(): Promise<void> {
    while (!this.#end.signal.aborted) {
      this.#draw();
      await sleep(redrawMs, this.#end.signal).catch(() => undefined);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await this.#drawn;
  }
}

/** @returns the path of a file with resources, events and logs. */
async function keepDump(cluster: Cluster, namespace: SyncNamespace): Promise<string> {
  const folder = fileURLToPath(new URL('../.artifacts/', import.meta.url));
  await mkdir(folder, { recursive: true });
  const file = `${folder}demo.txt`;
  const dumps = [await cluster.dump(namespace.name), await cluster.dump(operatorNamespace)];
  await writeFile(file, dumps.join('\n'));
  return file;
}

function scriptOf(name: string): string {
  return fileURLToPath(new URL(`../ground/kubernetes/${name}`, import.meta.url));
}

function exampleOf(name: string): string {
  return fileURLToPath(new URL(`../../docs/examples/${name}`, import.meta.url));
}
