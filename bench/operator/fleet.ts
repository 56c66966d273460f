import { Registry } from 'prom-client';
import {
  installDefinitions,
  makeKeySecret,
  smallestSpec,
  uriData,
} from '../../e2e/integration/operator/custom-resources.ts';
import { LoopbackAddresses } from '../../e2e/integration/operator/loopback-addresses.ts';
import { runPod } from '../../e2e/integration/operator/played-pod.ts';
import { ApiServer, type AuditedWrite } from '../../e2e/ground/kubernetes/api-server.ts';
import { startReplicaSet } from '../../e2e/ground/mongod/replica-set.ts';
import { SyncTools, type ToolCommand } from '../../e2e/ground/sync-tool/sync-tools.ts';
import { until } from '../../e2e/ground/until.ts';
import { clusterSyncs, type ClusterSync } from '../../operator/api/clustersync.ts';
import {
  namespaces,
  secrets,
  statefulSets,
  type StatefulSet,
} from '../../operator/kube/builtin-resources.ts';
import { KubeClient } from '../../operator/kube/client.ts';
import { Informer } from '../../operator/kube/informer.ts';
import { KubeMetrics } from '../../operator/kube/metrics.ts';
import type { KubeObject } from '../../operator/kube/resource.ts';
import { createLogger } from '../../service/logger.ts';

const { signal } = new AbortController();
const port = 27182;
const perNamespace = 100;
/** How many requests the bench sends to the API server at the same time. */
const parallel = 8;
const deadlineMs = 600_000;

/** The user as whom the operator writes; the bench is another user. */
const operatorUser = 'first';

/** Many ClusterSyncs on a real API server, each with a stand-in for its syncer, and simulated pods. */
export class Fleet implements AsyncDisposable {
  readonly kubeconfig: string;
  readonly #stack: AsyncDisposableStack;
  readonly #server: ApiServer;
  readonly #client: KubeClient;
  readonly #tools: SyncTools;
  readonly #addresses: readonly string[];
  readonly #syncs: Informer<ClusterSync>;
  readonly #sets: Informer<StatefulSet>;

  private constructor(parts: {
    readonly stack: AsyncDisposableStack;
    readonly server: ApiServer;
    readonly client: KubeClient;
    readonly kubeconfig: string;
    readonly tools: SyncTools;
    readonly addresses: readonly string[];
    readonly syncs: Informer<ClusterSync>;
    readonly sets: Informer<StatefulSet>;
  }) {
    this.#stack = parts.stack;
    this.#server = parts.server;
    this.#client = parts.client;
    this.kubeconfig = parts.kubeconfig;
    this.#tools = parts.tools;
    this.#addresses = parts.addresses;
    this.#syncs = parts.syncs;
    this.#sets = parts.sets;
  }

  static async start(count: number): Promise<Fleet> {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await ApiServer.start());
    const source = await startReplicaSet({ members: 1, syncerRoles: 'source' });
    stack.defer(async () => {
      await source.stop();
    });
    const client = stack.use(new KubeClient(server.config(), new KubeMetrics(new Registry())));
    await installDefinitions(client);
    await makeKeySecret(client);
    const loopback = stack.use(new LoopbackAddresses());
    const addresses: string[] = [];
    for (let index = 0; index < count; index++) addresses.push(await loopback.reserve());
    const times = { copyMs: 1_000, turnMs: 1_000 };
    const tools = stack.use(
      await SyncTools.start({ dialect: 'contract', addresses, port, ...times }),
    );
    const logger = createLogger('bench', 'fatal');
    const syncs = new Informer({ client, logger, resource: clusterSyncs });
    const sets = new Informer({ client, logger, resource: statefulSets });
    const stop = new AbortController();
    const running = Promise.all([syncs.run(stop.signal), sets.run(stop.signal)]);
    stack.defer(async () => {
      stop.abort(new Error('the bench has ended'));
      await running;
    });
    await Promise.all([syncs.synced(signal), sets.synced(signal)]);
    await makeSyncs(client, count, source.uri('syncer'));
    const kubeconfig = server.config(server.port, operatorUser).exportConfig();
    return new Fleet({
      stack: stack.move(),
      server,
      client,
      kubeconfig,
      tools,
      addresses,
      syncs,
      sets,
    });
  }

  /** How many ClusterSyncs there are. */
  get size(): number {
    return this.#addresses.length;
  }

  get commands(): readonly ToolCommand[] {
    return this.#tools.commands;
  }

  get polls(): number {
    return this.#tools.polls;
  }

  /** Waits until all ClusterSyncs match. */
  async untilAll(what: string, isSo: (sync: ClusterSync) => boolean): Promise<void> {
    await until(what, () => this.#syncs.list().every(isSo), deadlineMs);
  }

  async untilAllMade(): Promise<void> {
    await until(
      'all StatefulSets are made',
      () => this.#sets.list().length >= this.size,
      deadlineMs,
    );
  }

  /** Runs a pod for each StatefulSet. */
  async runPods(): Promise<void> {
    const sets = new Map(this.#sets.list().map((set) => [set.metadata.name, set]));
    await this.#each(async (index) => {
      const set = sets.get(`${nameOf(index)}-syncer`);
      if (set) await runPod(this.#client, set, this.#addresses[index] ?? '');
    });
  }

  async patchAll(spec: object): Promise<void> {
    await this.#each(async (index) => {
      await this.patch(index, spec);
    });
  }

  async patch(index: number, spec: object): Promise<void> {
    const ref = { namespace: namespaceOf(index), name: nameOf(index) };
    await this.#client.patch(clusterSyncs, ref, { spec }, { signal, deadlineMs: 60_000 });
  }

  /** When a tool first accepted a command after a given time, in milliseconds since 1970. */
  takenAtMs(index: number, name: string, sinceMs: number): number | undefined {
    const address = this.#addresses[index];
    return this.#tools.commands.find(
      (each) => each.address === address && each.name === name && each.atMs >= sinceMs,
    )?.atMs;
  }

  /** What the operator wrote between two times, given in milliseconds since 1970. */
  async operatorWrites(fromMs: number, toMs: number): Promise<AuditedWrite[]> {
    const writes = await this.#server.auditedWrites();
    return writes.filter(
      ({ user, receivedMs }) => user === operatorUser && receivedMs >= fromMs && receivedMs < toMs,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }

  async #each(task: (index: number) => Promise<void>): Promise<void> {
    await inParallel(this.size, task);
  }
}

function nameOf(index: number): string {
  return `sync-${String(index).padStart(5, '0')}`;
}

function namespaceOf(index: number): string {
  return `fleet-${Math.floor(index / perNamespace)}`;
}

async function makeSyncs(client: KubeClient, count: number, sourceUri: string): Promise<void> {
  const makeSecret = async (namespace: string, name: string, uri: string): Promise<void> => {
    const data = uriData(uri);
    await client.create(secrets, { metadata: { namespace, name }, data }, { signal });
  };
  for (let index = 0; index < count; index += perNamespace) {
    const namespace = namespaceOf(index);
    await client.create(namespaces, { metadata: { name: namespace } }, { signal });
    await makeSecret(namespace, 'old-uri', sourceUri);
  }
  await inParallel(count, async (index) => {
    const metadata = { namespace: namespaceOf(index), name: nameOf(index) };
    // A destination belongs to one ClusterSync.
    const secret = `${metadata.name}-destination`;
    await makeSecret(metadata.namespace, secret, `mongodb://user:secret@${metadata.name}.new/`);
    const destination = { ...smallestSpec.destination, uriSecretRef: { name: secret } };
    const spec = { ...smallestSpec, destination };
    await client.create<KubeObject>(clusterSyncs, { metadata, spec } as never, { signal });
  });
}

async function inParallel(count: number, task: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: parallel }, async () => {
      while (next < count) await task(next++);
    }),
  );
}
